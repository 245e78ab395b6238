"""Compiled programs say where their operations come from, and are found again wherever they come from."""

import inspect
import re
import traceback

import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.core import config
from arrax.extend.core import Primitive
from arrax.interpreters import ad, mlir
from arrax.xla.compilation import executables
from arrax.xla.hlo_text import read_hlo

FILE = __file__


@pytest.fixture(autouse=True)
def without_stored_programs():
    """A program that is found again on disk has the lines of the file that it was compiled from first."""
    with config.enable_compilation_cache(False):
        yield


def names_of(function, *args):
    """The names of all operations before the compiler sees them."""
    text = arrax.jit(function).lower(*args).as_text(debug_info=True)
    return set(re.findall(r'^#loc\d+ = loc\("([^"]*)"\(#loc\d+\)\)$', text, re.M)) - {function.__name__}


def compiled_names(function, *args):
    """The names of all operations in the compiler's answer."""
    text = arrax.jit(function).lower(*args).compile().as_text()
    return {name for names in re.findall(r'op_name="([^"]*)"', text) for name in names.split(";")}


def wave(x):
    with arrax.named_scope("outer"), arrax.named_scope("inner"):
        return jnp.sin(x)


def doubled(x):
    with arrax.named_scope("scope"):
        return x * jnp.cos(x)


