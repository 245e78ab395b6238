"""The graph of a program before compilation: one node per equation."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

from arrax.core.errors import frame_text, user_frames
from arrax.core.name_stacks import stack_text
from arrax.core.printing import literal_text
from arrax.core.program import Atom, ClosedJaxpr, DropVar, Jaxpr, JaxprEqn, Literal, Var, open_jaxpr, subprograms
from arrax.interpreters.cost_model import largest_size, work_of_eqn
from arrax.transforms.drawing.graph import Edge, Graph, Node, Part

_DETAIL = 400


def graph_of_program(program: Jaxpr | ClosedJaxpr) -> Graph:
    """The graph of a program; the cost of an operation is the additions that take as long."""
    return _Drawing().graph(open_jaxpr(program), "")[0]


class _Drawing:
    def __init__(self) -> None:
        self.numbers = itertools.count()

    def graph(self, jaxpr: Jaxpr, name: str) -> tuple[Graph, list[str], list[str]]:
        """The graph of a program, and the identifiers of its inputs and outputs."""
        graph = Graph()
        makers: dict[Var, tuple[str, int]] = {}
        for var in jaxpr.constvars:
            makers[var] = self.node(graph, _typed("constant", var), "constant"), 0
        names = getattr(jaxpr.debug_info, "argument_names", None) or ()
        named = len(names) == len(jaxpr.invars) and not name
        inputs = []
        for number, var in enumerate(jaxpr.invars):
            label = names[number] if named else f"in {number}"
            inputs.append(self.node(graph, _typed(label, var), "input"))
            makers[var] = inputs[-1], 0
        for eqn in jaxpr.eqns:
            self.equation(graph, eqn, makers)
        outputs = []
        for number, atom in enumerate(jaxpr.outvars):
            text = f" = {literal_text(atom.val, atom.aval)}" if isinstance(atom, Literal) else ""
            outputs.append(self.node(graph, f"out {number}{text}", "output"))
            self.edge(graph, atom, outputs[-1], 0, makers)
        return graph, inputs, outputs

    def node(self, graph: Graph, label: str, kind: str, **fields: Any) -> str:
        made = Node(f"n{next(self.numbers)}", label, kind, **fields)
        graph.nodes.append(made)
        return made.id

    def edge(self, graph: Graph, atom: Atom, target: str, operand: int, makers: dict[Var, tuple[str, int]]) -> None:
        if isinstance(atom, Var) and atom in makers:
            source, result = makers[atom]
            graph.edges.append(Edge(source, target, atom.aval.str_short(True), result, operand))

    def equation(self, graph: Graph, eqn: JaxprEqn, makers: dict[Var, tuple[str, int]]) -> None:
        literals = [literal_text(atom.val, atom.aval) for atom in eqn.invars if isinstance(atom, Literal)]
        frames = user_frames(eqn.source_info.traceback, 1)
        target = self.node(
            graph, " ".join([_title(eqn), *literals]), "operation", detail=_detail(eqn), cost=cost_of(eqn),
            line=frame_text(frames[0]) if frames else "", parts=list(self.parts(eqn)),
        )  # fmt: skip
        for number, atom in enumerate(eqn.invars):
            self.edge(graph, atom, target, number, makers)
        for number, var in enumerate(eqn.outvars):
            if not isinstance(var, DropVar):
                makers[var] = target, number

    def parts(self, eqn: JaxprEqn) -> Iterator[Part]:
        """The programs within an equation. The last operands are theirs, but for the constants of a loop's test."""
        for name, program in _named_programs(eqn.params):
            graph, inputs, outputs = self.graph(open_jaxpr(program), name)
            operands = _operands_of(eqn, name, len(inputs))
            results = range(len(outputs)) if len(outputs) == len(eqn.outvars) and not _is_test(eqn, name) else ()
            yield Part(
                name, graph, {one: number for one, number in zip(inputs, operands, strict=False) if number >= 0},
                dict(zip(outputs, results, strict=False)),
            )  # fmt: skip


def _operands_of(eqn: JaxprEqn, name: str, count: int) -> list[int]:
    """For each input of a program within an equation, the number of the operand that it is."""
    total = len(eqn.invars)
    tested, turned = (eqn.params.get(f"{which}_nconsts", 0) for which in ("cond", "body"))
    if _is_test(eqn, name):
        return [*range(tested), *range(tested + turned, total)]
    return list(range(total - count, total))


def _is_test(eqn: JaxprEqn, name: str) -> bool:
    """Whether a program within an equation is the test of a loop."""
    return "cond_nconsts" in eqn.params and name == "cond"


def _named_programs(params: dict[str, Any]) -> Iterator[tuple[str, Jaxpr | ClosedJaxpr]]:
    for key, value in params.items():
        found = list(subprograms({key: value}))
        base = key.removesuffix("_jaxpr").replace("jaxpr", "")
        for number, program in enumerate(found):
            yield (f"{base} {number}" if len(found) > 1 else base), program


def _title(eqn: JaxprEqn) -> str:
    name, length = eqn.params.get("name"), eqn.params.get("length")
    title = eqn.primitive.name
    title += f" {name}" if isinstance(name, str) else ""
    return title + (
        f" ×{length}" if isinstance(length, int) and next(subprograms(eqn.params), None) is not None else ""
    )


def _typed(label: str, var: Var) -> str:
    return f"{label}: {var.aval.str_short(True)}"


def _detail(eqn: JaxprEqn) -> str:
    hidden = eqn.primitive.hidden_params
    shown = [
        f"{key}={value}"
        for key, value in eqn.params.items()
        if key not in hidden and value is not None and not list(subprograms({key: value}))
    ]
    names = stack_text(eqn.source_info.names)
    lines = [*([names] if names else []), *shown]
    return "\n".join(line if len(line) <= _DETAIL else f"{line[:_DETAIL]}…" for line in lines)


def cost_of(eqn: JaxprEqn) -> float:
    """The additions that take as long as an operation; loops of unknown length count once."""
    inner: Sequence[Jaxpr | ClosedJaxpr] = list(subprograms(eqn.params))
    if inner and eqn.primitive.cost is None:
        turns = eqn.params.get("length", 1)
        return (turns if isinstance(turns, int) else 1) * sum(
            cost_of(each) for one in inner for each in open_jaxpr(one).eqns
        )
    cost = work_of_eqn(eqn)
    return float(cost) if math.isfinite(cost) else float(largest_size(eqn))
