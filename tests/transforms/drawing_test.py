"""Pictures of programs: graphs, texts for graphviz, pages."""

import json
import os
import re
import shutil
import stat
import subprocess
from html.parser import HTMLParser

import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.core import config
from arrax.debug import Picture, draw


@pytest.fixture(autouse=True, scope="module")
def without_stored_programs():
    """A program that is found again on disk has the lines of the file that it was compiled from first."""
    with config.enable_compilation_cache(False):
        yield


def loss(w, x):
    with arrax.named_scope("layer"):
        x = jnp.tanh(x @ w)
    x, ys = lax.scan(lambda c, _: (jnp.sin(c) * 2.0, c.sum()), x, None, length=5)
    x = lax.cond(ys[0] > 0, lambda a: a @ w, lambda a: a, x)
    x = lax.while_loop(lambda a: a.sum() < 10, lambda a: a * w[0, 0], x)
    return arrax.jit(lambda z: jnp.where(z > 0, z, 0.0))(x).sum()


@pytest.fixture(scope="module")
def picture():
    return draw(loss)(jnp.ones((64, 64)), jnp.ones((8, 64)))


@pytest.fixture(scope="module")
def compiled():
    return draw(loss, compiled=True)(jnp.ones((64, 64)), jnp.ones((8, 64)))


def node(graph, label):
    return next(one for one in graph.walk() if one.label.startswith(label))


def test_nodes_are_operations_and_edges_their_values(picture):
    graph = draw(lambda x, y: jnp.sin(x) * y + 1.5)(jnp.ones(3), jnp.ones(3)).graph
    assert [(one.kind, one.label) for one in graph.nodes] == [
        ("input", "x: f32[3]"),
        ("input", "y: f32[3]"),
        ("operation", "sin"),
        ("operation", "mul"),
        ("operation", "add 1.5"),
        ("output", "out 0"),
    ]
    x, y, sine, product, total, out = (one.id for one in graph.nodes)
    assert {(edge.source, edge.target, edge.operand, edge.label) for edge in graph.edges} == {
        (x, sine, 0, "f32[3]"),
        (sine, product, 0, "f32[3]"),
        (y, product, 1, "f32[3]"),
        (product, total, 0, "f32[3]"),
        (total, out, 0, "f32[3]"),
    }
    assert f"{__file__}:" in graph.nodes[2].line and "layer" in node(picture.graph, "tanh").detail


def test_programs_within_operations_are_parts_joined_to_operands_and_results(picture):
    loop, branch, turn = (node(picture.graph, label) for label in ("scan ×5", "cond", "while"))
    (body,) = loop.parts
    assert list(body.inputs.values()) == [0] and list(body.outputs.values()) == [0, 1]
    assert [list(part.inputs.values()) for part in branch.parts] == [[1, 2], [1, 2]]
    test, step = sorted(turn.parts, key=lambda part: part.name == "body")
    assert (test.name, list(test.inputs.values()), test.outputs) == ("cond", [1], {})
    assert list(step.inputs.values()) == [0, 1] and list(step.outputs.values()) == [0]
    assert node(picture.graph, "pjit").parts[0].graph.nodes


def test_costs_follow_the_work_and_loops_count_their_turns(picture):
    graph = picture.graph
    assert node(graph, "dot_general").cost > node(graph, "tanh").cost > node(graph, "slice").cost > 0
    loop = node(graph, "scan ×5")
    assert loop.cost == pytest.approx(5 * sum(one.cost for one in loop.parts[0].graph.nodes))


def test_compiled_functions_show_the_compilers_instructions(compiled):
    kinds = {one.label.partition(":")[0] for one in compiled.graph.walk()}
    assert {"fusion", "while", "w", "x"} <= kinds
    loop = next(one for one in compiled.graph.walk() if one.label.startswith("while"))
    assert "condition" in [part.name for part in loop.parts] and loop.cost > 0
    named = [one for one in compiled.graph.walk() if "layer" in one.detail]
    assert named and all(__file__ in one.line for one in named if one.line)


def test_a_product_is_the_hottest_in_a_compiled_function():
    graph = draw(lambda x: jnp.tanh(x @ x), compiled=True)(jnp.ones((256, 256))).graph
    hottest = max(graph.nodes, key=lambda one: one.cost)
    assert "dot" in hottest.label or any("dot" in inner.label for part in hottest.parts for inner in part.graph.nodes)


def test_all_that_has_a_program_is_drawn():
    program = arrax.make_jaxpr(jnp.sin)(1.0)
    jitted = arrax.jit(lambda x: x + 1)
    for drawn in (program, program.jaxpr, jitted.trace(1.0), jitted.lower(1.0), jitted.lower(1.0).compile()):
        picture = draw(drawn)
        assert isinstance(picture, Picture) and len(picture.graph.nodes) >= 3
    constant = jnp.arange(3.0)
    kinds = [one.kind for one in draw(lambda x: x + constant)(1.0).graph.nodes]
    assert kinds.count("constant") == 1
    with pytest.raises(TypeError, match="draw: program must be a function, a Jaxpr"):
        draw(3)


def test_graphviz_texts_fold_to_the_wanted_depth(picture):
    assert picture.dot(0).count("subgraph") == 0 and "▸ scan" in picture.dot(0)
    assert 'label="scan ×5"' in picture.dot(1) and picture.dot(1).count("▸") > 0
    whole = picture.dot()
    assert "▸" not in whole and whole.count("{") == whole.count("}") and "lhead=cluster_" in whole
    names = set(re.findall(r"^\s*(n\d+) \[", whole, re.M))
    ends = {end for pair in re.findall(r"(n\d+) -> (n\d+)", whole) for end in pair}
    assert ends <= names


