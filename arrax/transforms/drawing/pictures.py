"""``debug.draw``: programs and compiled functions as pictures."""

from __future__ import annotations

import html
from collections.abc import Callable
from pathlib import Path
from typing import Any

from arrax.core.functions import function_name
from arrax.core.program import ClosedJaxpr, Jaxpr
from arrax.core.tracebacks import boundary
from arrax.transforms.arguments import jitted_of, unbound
from arrax.transforms.drawing.compiled import graph_of_compiled
from arrax.transforms.drawing.dot import dot_text, rendered
from arrax.transforms.drawing.graph import Graph
from arrax.transforms.drawing.page import page
from arrax.transforms.drawing.programs import graph_of_program
from arrax.transforms.jit import jit
from arrax.transforms.stages import Compiled, Lowered, Traced
from arrax.xla.hlo_text import read_hlo


class Picture:
    """The graph of a program: what graphviz reads, its pictures, and a page. Notebooks show the page.

    Attributes:
      title: of the picture. graph: the nodes and edges.
    Example: ``picture = arrax.debug.draw(jnp.sin)(1.0); isinstance(picture, arrax.debug.Picture)`` is True.
    """

    def __init__(self, title: str, graph: Graph) -> None:
        self.title, self.graph = title, graph

    def dot(self, unfold: int | None = None) -> str:
        """The text that graphviz reads.

        Args:
          unfold: how many levels of nested programs are drawn; None for all.
        """
        return dot_text(self.title, self.graph, unfold)

    @boundary
    def svg(self, unfold: int | None = None) -> str:
        """The picture as SVG, drawn by graphviz.

        Raises:
          RuntimeError: graphviz is not installed.
        """
        return rendered(self.dot(unfold), "svg").decode()

    @boundary
    def png(self, unfold: int | None = None) -> bytes:
        """The picture as PNG, drawn by graphviz.

        Raises:
          RuntimeError: graphviz is not installed.
        """
        return rendered(self.dot(unfold), "png")

    def html(self, unfold: int | None = 0) -> str:
        """A page that draws the graph, on which nested programs unfold at a click. It needs nothing besides itself.

        Args:
          unfold: how many levels are unfolded at first; None for all.
        """
        return page(self.title, self.graph, unfold)

    @boundary
    def save(self, path: Any, unfold: int | None = None) -> None:
        """Write the picture to a file, in the form that its name ends with: .dot, .svg, .png or .html.

        Raises:
          ValueError: another ending.
          RuntimeError: graphviz, which draws .svg and .png, is not installed.
        """
        forms: dict[str, Callable[[int | None], str | bytes]] = {
            ".dot": self.dot, ".gv": self.dot, ".svg": self.svg, ".png": self.png, ".html": self.html,
        }  # fmt: skip
        target = Path(path)
        form = forms.get(target.suffix.lower())
        if form is None:
            raise ValueError(f"save: a picture's file ends with one of {', '.join(forms)}, got {str(path)!r}")
        made = form(unfold)
        target.write_bytes(made if isinstance(made, bytes) else made.encode())

    def __repr__(self) -> str:
        return f"<picture of {self.title}: {len(self.graph.nodes)} nodes>"

    def _repr_html_(self) -> str:
        """What notebooks show: the page in a frame."""
        inner = html.escape(self.html(), quote=True)
        return f'<iframe srcdoc="{inner}" style="width:100%;height:600px;border:1px solid #ddd"></iframe>'


def draw(program: Any, *, compiled: bool = False) -> Any:
    """A picture of a program, or of what a function is traced or compiled to.

    Args:
      program: a function, jitted or not; or a Jaxpr, or a stage of a jitted function (``trace``, ``lower``, ``compile``).
      compiled: for a function, whether what the compiler made of it is drawn, instead of its program before.
    Returns: a ``Picture``; for a function, a function of its arguments that gives one. Boxes are operations, coloured from
      white to red by what they cost; lines are values with their types; boxes with programs in them unfold.
    Raises:
      TypeError: nothing that can be drawn.
    Example: ``draw(jnp.sin)(1.).save("sine.html")``.
    """
    if isinstance(program, Jaxpr | ClosedJaxpr):
        info = getattr(program.debug_info if isinstance(program, Jaxpr) else program.jaxpr.debug_info, "name", "")
        return Picture(info or "program", graph_of_program(program))
    if isinstance(program, Traced):
        return Picture(program.fun_name, graph_of_program(program.jaxpr))
    if isinstance(program, Lowered):
        return Picture(f"{program._jitted.name}, lowered", graph_of_program(program._lowering.jaxpr))
    if isinstance(program, Compiled):
        return _of_compiled(program)
    if not callable(program):
        raise TypeError(f"draw: program must be a function, a Jaxpr, or a stage of a jitted function, got {program!r}")
    own, bound = unbound(program)
    jitted: Any = jit(own) if jitted_of(own) is None else own

    @boundary
    def drawn(*args: Any, **kwargs: Any) -> Picture:
        traced = jitted.trace(*bound, *args, **kwargs)
        return draw(traced.lower().compile() if compiled else traced)

    drawn.__name__ = f"draw({function_name(program)})"
    return drawn


def _of_compiled(compiled: Compiled) -> Picture:
    module = compiled._own_modules()[0]
    return Picture(f"{compiled._jitted.name}, compiled", graph_of_compiled(read_hlo(module.to_string())))
