"""Graphs in the language of graphviz, and pictures made by its program ``dot``."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator

from arrax.transforms.drawing.graph import Graph, Node, colour, hottest

_HEAD = """  compound=true; rankdir=TB; fontname="Helvetica";
  node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=10, height=0.25, margin="0.08,0.04"];
  edge [fontname="Helvetica", fontsize=8, color="#777777", arrowsize=0.5];"""
# Large graphs would take graphviz many minutes to lay out well.
_MANY, _LARGE = 300, "  splines=line; nslimit=1; nslimit1=1; mclimit=0.1;"


def dot_text(title: str, graph: Graph, unfold: int | None) -> str:
    """A graph in the language of graphviz.

    Args:
      unfold: how many levels of nested programs are drawn; None for all.
    """
    drawing = _Dot(hottest(graph), unfold)
    nodes = list(drawing.nodes(graph, 0, "  "))
    lines = [f"digraph {_quoted(title)} {{", _HEAD, f"  label={_quoted(title)}; labelloc=t;"]
    lines += [_LARGE] if len(nodes) > _MANY else []
    lines += nodes
    lines += drawing.edges(graph, 0)
    return "\n".join([*lines, "}"]) + "\n"


def rendered(dot: str, kind: str) -> bytes:
    """A picture that graphviz makes of a text in its language.

    Args:
      kind: ``"svg"`` or ``"png"``.
    Raises:
      RuntimeError: graphviz is not there, or refuses.
    """
    program = shutil.which("dot")
    if program is None:
        raise RuntimeError(
            f"{kind}: pictures are drawn by the program `dot` of graphviz, which is not on the path. Install graphviz, or "
            "take html(), which needs nothing, or dot()."
        )
    done = subprocess.run([program, f"-T{kind}"], input=dot.encode(), capture_output=True)
    if done.returncode:
        raise RuntimeError(f"{kind}: graphviz refused the graph: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


class _Dot:
    def __init__(self, most: float, unfold: int | None) -> None:
        self.most, self.unfold = most, unfold

    def is_open(self, node: Node, level: int) -> bool:
        return bool(node.parts) and (self.unfold is None or level < self.unfold)

    def nodes(self, graph: Graph, level: int, indent: str) -> Iterator[str]:
        for node in graph.nodes:
            tooltip = "\n".join(filter(None, (node.detail, node.line)))
            if not self.is_open(node, level):
                label = f"▸ {node.label}" if node.parts else node.label
                fill = colour(node, self.most)
                yield f"{indent}{node.id} [label={_quoted(label)}, fillcolor={_quoted(fill)}, tooltip={_quoted(tooltip)}];"
                continue
            yield f"{indent}subgraph cluster_{node.id} {{"
            yield f'{indent}  label={_quoted(node.label)}; style=rounded; color="#999999"; tooltip={_quoted(tooltip)};'
            yield f'{indent}  {node.id} [label="", shape=point, style=invis];'
            for number, part in enumerate(node.parts):
                yield f"{indent}  subgraph cluster_{node.id}_{number} {{"
                yield f'{indent}    label={_quoted(part.name)}; style=dashed; color="#bbbbbb";'
                yield from self.nodes(part.graph, level + 1, indent + "    ")
                yield f"{indent}  }}"
            yield f"{indent}}}"

    def edges(self, graph: Graph, level: int) -> Iterator[str]:
        by_id = {node.id: node for node in graph.nodes}
        for edge in graph.edges:
            for source, tail in self.ends(by_id[edge.source], level, edge.result, "outputs"):
                for target, head in self.ends(by_id[edge.target], level, edge.operand, "inputs"):
                    yield f"  {source} -> {target} [{', '.join([f'label={_quoted(edge.label)}', *tail, *head])}];"
        for node in graph.nodes:
            if self.is_open(node, level):
                for part in node.parts:
                    yield from self.edges(part.graph, level + 1)

    def ends(self, node: Node, level: int, number: int, side: str) -> list[tuple[str, list[str]]]:
        """Where an edge begins or ends: at inputs or outputs within an open node, or at its border."""
        if not self.is_open(node, level):
            return [(node.id, [])]
        inside = [one for part in node.parts for one, which in getattr(part, side).items() if which == number]
        border = "ltail" if side == "outputs" else "lhead"
        return [(one, []) for one in inside] or [(node.id, [f"{border}=cluster_{node.id}"])]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