def test_large_graphs_are_laid_out_quickly_rather_than_well(picture):
    def long(x):
        for _ in range(350):
            x = x + 1.0
        return x

    assert "mclimit" in draw(long)(1.0).dot() and "mclimit" not in picture.dot()


def test_pictures_are_drawn_by_graphviz(picture, compiled):
    if shutil.which("dot") is None:
        pytest.skip("graphviz is not installed")
    assert "</svg>" in picture.svg() and "scan ×5" in picture.svg()
    assert compiled.png(0).startswith(b"\x89PNG")


def make_program(folder, script):
    path = folder / "dot"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def test_graphviz_gets_the_text_and_its_faults_are_told(picture, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    make_program(tmp_path, 'printf "%s:" "$1"; cat')
    assert picture.svg(0) == f"-Tsvg:{picture.dot(0)}" and picture.png().startswith(b"-Tpng:digraph")
    make_program(tmp_path, "echo not today >&2; exit 3")
    with pytest.raises(RuntimeError, match="graphviz refused the graph: not today"):
        picture.svg()


def test_without_graphviz_the_error_says_what_to_do(picture, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="Install graphviz, or take html"):
        picture.png()


def test_pictures_are_saved_by_the_ending_of_the_name(picture, tmp_path):
    picture.save(tmp_path / "a.dot")
    picture.save(str(tmp_path / "a.html"))
    assert (tmp_path / "a.dot").read_text() == picture.dot()
    assert (tmp_path / "a.html").read_text() == picture.html(None)
    with pytest.raises(ValueError, match=r"ends with one of \.dot, .*, got '.*a\.jpg'"):
        picture.save(str(tmp_path / "a.jpg"))


class Page(HTMLParser):
    """The scripts of a page, and what it loads from elsewhere."""

    def __init__(self, text):
        super().__init__()
        self.scripts, self.inside, self.foreign = [], False, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.inside = tag == "script"
        self.foreign += [value for name, value in attributes if name in ("src", "href")]

    def handle_data(self, data):
        if self.inside:
            self.scripts.append(data)
        self.inside = False


def test_pages_stand_alone_and_hold_the_graph(picture):
    page = Page(picture.html())
    data = json.loads(page.scripts[0])
    assert page.foreign == [] and data["title"] == "loss" and data["open"] == []
    assert [one["label"] for one in data["graph"]["nodes"]] == [one.label for one in picture.graph.nodes]
    hot = next(one for one in data["graph"]["nodes"] if one["label"] == "dot_general")
    assert hot["colour"] != "#ffffff" and "of the cost" in hot["share"]
    assert len(json.loads(Page(picture.html(None)).scripts[0])["open"]) >= 5
    assert picture._repr_html_().startswith("<iframe srcdoc=")


def test_names_cannot_break_out_of_pages_and_texts():
    def f(x):
        with arrax.named_scope('</script><b>"&'):
            return jnp.sin(x)

    f.__name__ = '</script><i>&"'
    picture = draw(f)(1.0)
    page = Page(picture.html())
    assert len(page.scripts) == 2 and json.loads(page.scripts[0])["title"] == f.__name__
    assert "<i>" not in picture.html().split("<script", 1)[0]
    assert r"\"" in picture.dot()


# A document with as much of a browser's as the page uses.
BROWSER = """
const made = [];
function element(name) {
  const one = { name, attributes: {}, children: [], listeners: {}, textContent: "",
    setAttribute(key, value) { if (value !== value || value === undefined) throw new Error(`${name}.${key}`); this.attributes[key] = value; },
    appendChild(child) { this.children.push(child); }, replaceChildren() { this.children = []; },
    addEventListener(kind, action) { this.listeners[kind] = action; },
    getBoundingClientRect() { return { left: 0, top: 0, width: 800, height: 600 }; } };
  return one;
}
const parts = {};
globalThis.document = { getElementById: id => parts[id] ||= element(id), createElementNS: (space, name) => element(name) };
globalThis.window = element("window");
"""
USE = """
const svg = parts.picture, count = kind => svg.children.filter(one => one.name === kind).length;
const before = count("rect");
const fold = svg.children.find(one => (one.attributes.class || "").includes("foldable"));
fold.listeners.click();
const opened = count("rect");
parts.unfold.listeners.click();
const all = count("rect");
svg.listeners.wheel({ preventDefault() {}, clientX: 10, clientY: 10, deltaY: 100 });
svg.listeners.mousedown({ clientX: 0, clientY: 0 });
svg.listeners.mousemove({ clientX: 9, clientY: 9 });
parts.fold.listeners.click();
const boxes = svg.children.filter(one => one.name === "rect").map(one => one.attributes);
let overlaps = 0;
for (const a of boxes) for (const b of boxes)
  if (a !== b && a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height) overlaps++;
console.log(JSON.stringify({ before, opened, all, folded: count("rect"), paths: count("path"), overlaps, detail: parts.detail.textContent, title: parts.title.textContent }));
"""


def test_pages_draw_fold_and_unfold(picture, compiled):
    if shutil.which("node") is None:
        pytest.skip("no node here")
    for drawn in (picture, compiled):
        data, script = Page(drawn.html()).scripts
        code = f"{BROWSER}\ndocument.getElementById('graph').textContent = {json.dumps(data)};\n{script}\n{USE}"
        done = subprocess.run(["node", "-e", code], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        seen = json.loads(done.stdout)
        assert seen["before"] == seen["folded"] == len(drawn.graph.nodes)
        assert seen["before"] < seen["opened"] <= seen["all"] and seen["overlaps"] == 0
        assert seen["paths"] == len(drawn.graph.edges) and seen["title"] == drawn.title and seen["detail"]
