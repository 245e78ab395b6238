"""Printed programs with lines, names, effects and colours."""

import inspect
import io
import sys

import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax

ROW = inspect.currentframe().f_lineno


def f(x):
    with arrax.named_scope("scope"):
        y = jnp.sin(x)
    return lax.scan(lambda c, _: (jnp.cos(c) * y, None), y, None, length=2)[0]


PROGRAM = arrax.make_jaxpr(f)(1.0)


def test_lines_stand_beside_equations_on_request():
    lines = PROGRAM.pretty_print(source_info=True).split("\n")
    assert lines[1] == f"    b:f32[] = sin a          # {__file__}:{ROW + 5} (f)"
    assert lines[2].endswith(f"# {__file__}:{ROW + 6} (f)")
    inner = [line for line in lines if "cos e" in line]
    assert len(inner) == 1 and inner[0].endswith("(<lambda>)") and {line.find("  #") for line in inner} == {27}


def test_names_stand_beside_equations_on_request():
    lines = PROGRAM.pretty_print(name_stack=True).split("\n")
    assert lines[1].endswith("sin a          # [scope]") and lines[2].endswith("# []")
    both = PROGRAM.pretty_print(name_stack=True, source_info=True)
    assert f"# {__file__}:{ROW + 5} (f) [scope]" in both


def test_types_are_left_out_and_effects_shown_on_request():
    text = PROGRAM.pretty_print(print_shapes=False)
    assert text.startswith("{ lambda ; a. let\n    b = sin a\n    c = scan[") and "f32" not in text
    effectful = arrax.make_jaxpr(lambda x: arrax.debug.print("{}", x))(1.0)
    assert "Debug" in effectful.pretty_print(print_effects=True).split("\n")[-1]
    assert arrax.make_jaxpr(jnp.sin)(1.0).pretty_print(print_effects=True).endswith("in (b,) : {  } }")


def test_texts_are_plain_unless_colours_are_asked_for():
    assert "\x1b" not in str(PROGRAM) and "\x1b" not in repr(PROGRAM.jaxpr)
    coloured = PROGRAM.pretty_print(use_color=True)
    assert "\x1b[35m:f32[]\x1b[0m = \x1b[34msin\x1b[0m a" in coloured and "\x1b[1mlambda\x1b[0m" in coloured
    for code in ("\x1b[35m", "\x1b[34m", "\x1b[1m", "\x1b[2m", "\x1b[0m"):
        coloured = coloured.replace(code, "")
    assert coloured == str(PROGRAM)
    with pytest.raises(TypeError, match="bogus"):
        PROGRAM.pretty_print(bogus=True)


class Printer:
    def text(self, text):
        self.seen = text


def test_ipython_prints_in_colours_where_it_writes_to_a_terminal(monkeypatch):
    printer = Printer()
    PROGRAM._repr_pretty_(printer, False)
    assert printer.seen == str(PROGRAM)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    PROGRAM.jaxpr._repr_pretty_(printer, False)
    assert printer.seen == PROGRAM.pretty_print(use_color=True)


def test_notebooks_show_programs_in_colours():
    program = arrax.make_jaxpr(lambda key: arrax.random.normal(key))(arrax.random.key(0))
    shown = program._repr_html_()
    assert shown.startswith("<pre") and "key&lt;fry&gt;[]" in shown and 'style="color:' in shown
    assert "<fry>" not in shown


def test_rich_prints_programs():
    console = pytest.importorskip("rich.console").Console(width=200, record=True, file=io.StringIO())
    console.print(PROGRAM)
    assert console.export_text().rstrip() == str(PROGRAM)
