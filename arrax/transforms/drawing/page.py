"""Graphs as pages of their own, on which nested programs fold and unfold."""

from __future__ import annotations

import functools
import html
import json
from pathlib import Path
from typing import Any

from arrax.transforms.drawing.graph import Graph, Node, colour, hottest


@functools.cache
def _template() -> str:
    return Path(__file__).with_name("page.html").read_text(encoding="utf-8")


def page(title: str, graph: Graph, unfold: int | None) -> str:
    """A page, in one piece, that draws a graph.

    Args:
      unfold: how many levels of nested programs are unfolded at first; None for all.
    """
    most, total = hottest(graph), sum(node.cost for node in graph.nodes)
    data = {"title": title, "graph": _graph(graph, most, total), "open": _open(graph, unfold)}
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
    before, rest = _template().replace("TITLE", html.escape(title), 1).split("GRAPH", 1)
    return before + text + rest


def _graph(graph: Graph, most: float, total: float) -> dict[str, Any]:
    return {
        "nodes": [_node(node, most, total) for node in graph.nodes],
        "edges": [vars(edge) for edge in graph.edges],
    }


def _node(node: Node, most: float, total: float) -> dict[str, Any]:
    share = f"{node.cost / total:.1%} of the cost of its program" if total and node.cost else ""
    return {
        "id": node.id, "label": node.label, "detail": node.detail, "line": node.line, "colour": colour(node, most),
        "share": share, "parts": [
            {
                "name": part.name, "inputs": part.inputs, "outputs": part.outputs,
                "graph": _graph(part.graph, most, sum(inner.cost for inner in part.graph.nodes)),
            }
            for part in node.parts
        ],
    }  # fmt: skip


def _open(graph: Graph, unfold: int | None) -> list[str]:
    """The nodes that are unfolded at first."""
    if unfold is not None and unfold <= 0:
        return []
    inner = None if unfold is None else unfold - 1
    return [
        identifier
        for node in graph.nodes
        if node.parts
        for identifier in (node.id, *(one for part in node.parts for one in _open(part.graph, inner)))
    ]
