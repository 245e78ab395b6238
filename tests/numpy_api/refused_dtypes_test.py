"""Dtypes that nothing is computed with: floats wider than double, and float0, the tangents of integers."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from tests.support import FOREIGN

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


def test_numbers_asked_for_as_float0_stay_on_the_host():
    made = (
        jnp.array(2.0, arrax.float0), jnp.asarray(np.ones(2), arrax.float0), jnp.eye(2, dtype=arrax.float0),
        jnp.arange(3, dtype=arrax.float0), jnp.linspace(0, 1, 3, dtype=arrax.float0), arrax.jit(lambda: jnp.array(2, arrax.float0))(),
    )  # fmt: skip
    assert all(value.dtype == arrax.float0 for value in made)
    with pytest.raises(TypeError, match="iota counts in .* float0"):
        lax.iota(arrax.float0, 3)


@pytest.mark.parametrize("dtype", ["U5", object, list, True, 7, "M8[s]"], ids=str)
def test_what_elements_cannot_have_is_refused_as_a_dtype(dtype):
    calls = (
        lambda d: lax.full((2,), 1, d), lambda d: lax.convert_element_type(jnp.ones(2), d), lambda d: lax.empty((2,), d),
        lambda d: lax.bitcast_convert_type(jnp.ones(2), d), lambda d: lax.iota(d, 3), lambda d: jnp.zeros(2, d),
        lambda d: lax.mul(1, 2, out_dtype=d),
    )  # fmt: skip
    for call in calls:
        with pytest.raises(TypeError, match="d.*type"):
            call(dtype)
    if not isinstance(dtype, int):
        with pytest.raises(TypeError, match="result_type"):
            jnp.result_type(dtype)


# ---- the other rooms, and shapes, axes and indices -------------------------------------------------------------------

MASKED = np.ma.array([1.0, 2.0, 3.0], mask=[0, 1, 0])
STRANGE = {
    "wide": pytest.param(WIDE, marks=wider), "none": NONE, "masked": MASKED, "object": np.array([1, 2.0, 3], object),
    "object of one": np.array(1, object), "texts": np.array(["a", "b", "c"]), "days": np.array(["2020-01-01"] * 3, "datetime64[D]"),
}  # fmt: skip
ROOMS = {
    "linalg": jnp.linalg,
    "fft": jnp.fft,
    "lax": lax,
    "nn": arrax.nn,
    "special": arrax.scipy.special,
    "random": arrax.random,
}


def public_functions(module):
    names = sorted(name for name in dir(module) if not name.startswith("_"))
    return {
        n: f for n in names if callable(f := getattr(module, n)) and not isinstance(f, type) and hasattr(f, "__name__")
    }


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("value", list(STRANGE.values()), ids=list(STRANGE))
@pytest.mark.parametrize("room", ROOMS)
def test_all_functions_take_such_arrays_or_refuse_them_clearly(room, value):
    for name, function in public_functions(ROOMS[room]).items():
        for arguments in ((value,), (value, value), (arrax.random.key(0), value), (np.ones((2, 2)), value)):
            try:
                function(*arguments)
            except (
                TypeError,
                ValueError,
                IndexError,
                NotImplementedError,
                BufferError,
                NameError,
                OverflowError,
            ) as error:
                assert not any(words in str(error) for words in FOREIGN), (name, str(error))


REFUSED_AS_INDICES = [
    MASKED.astype(int),
    np.ma.array(1, mask=True),
    np.zeros(2, arrax.float0),
    WIDE,
    np.array(["a"]),
    np.array(1.0),
]


@pytest.mark.parametrize("index", REFUSED_AS_INDICES, ids=lambda index: f"{type(index).__name__} {index.dtype}")
def test_arrays_that_are_no_indices_are_refused(index):
    x = jnp.arange(9.0).reshape(3, 3)
    for call in (
        lambda: x[index], lambda: x[:, index], lambda: x.at[index].set(0), lambda: arrax.jit(lambda x: x[index])(x),
        lambda: x.at[index].get(),
    ):  # fmt: skip
        with pytest.raises((TypeError, ValueError, IndexError)):
            call()


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: lax.rng_uniform(np.int8(0), np.int8(2), (3,)), TypeError, "rng_uniform does not accept dtype int8"),
        (lambda: lax.rng_uniform(True, False, (3,)), TypeError, "rng_uniform does not accept dtype bool"),
        (lambda: jnp.ldexp(jnp.ones(2, "float8_e8m0fnu"), 1), ValueError, "ldexp does not support float8_e8m0fnu"),
    ],
)
def test_dtypes_that_an_operation_cannot_be_compiled_for_are_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()


# fmt: off
OF_AN_AXIS = {
    "sum": jnp.sum, "max": jnp.max, "sort": jnp.sort, "cumsum": jnp.cumsum, "argmax": jnp.argmax, "flip": jnp.flip,
    "expand_dims": jnp.expand_dims, "mean": jnp.mean, "median": jnp.median, "any": jnp.any, "softmax": arrax.nn.softmax,
    "log_softmax": arrax.nn.log_softmax, "logsumexp": arrax.nn.logsumexp, "standardize": arrax.nn.standardize,
    "lax.cumsum": lax.cumsum, "lax.sort": lambda x, axis: lax.sort(x, dimension=axis), "fft": lambda x, axis: jnp.fft.fft(x, axis=axis),
    "norm": lambda x, axis: jnp.linalg.norm(x, axis=axis),
    "grad": lambda x, axis: arrax.grad(lambda a, b: (a + b * b).sum(), axis)(x, x),
    "jacrev": lambda x, axis: arrax.jacrev(lambda a, b: a + b * b, axis)(x, x),
    "rows": lambda x, n: jnp.split(x, n + 1), "shape": lambda x, n: jnp.zeros((n + 1, n)), "length": lambda x, n: jnp.zeros(n),
    "one_hot": lambda x, n: arrax.nn.one_hot(0, n + 1), "normal": lambda x, n: arrax.random.normal(arrax.random.key(0), (n + 1,)),
    "index": lambda x, n: x[n], "slice": lambda x, n: x[n:], "take": jnp.take, "roll": jnp.roll, "swapaxes": lambda x, n: jnp.swapaxes(x, n, 0),
}
# fmt: on


@pytest.mark.parametrize("name", OF_AN_AXIS)
def test_arrays_without_axes_are_axes_lengths_and_indices(name):
    x, function = jnp.arange(8.0).reshape(4, 2), OF_AN_AXIS[name]
    expected = arrax.tree.leaves(function(x, 1))
    for one in (np.array(1), np.int8(1), jnp.array(1)):
        for found, value in zip(arrax.tree.leaves(function(x, one)), expected, strict=True):
            np.testing.assert_array_equal(found, value)


def test_masks_are_left_out_by_copies_only():
    assert jnp.array(MASKED).tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="masked array"):
        jnp.asarray(MASKED)
