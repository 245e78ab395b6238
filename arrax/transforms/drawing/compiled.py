"""The graph of a compiled program: one node per instruction, those of fusions, loops and branches within theirs."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence

from arrax.transforms.drawing.graph import Edge, Graph, Node, Part
from arrax.xla.hlo_text import HloProgram, Instruction, size_of_type
from arrax.xla.loop_costs import turns_of

_OPERATIONS_PER_BYTE = 8  # of products, while one byte is moved


def graph_of_compiled(program: HloProgram) -> Graph:
    """The graph of a compiled program; the cost of an instruction is the bytes that could be moved meanwhile."""
    return _Drawing(program).graph(program.entry)[0]


class _Drawing:
    def __init__(self, program: HloProgram) -> None:
        self.program, self.numbers = program, itertools.count()

    def graph(self, name: str) -> tuple[Graph, dict[int, str], str]:
        """The graph of a computation, its parameters by number, and the identifier of its result."""
        graph, makers = Graph(), dict[str, tuple[str, int]]()
        parameters: dict[int, str] = {}
        types: dict[str, str] = {}
        result = ""
        instructions = self.program.computations.get(name, [])
        for one in instructions:
            types[one.name] = one.type
            if one.opcode == "get-tuple-element" and one.operands and not one.root:
                index = re.search(r"index=(\d+)", one.rest)
                source = makers.get(one.operands[0])
                if source is not None:
                    makers[one.name] = source[0], int(index[1]) if index else 0
                continue
            node = self.node(one, types)
            graph.nodes.append(node)
            for operand, used in enumerate(one.operands):
                if used in makers:
                    source_id, number = makers[used]
                    graph.edges.append(Edge(source_id, node.id, types.get(used, ""), number, operand))
            makers[one.name] = node.id, 0
            if one.number is not None:
                parameters[one.number] = node.id
            if one.root:
                result = node.id
        return graph, parameters, result

    def node(self, one: Instruction, types: dict[str, str]) -> Node:
        kind = {"parameter": "input", "constant": "constant"}.get(one.opcode, "operation")
        label = f"{one.op_name or one.name}: {one.type}" if kind == "input" else one.opcode
        if kind == "constant":
            label = f"constant {one.type}"
        elif kind == "operation" and one.op_name:
            label = f"{one.opcode}: {one.op_name.rpartition('/')[2]}"
        detail = "\n".join(filter(None, (one.name, one.op_name, one.type)))
        parts = list(self.parts(one))
        return Node(f"n{next(self.numbers)}", label, kind, detail, one.line, self.cost(one, types), parts)

    def parts(self, one: Instruction) -> Iterator[Part]:
        if one.opcode not in ("fusion", "while", "conditional", "call", "async-start"):
            return
        for number, called in enumerate(one.called):
            graph, parameters, result = self.graph(called)
            if one.opcode == "conditional":
                inputs = {identifier: number + 1 for identifier in parameters.values()}
            else:
                inputs = {identifier: which for which, identifier in parameters.items()}
            condition = re.search(r"condition=%?([\w.-]+)", one.rest)
            tested = condition is not None and condition[1] == called
            name = "" if one.opcode in ("fusion", "call") else "condition" if tested else called
            yield Part(name, graph, inputs, {} if tested or not result else {result: 0})

    def cost(self, one: Instruction, types: dict[str, str]) -> float:
        """The bytes that an instruction moves, or could move while it computes."""
        if one.opcode in ("parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all"):
            return 0.0
        if one.opcode in ("while", "conditional", "call"):
            return (turns_of(one) or 1) * sum(map(self.cost_of_computation, one.called))
        moved = one.size + sum(size_of_type(types.get(used, "")) for used in one.operands)
        inner = [each for called in one.called for each in self.program.computations.get(called, [])]
        inner_types = {each.name: each.type for each in inner}
        products = sum(_products(each, inner_types) for each in inner) + _products(one, types)
        return max(float(moved), products / _OPERATIONS_PER_BYTE)

    def cost_of_computation(self, name: str) -> float:
        instructions: Sequence[Instruction] = self.program.computations.get(name, [])
        types = {one.name: one.type for one in instructions}
        return sum(self.cost(one, types) for one in instructions)


def _products(one: Instruction, types: dict[str, str]) -> float:
    """The products and sums of a product of matrices."""
    summed = re.search(r"lhs_contracting_dims=\{([\d,]*)\}", one.rest)
    if one.opcode != "dot" or summed is None or not one.operands:
        return 0.0
    shape, out = (_shape(text) for text in (types.get(one.operands[0], ""), one.type))
    lengths = [shape[int(axis)] for axis in summed[1].split(",") if axis and int(axis) < len(shape)]
    return 2.0 * math.prod(out) * math.prod(lengths)


def _shape(text: str) -> list[int]:
    found = re.search(r"\[([\d,]*)\]", text)
    return [int(length) for length in found[1].split(",") if length] if found else []
