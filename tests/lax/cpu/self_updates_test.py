"""Arrays that are written to with values computed from other parts of themselves."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from tests.lax.cpu.routes import EVERY, FLOAT8, awkward, formed_text, lowered_text
from tests.support import x64_for

X = np.array([0.75, 0.5, 0.25, 0.125], np.float32)


def numpy_update(change):
    x = X.copy()
    change(x)
    return x


# fmt: off
UPDATES = {  # name: (of an array, the same in NumPy)
    "shifted":           (lambda v: v.at[1:].set(v[:-1]),                   lambda v: v.__setitem__(slice(1, None), v[:-1].copy())),
    "shifted, added":    (lambda v: v.at[1:].add(v[:-1]),                   lambda v: v.__setitem__(slice(1, None), v[1:] + v[:-1])),
    "by an element":     (lambda v: v.at[1:].multiply(v[1]),                lambda v: v.__setitem__(slice(1, None), v[1:] * v[1])),
    "minus an element":  (lambda v: v.at[1:].set(v[1:] - v[1]),             lambda v: v.__setitem__(slice(1, None), v[1:] - v[1])),
    "by the sum":        (lambda v: v.at[1:].set(v[1:] * v.sum()),          lambda v: v.__setitem__(slice(1, None), v[1:] * v.sum())),
    "reversed":          (lambda v: v.at[1:].set(v[1:][::-1]),              lambda v: v.__setitem__(slice(1, None), v[1:][::-1].copy())),
    "of a matrix":       (lambda v: v.reshape(2, 2).at[1].set(v[1:3]).ravel(), lambda v: v.__setitem__(slice(2, None), v[1:3].copy())),
    "at a traced place": (lambda v: lax.dynamic_update_slice(v, v[:3], (jnp.argmin(v) - 2,)),
                          lambda v: v.__setitem__(slice(1, None), v[:-1].copy())),
}
USES = {
    "reshaped":           lambda f: arrax.jit(lambda v: f(v)[None])(X)[0],
    "as a matrix":        lambda f: arrax.jit(lambda v: f(v).reshape(2, 2))(X).ravel(),
    "stacked by a loop":  lambda f: lax.scan(lambda c, _: (c, f(jnp.asarray(X))), 0.0, None, length=2)[1][1],
    "carried by a loop":  lambda f: lax.fori_loop(0, 1, lambda i, v: f(v.reshape(4))[None], X[None])[0],
    "mapped":             lambda f: arrax.jit(arrax.vmap(f))(np.stack([X, X]))[1],
    "from a computation": lambda f: arrax.jit(lambda v: f(v * 2 - v)[None])(X)[0],
}
# fmt: on


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("update", UPDATES)
def test_what_is_read_is_what_was_there_before(update, use):
    function, change = UPDATES[update]
    np.testing.assert_allclose(USES[use](function), numpy_update(change), rtol=1e-6)


@pytest.mark.parametrize(
    ("function", "separated"),
    [
        (lambda v: v.at[1:].set(v[:-1]), True),
        (lambda v: v.at[1:].multiply(v[1]), True),
        (lambda v: v.at[1:].set(jnp.cumsum(v[1:])), True),
        (lambda v: v.at[1:].multiply(2), False),
        (lambda v: v.at[1:].set(jnp.sin(v[1:]) + v[1:]), False),
        (lambda v: v.at[1:].set(0), False),
        (lambda v: lax.dynamic_update_slice(v, v * 2, (0,)), False),
    ],
)
def test_only_values_from_other_places_need_a_barrier(function, separated):
    assert ("optimization_barrier" in lowered_text(function, X)) == separated


@pytest.mark.parametrize(
    "inside",
    [
        arrax.jit,
        arrax.checkpoint,
        lambda f: lambda a, u: lax.cond(a[0] > 0, f, lambda a, u: a, a, u),
        lambda f: lambda a, u: lax.scan(lambda c, _: (c, f(a, u)), 0.0, None, length=2)[1][1],
    ],
    ids=["jit", "checkpoint", "cond", "scan"],
)
def test_an_array_and_parts_of_it_may_be_arguments_of_a_part_of_the_program(inside):
    shifted = inside(lambda array, update: array.at[1:].set(update))
    found = arrax.jit(lambda v: shifted(v, v[:-1])[None])(X)
    np.testing.assert_array_equal(found[0], [X[0], *X[:-1]])


# ---- most of an array -------------------------------------------------------------------------------------------------


def inner(x, low=1, high=1):
    return tuple(slice(low, n - high) for n in x.shape)


def neighbours(x):
    """The sum of all neighbours of the elements inside an array."""
    parts = [
        inner(x)[:axis] + (side,) + inner(x)[axis + 1 :]
        for axis in range(x.ndim)
        for side in (slice(2, None), slice(-2))
    ]
    return sum(x[part] for part in parts)


STENCILS = {  # of a library and an array: the new array
    "set": lambda x: (inner(x), neighbours(x)),
    "set behind the first": lambda x: (inner(x, 1, 0), x[inner(x, 0, 1)] * 2),
    "set before the last": lambda x: (inner(x, 0, 1), x[inner(x, 1, 0)] - 1),
    "along one axis": lambda x: ((Ellipsis, slice(2, -1)), x[..., :-3] + x[..., 3:]),
    "all": lambda x: (Ellipsis, x[::-1]),
}


@pytest.mark.parametrize("shape", [(9,), (7, 8), (9, 10, 11)], ids=str)
@pytest.mark.parametrize("name", STENCILS)
@pytest.mark.parametrize("method", ["set", "add"])
def test_a_step_of_a_stencil_is_put_together(name, shape, method):
    def step(x):
        place, values = STENCILS[name](x)
        return getattr(x.at[place], method)(values)

    x = np.random.default_rng(0).integers(-9, 9, shape).astype(np.float32)
    place, values = STENCILS[name](x)
    right = x.copy()
    right[place] = x[place] + values if method == "add" else values
    np.testing.assert_array_equal(arrax.jit(step)(x), right)
    np.testing.assert_array_equal(lax.scan(lambda c, _: (step(c), None), x, None, 1)[0], right)
    assert "dynamic_update_slice" not in formed_text(step, x)


@pytest.mark.parametrize("dtype", [dtype for dtype in EVERY if dtype not in FLOAT8], ids=str)
def test_what_is_put_together_keeps_its_bits(dtype):
    x = awkward(dtype, (6, 7))
    right = x.copy()
    right[1:-1, 1:] = x[:-2, :-1]
    with x64_for(x.dtype):
        out = arrax.jit(lambda x: x.at[1:-1, 1:].set(x[:-2, :-1]))(x)
    assert out.dtype == dtype
    np.testing.assert_array_equal(np.asarray(out).view(np.uint8), right.view(np.uint8))


def test_steps_one_after_the_other_are_loops_of_their_own():
    def steps(x):
        for _ in range(3):
            x = x.at[inner(x)].set(neighbours(x))
        return x

    x = np.arange(63.0, dtype=np.float32).reshape(7, 9)
    right = x.copy()
    for _ in range(3):
        right[inner(x)] = neighbours(right.copy())
    np.testing.assert_array_equal(arrax.jit(steps)(x), right)
    assert formed_text(steps, x).count("optimization_barrier") == 3


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.at[:2].set(x[1:3]),  # a small part
        lambda x: x.at[1:, 1:].add(x[1:, :1] * x[:1, 1:]),  # of few elements of the array
        lambda x: x.at[1:].set(jnp.cumsum(x[:-1], axis=0)),  # in a loop of its own
        lambda x: lax.dynamic_update_slice(x, x[:-1], (jnp.argmax(x[0]), 0)),  # at a place that is data
        lambda x: x.at[1:].set(x[1:] * 2),  # from the same places
    ],
    ids=["small", "few", "cumulative", "data", "same"],
)
def test_other_writes_are_in_place(function):
    text = formed_text(function, np.ones((8, 9), np.float32))
    assert "dynamic_update_slice" in text or "dynamic_add_slice" in text
