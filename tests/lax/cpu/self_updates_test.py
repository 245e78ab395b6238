"""Arrays that are written to with values computed from other parts of themselves."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from tests.lax.cpu.routes import lowered_text

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