CASES = {
    "scopes": (wave, {"jit(wave)/outer/inner/sin"}),
    "grad": (
        arrax.grad(wave),
        {"jit(wave)/jvp(outer)/inner/cos", "jit(wave)/transpose(jvp(outer))/inner/mul"},
    ),
    "vmap": (lambda x: arrax.vmap(wave)(x[None]), {"jit(<lambda>)/vmap(outer)/inner/sin"}),
    "vmap of grad": (
        lambda x: arrax.vmap(arrax.grad(wave))(x[None]),
        {"jit(<lambda>)/vmap(jvp(outer))/inner/cos", "jit(<lambda>)/vmap(transpose(jvp(outer)))/inner/mul"},
    ),
    "jvp without scopes": (lambda x: arrax.jvp(jnp.sin, (x,), (x,)), {"jit(<lambda>)/jvp()/sin"}),
    "linear function": (lambda x: arrax.linearize(wave, x)[1](x), {"jit(<lambda>)/jvp(outer)/inner/mul"}),
    "pullback in another scope": (
        lambda x: arrax.named_call(arrax.vjp(wave, x)[1], name="later")(x),
        {"jit(<lambda>)/later/transpose(jvp(outer))/inner/mul"},
    ),
    "linear transpose": (
        lambda x: arrax.linear_transpose(arrax.named_call(lambda y: 3.0 * y, name="triple"), x)(x),
        {"jit(<lambda>)/transpose(triple)/mul"},
    ),
    "recomputation": (
        arrax.grad(lambda x: arrax.checkpoint(doubled)(jnp.sin(x))),
        {"jit(<lambda>)/transpose(jvp())/checkpoint/rematted_computation/scope/cos"},
    ),
    "while": (
        lambda x: lax.while_loop(lambda c: jnp.exp(c) < 1, doubled, x),
        {"jit(<lambda>)/while/cond/exp", "jit(<lambda>)/while/body/scope/mul"},
    ),
    "scan": (lambda x: lax.scan(lambda c, _: (doubled(c), None), x, None, 3), {"jit(<lambda>)/while/body/scope/mul"}),
    "branches": (
        lambda x: lax.cond(x > 0, doubled, jnp.exp, x),
        {"jit(<lambda>)/cond/branch_0_fun/exp", "jit(<lambda>)/cond/branch_1_fun/scope/mul"},
    ),
    "call": (lambda x: arrax.jit(doubled)(x), {"jit(<lambda>)/jit(doubled)", "scope/mul"}),
    "call differentiated": (
        arrax.grad(lambda x: arrax.jit(doubled)(x)),
        {"jit(<lambda>)/transpose(jvp(jit(doubled)))"},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_operations_are_named_by_scopes_and_transformations(case):
    function, expected = CASES[case]
    found = names_of(function, 1.0)
    assert expected <= found, found


def test_names_reach_the_compiled_program_through_calls():
    def loss(x):
        return arrax.jit(doubled)(x).sum()

    found = compiled_names(arrax.grad(loss), jnp.ones(3))
    assert {"x", "jit(loss)/transpose(jvp(jit(doubled)))/scope/mul"} <= found, found


def test_names_of_an_inner_function_do_not_depend_on_where_it_was_traced_first():
    inner = arrax.jit(doubled)

    def first(x):
        with arrax.named_scope("a"):
            return inner(x)

    def second(x):
        with arrax.named_scope("b"):
            return inner(x)

    assert any("a/jit(doubled)/scope" in name for name in compiled_names(first, jnp.ones(3)))
    found = compiled_names(second, jnp.ones(3))
    assert any("b/jit(doubled)/scope" in name for name in found)
    assert not any("/a/" in name for name in found)


def test_operations_have_the_line_of_the_user_also_backwards_and_in_loops():
    def loss(x):
        for _ in range(2):
            x = jnp.sin(x)  # here
        return lax.fori_loop(0, 2, lambda i, y: y * 3.0, x)  # and here

    lines, first = inspect.getsourcelines(loss)
    wanted = {first + number for number, line in enumerate(lines) if "here" in line}
    text = arrax.jit(arrax.grad(loss)).lower(1.0).as_text(debug_info=True)
    found = {int(line) for line in re.findall(rf'loc\("{re.escape(FILE)}":(\d+):', text)}
    assert wanted <= found
    assert "arrax/numpy_api" not in text and "arrax/lax" not in text


def test_the_compiled_program_has_lines():
    text = arrax.jit(doubled).lower(jnp.ones(5)).compile().as_text()
    assert FILE in text and '"doubled"' in text and re.search(r"metadata=\{.*stack_frame_id=\d", text)


def test_frames_and_files_follow_the_options():
    def text():
        return arrax.jit(doubled).lower(jnp.ones(5)).as_text(debug_info=True)

    assert "callsite" in text()
    with config.include_full_tracebacks_in_locations(False):
        assert "callsite" not in text() and FILE in text()
    with config.traceback_in_locations_limit(1):
        assert "callsite" not in text()
    with config.hlo_source_file_canonicalization_regex(".*/"):
        assert FILE not in text() and 'loc("locations_test.py":' in text()


def test_plain_text_and_the_module_have_no_locations_until_asked_for():
    lowered = arrax.jit(doubled).lower(1.0)
    assert "loc(" not in lowered.as_text()
    assert "scope/mul" in lowered.as_text(debug_info=True)
    assert "loc(" not in lowered.as_text()
    assert 'op_name="jit(doubled)/scope/mul"' in lowered.as_text("hlo", debug_info=True)
    assert "op_name" not in lowered.as_text("hlo")


def test_the_same_program_from_another_line_is_not_compiled_again():
    def first(x):
        return arrax.jit(lambda x: jnp.tan(x) * 17.5)(x)

    def second(x):
        return arrax.jit(lambda x: jnp.tan(x) * 17.5)(x)

    with config.enable_compilation_cache(False):
        first(jnp.ones(7))
        misses = executables.misses
        second(jnp.ones(7))
        lowered = arrax.jit(lambda x: jnp.tan(x) * 17.5).lower(jnp.ones(7))
        lowered.compile()
        lowered.as_text(debug_info=True)
        lowered.compile()  # also where the locations have been put in
        assert executables.misses == misses
        with config.compilation_cache_include_metadata_in_key(True):
            arrax.jit(lambda x: jnp.tan(x) * 17.5)(jnp.ones(7))
        assert executables.misses == misses + 1


def test_dumped_programs_have_locations(tmp_path):
    with config.dump_ir_to(str(tmp_path)):
        arrax.jit(doubled)(jnp.ones(9))
    (path,) = tmp_path.glob("*doubled*")
    assert "jit(doubled)/scope/mul" in path.read_text() and FILE in path.read_text()


def test_rules_that_build_without_us_have_locations():
    halved_p = Primitive("halved")
    halved_p.def_abstract_eval(lambda x: x)

    def own(ctx, x):
        return [mlir.hlo.multiply(x, x)]

    mlir.register_lowering(halved_p, own)
    assert names_of(lambda x: jnp.sin(halved_p.bind(x)), 1.0) >= {"jit(<lambda>)/halved", "jit(<lambda>)/sin"}


def _without_rules():
    primitive = Primitive("bare")
    primitive.def_abstract_eval(lambda x: x)
    return primitive


@pytest.mark.parametrize("transformation", [lambda f: f, arrax.vmap, arrax.grad], ids=["lowering", "vmap", "grad"])
def test_errors_of_rules_name_the_line_of_the_operation(transformation):
    bare_p = _without_rules()

    @arrax.jit
    def function(x):
        return bare_p.bind(x) * 2  # the culprit

    lines, first = inspect.getsourcelines(function.__wrapped__)
    culprit = first + next(number for number, line in enumerate(lines) if "culprit" in line)
    argument = jnp.ones(3) if transformation is arrax.vmap else 1.0
    with pytest.raises(NotImplementedError) as caught:
        transformation(function)(argument)
    (note,) = [note for note in caught.value.__notes__ if "comes from line" in note]
    assert "bare" in note and f"{FILE}:{culprit} (function)" in note
    cause = caught.value.__cause__
    assert isinstance(cause, arrax.errors.JaxStackTraceBeforeTransformation)
    assert "culprit" in "".join(traceback.format_exception(cause))
    assert "preceding stack trace is the source" in str(cause)


def test_errors_of_transposition_name_the_line_of_the_operation():
    bare_p = _without_rules()
    bare_p.def_impl(lambda x: x)
    ad.primitive_jvps[bare_p] = lambda primals, tangents: (primals[0], bare_p.bind(tangents[0]))
    with pytest.raises(NotImplementedError, match="Transpose rule") as caught:
        arrax.grad(lambda x: bare_p.bind(x) * 2)(1.0)
    assert any("The operation bare comes from line" in note for note in caught.value.__notes__)


def test_an_error_with_a_cause_of_its_own_keeps_it():
    failing_p = _without_rules()
    own = ValueError("inner")

    def lowering(ctx, x):
        raise RuntimeError("outer") from own

    mlir.register_lowering(failing_p, lowering)
    with pytest.raises(RuntimeError, match="outer") as caught:
        arrax.jit(failing_p.bind)(1.0)
    assert caught.value.__cause__ is own


def test_eager_calls_of_the_library_are_compiled_without_names_and_found_by_others():
    with config.enable_compilation_cache(False):
        jnp.arctan(jnp.ones(11))
        assert "jit(arctan)/atan" in jnp.arctan.lower(jnp.ones(12)).compile().as_text()


def test_functions_of_the_library_have_names_but_no_lines_of_their_own():
    def solved(a):
        return jnp.linalg.solve(a, a[0])  # the call

    text = arrax.jit(solved).lower(jnp.eye(3)).as_text(debug_info=True)
    body = text[text.index("func.func private @permutation_of_pivots") :]
    inner = re.search(r"stablehlo.iota .* loc\((#loc\d+)\)", body)[1]
    assert f'{inner} = loc("iota")\n' in text
    instructions = read_hlo(arrax.jit(solved).lower(jnp.eye(3)).compile().as_text()).instructions()
    named = {one.op_name for one in instructions}
    assert any("lu_pivots_to_permutation/while/body/" in name for name in named), named


def test_traces_of_the_profiler_hold_names_and_files(tmp_path):
    with config.enable_compilation_cache(False):
        function = arrax.jit(arrax.grad(lambda x: wave(x).sum()))
        function(jnp.ones(13))
        with arrax.profiler.trace(tmp_path):
            function(jnp.ones(13)).block_until_ready()
    (path,) = tmp_path.rglob("*.xplane.pb")
    recorded = path.read_bytes()
    assert b"jit(<lambda>)/jvp(outer)/inner/cos" in recorded and FILE.encode() in recorded


def test_a_module_that_was_handed_out_can_be_changed_without_harm():
    lowered = arrax.jit(doubled).lower(jnp.ones(3))
    module = lowered.compiler_ir()
    assert "scope/mul" in module.operation.get_asm(enable_debug_info=True)
    body = module.body.operations[0].regions[0].blocks[0]
    body.operations[len(body.operations) - 1].operation.erase()
    assert lowered.compile()(jnp.ones(3)).shape == (3,) and "stablehlo.cosine" in lowered.as_text()
