"""Graphs of programs: operations, the values that go between them, and the programs within operations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class Node:
    """An operation, or an input or output of a program.

    Attributes:
      id: unique in the whole picture. label: what stands in the box. kind: "input", "constant", "operation" or "output".
      detail: parameters and the like. line: of the user. cost: in any unit, the same for all nodes of the picture.
      parts: programs within it, which can be folded.
    """

    id: str
    label: str
    kind: str
    detail: str = ""
    line: str = ""
    cost: float = 0.0
    parts: list[Part] = field(default_factory=list)


@dataclass
class Edge:
    """A value that goes from one node to another of the same graph.

    Attributes:
      source, target: identifiers of the nodes. label: the value's type. result: which of the source's it is.
      operand: which of the target's.
    """

    source: str
    target: str
    label: str
    result: int = 0
    operand: int = 0


@dataclass
class Graph:
    """Nodes, each after those that it needs, and edges."""

    nodes: list[Node] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)

    def walk(self) -> Iterator[Node]:
        """All nodes, those within others included."""
        for node in self.nodes:
            yield node
            for part in node.parts:
                yield from part.graph.walk()


@dataclass
class Part:
    """A program within a node.

    Attributes:
      name: such as "body", or "". inputs: by identifier of the program's inputs, the number of the node's operand that each
        is; outputs: likewise the number of the node's result.
    """

    name: str
    graph: Graph
    inputs: dict[str, int] = field(default_factory=dict)
    outputs: dict[str, int] = field(default_factory=dict)


def heat(cost: float, most: float) -> float:
    """How hot an operation is, from 0 to 1: small shares can still be told from none."""
    return (cost / most) ** 0.5 if most > 0 else 0.0


def colour(node: Node, most: float) -> str:
    """The colour of a node: by its kind, or for operations from white to red by its cost."""
    fixed = {"input": "#dceaf7", "constant": "#ececec", "output": "#dff1df"}.get(node.kind)
    if fixed is not None:
        return fixed
    share = min(1.0, heat(node.cost, most))
    return "#" + "".join(
        f"{round(cold + (hot - cold) * share):02x}" for cold, hot in zip((255,) * 3, (233, 92, 66), strict=True)
    )


def hottest(graph: Graph) -> float:
    """The largest cost of an operation without parts."""
    return max((node.cost for node in graph.walk() if not node.parts), default=0.0)
