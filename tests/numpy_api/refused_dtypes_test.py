"""Dtypes that nothing is computed with: floats wider than double, and float0, the tangents of integers."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax

WIDE = np.ones(3, np.longdouble)
NONE = np.zeros(3, arrax.float0)
wider = pytest.mark.skipif(np.longdouble(1).itemsize <= 8, reason="long double is double here")
ARGUMENTS = [lambda v: (v,), lambda v: (v, v), lambda v: ([v, v],), lambda v: (v, 1)]
CHANGING = {"set_printoptions", "printoptions", "save", "savez", "load", "fromfile"}
FUNCTIONS = [
    name
    for name in sorted(set(dir(jnp)) - CHANGING)
    if not name.startswith("_") and callable(getattr(jnp, name)) and not isinstance(getattr(jnp, name), type)
]


@wider
@pytest.mark.parametrize("value", [WIDE, WIDE + 1j, WIDE[0]], ids=["float", "complex", "scalar"])
def test_floats_wider_than_double_are_refused_by_their_dtype(value):
    calls = (
        jnp.asarray, jnp.sin, jnp.sort, lambda v: jnp.ones(3) + v, lambda v: jnp.array([v, v]), arrax.device_put, lax.neg,
        lambda v: jnp.ones(3).at[:].set(v), arrax.jit(lambda v: v), jnp.concatenate if value.ndim else jnp.ravel,
    )  # fmt: skip
    for call in calls:
        with pytest.raises(TypeError, match="longdouble|float128|complex256|clongdouble"):
            call([value] if call is jnp.concatenate else value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("value", [pytest.param(WIDE, marks=wider), NONE], ids=["wide", "none"])
def test_functions_take_such_arrays_or_refuse_them_clearly(value):
    for name in FUNCTIONS:
        for arguments in ARGUMENTS:
            try:
                getattr(jnp, name)(*arguments(value))
            except (TypeError, ValueError, IndexError, NotImplementedError, BufferError):
                pass


def test_float0_is_made_kept_and_moved_but_not_computed_with():
    assert jnp.asarray(NONE).dtype == jnp.array([NONE, NONE]).dtype == jnp.zeros_like(NONE).dtype == arrax.float0
    assert jnp.array([NONE, NONE]).shape == (2, 3) and arrax.jit(lambda x: x)(NONE).dtype == arrax.float0
    assert jnp.array_repr(NONE) == repr(NONE)
    assert arrax.grad(lambda x: 1.0, allow_int=True)(jnp.arange(3)).dtype == arrax.float0
    for call in (lambda v: lax.add(v, v), lambda v: jnp.ones(3) + v, jnp.sum, jnp.ones(3).at[:].set):
        with pytest.raises(TypeError, match="float0"):
            call(NONE)
