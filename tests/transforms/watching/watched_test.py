"""Watched functions: which values are recorded, what is told of them, and that results stay."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.debug import watch

X, TWO = np.arange(1, 4, dtype=np.float32), np.float32(2)


@arrax.jit
def layer(w, x):
    with arrax.named_scope("encoder"):
        h = jnp.tanh(w * x)
    with arrax.named_scope("head"):
        return jnp.log(h).sum()


def model(w, x):
    y = lax.scan(lambda c, _: (c + layer(w, c), c.max()), x, None, length=3)[0]
    return lax.cond(y.sum() > 100, jnp.sin, jnp.cos, y).sum()


def names(watched):
    return [str(place) for place in watched.places]


# fmt: off
SELECTIONS = {  # patterns, and places of ``model`` that they match
    "encoder":          ["scan/jit(layer)/encoder/mul", "scan/jit(layer)/encoder/tanh"],
    "encoder/tanh":     ["scan/jit(layer)/encoder/tanh"],
    "e*/t?nh":          ["scan/jit(layer)/encoder/tanh"],
    "head":             ["scan/jit(layer)/head/log", "scan/jit(layer)/head/reduce_sum"],
    "layer/head/log":   ["scan/jit(layer)/head/log"],
    "reduce_max":       ["scan/reduce_max"],
    "cos":              ["cond_0/cos"],
    "cond_1":           ["cond_1/sin"],
    f"watched_test.py:{layer.__wrapped__.__code__.co_firstlineno + 3}": ["scan/jit(layer)/encoder/mul", "scan/jit(layer)/encoder/tanh"],
    "nothing":          [],
}
# fmt: on


@pytest.mark.parametrize("pattern", SELECTIONS)
def test_values_are_chosen_by_scope_operation_and_line(pattern):
    watched = watch(model, pattern)
    np.testing.assert_allclose(watched(TWO, X), model(TWO, X), rtol=1e-6)
    assert names(watched) == SELECTIONS[pattern]


def test_values_are_chosen_by_equation_and_by_default_all_floating_ones():
    watched = watch(model, lambda eqn: eqn.primitive.name == "gt", "head/log")
    watched(TWO, X)
    assert names(watched) == ["scan/jit(layer)/head/log", "gt"]
    everything = watch(model)
    everything(TWO, X)
    assert {"scan", "scan[1]", "cond", "scan/jit(layer)", "reduce_sum"} < {*names(everything)}
    assert "gt" not in names(everything)
    assert [place.number for place in everything.places] == [*range(len(everything.places))]


# fmt: off
ARRAYS = {  # an array and (least, greatest, mean, NaNs, infinities)
    "plain":     (np.array([1, -2, 4], np.float32), (-2, 4, 1, 0, 0)),
    "special":   (np.array([np.nan, np.inf, -np.inf, 3, 5], np.float32), (3, 5, 4, 1, 2)),
    "no finite": (np.array([np.nan, np.inf], np.float32), (np.nan, np.nan, np.nan, 1, 1)),
    "empty":     (np.zeros((0, 2), np.float32), (np.nan, np.nan, np.nan, 0, 0)),
    "matrix":    (np.arange(6, dtype=np.float32).reshape(2, 3), (0, 5, 2.5, 0, 0)),
    "scalar":    (np.float32(2.5), (2.5, 2.5, 2.5, 0, 0)),
    "int":       (np.array([3, -1], np.int8), (-1, 3, 1, 0, 0)),
    "bool":      (np.array([True, False]), (0, 1, 0.5, 0, 0)),
    "unsigned":  (np.array([250, 0], np.uint8), (0, 250, 125, 0, 0)),
    "half":      (np.array([1, np.nan], np.float16), (1, 1, 1, 1, 0)),
    "bfloat16":  (np.array([1, 3], jnp.bfloat16), (1, 3, 2, 0, 0)),
    "complex":   (np.array([3 + 4j, complex(np.nan, 0)], np.complex64), (5, 5, 5, 1, 0)),
}
# fmt: on


@pytest.mark.parametrize("name", ARRAYS)
def test_statistics(name):
    array, expected = ARRAYS[name]
    watched = watch(lambda x: lax.rev(x, (0,)) if x.ndim else lax.expand_dims(x, (0,)), "*", values=True)
    watched(array)
    sample = watched.samples[-1]
    np.testing.assert_allclose((sample.min, sample.max, sample.mean, sample.nans, sample.infs), expected)
    assert sample.size == array.size and sample.is_finite == (sample.nans + sample.infs == 0)
    assert sample.value.dtype == array.dtype
    np.testing.assert_array_equal(sample.value, array[::-1] if array.ndim else array[None])


def test_double_precision_is_kept():
    with arrax.enable_x64(True):
        watched = watch(lambda x: x + 1.0, "add")
        watched(np.float64(1e-12))
        assert watched.samples[0].max == 1.0 + 1e-12


def test_samples_come_in_the_order_of_the_program_call_by_call():
    watched = watch(model, "encoder/tanh", "scan/reduce_max", "cond")
    for n in range(2):
        watched(TWO, X + n)
    found = [(sample.call, sample.step, sample.place.name.split("/")[-1]) for sample in watched.samples]
    one_call = [(step, name) for step in range(3) for name in ("tanh", "reduce_max")] + [(0, "cond")]
    assert found == [(call, *rest) for call in range(2) for rest in one_call]
    assert watched.calls == 2 and [sample.max for sample in watched.of("reduce_max")][::3] == [3, 4]
    assert len(watched.of("watched_test.py")) == len(watched.samples) == len(list(watched))
    watched.clear()
    assert watched.samples == []


def test_the_first_bad_value_is_the_first_that_the_program_came_by():
    def f(x):
        x = lax.fori_loop(0, 4, lambda i, x: jnp.where(i == 2, jnp.log(-x), x + 1), x)
        return x * 2

    watched = watch(arrax.jit(f))
    watched(1.0)
    bad = watched.first_bad()
    assert (bad.place.name.split("/")[-1], bad.step, bad.nans) == ("log", 0, 1)
    assert watch(f, "mul").first_bad() is None


# fmt: off
TRANSFORMATIONS = {  # a call of a watched function, and how many samples there are of its sine
    "jit":        (lambda f: arrax.jit(f)(X), 1),
    "vmap":       (lambda f: arrax.vmap(f)(X), 3),
    "grad":       (lambda f: arrax.grad(lambda x: f(x).sum())(X), 1),
    "scan":       (lambda f: lax.scan(lambda c, x: (c, f(x)), 0, X), 3),
    "while":      (lambda f: lax.while_loop(lambda x: (x > 0.5).all(), f, X), 1),
    "checkpoint": (lambda f: arrax.checkpoint(f)(X), 1),
    "eval_shape": (lambda f: arrax.eval_shape(f, X), 0),
}
# fmt: on


@pytest.mark.parametrize("name", TRANSFORMATIONS)
def test_watched_functions_are_transformed_as_others(name):
    call, count = TRANSFORMATIONS[name]
    plain = lambda x: jnp.sin(x) / 2  # noqa: E731
    watched = watch(plain, "sin")
    arrax.tree.map(np.testing.assert_allclose, *map(arrax.tree.leaves, (call(watched), call(plain)))) if count else 0
    assert len(watched.samples) == count


own_rule = arrax.custom_jvp(lambda x: jnp.sin(x))
own_rule.defjvp(lambda primals, tangents: (own_rule(*primals), tangents[0]))


# fmt: off
WATCHED = {  # a function with a transformation inside, and how many samples there are of its sine
    "vmap":       (arrax.vmap(jnp.sin), 1),
    "grad":       (lambda x: arrax.grad(lambda x: jnp.sin(x).sum())(x), 1),
    "value too":  (lambda x: arrax.value_and_grad(lambda x: jnp.sin(x).sum())(x), 1),
    "checkpoint": (arrax.checkpoint(jnp.sin), 1),
    "map":        (lambda x: lax.map(jnp.sin, x), 3),
    "while":      (lambda x: lax.while_loop(lambda x: x.sum() > 2, jnp.sin, x), 1),
    "condition":  (lambda x: lax.while_loop(lambda x: jnp.sin(x).sum() > 0, lambda x: x + 1, x), 3),
    "custom":     (lambda x: arrax.nn.relu(jnp.sin(x)), 1),
    "custom_jvp": (own_rule, 1),
    "solve":      (lambda x: lax.custom_root(lambda y: y - jnp.sin(x), x, lambda f, y: y - f(y), lambda g, y: y), 0),  # is not
    "sort":       (lambda x: jnp.sort(jnp.sin(x)), 1),
}
# fmt: on


@pytest.mark.parametrize("name", WATCHED)
def test_programs_inside_are_looked_into(name):
    function, count = WATCHED[name]
    watched = watch(function, "sin")
    arrax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), watched(X), function(X))
    assert len(watched.samples) == count


def test_static_arguments_structures_and_closures_stay():
    scale = jnp.float32(3)

    @arrax.jit
    def f(x, *, y, power=2):
        return {"a": (x["k"] * scale) ** power, "b": y}

    g = arrax.jit(f.__wrapped__, static_argnames="power", donate_argnums=0)
    watched = watch(g, "mul", "integer_pow")
    x = jnp.float32(2)
    found = watched({"k": x}, y=1, power=3)
    assert found == {"a": 216, "b": 1} and not x.is_deleted()
    assert watched.__name__ == "f" and len(watched.places) == 2
    assert watched({"k": jnp.ones(2)}, y=1)["a"].shape == (2,)  # another signature
    assert {sample.place.type for sample in watched.samples} == {"f32[]", "f32[2]"}


def test_the_table_has_a_line_for_each_place():
    watched = watch(model, "encoder/tanh", "reduce_max")
    watched(0.0, X)
    lines = watched.table().splitlines()
    assert lines[0].split() == ["place", "type", "times", "min", "max", "mean", "nan", "inf", "line"]
    assert lines[1].split()[:3] == ["scan/jit(layer)/encoder/tanh", "f32[3]", "3"] and lines[1].endswith("(layer)")
    assert "watched_test.py:" in lines[1] and len(lines) == 3 and str(watched) == watched.table()


def test_a_failing_call_leaves_the_function_usable():
    def f(x, fails):
        arrax.debug.callback(lambda fails: 1 / 0 if fails else None, fails)
        return jnp.sin(x)

    watched = watch(f, "sin")
    with pytest.raises(ZeroDivisionError):
        watched(1.0, True)
    watched.clear()
    watched(1.0, False)
    assert len(watched.samples) == 1


def test_misuse():
    with pytest.raises(TypeError, match="argument fun: must be callable, got 3"):
        watch(3)
    with pytest.raises(TypeError, match="patterns must be texts or functions of an equation, got 3"):
        watch(model, 3)
