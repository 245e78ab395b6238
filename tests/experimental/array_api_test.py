"""The stricter namespace: the array API standard and nothing beyond. (Its signatures and dtypes: tests/conformance.)"""

import array_api_strict as strict
import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.experimental import array_api as xp

INTS, FLOATS, BOOLS = jnp.arange(3), jnp.arange(3.0), jnp.array([True, False, True])


def test_it_has_every_name_of_the_standard():
    own = {"set_array_api_strict_flags", "get_array_api_strict_flags", "reset_array_api_strict_flags"}
    own |= {"ArrayAPIStrictFlags", "__version__", "ALL_DEVICES", "Device", "__array_api_version__"}
    assert [name for name in strict.__all__ if name not in own and not hasattr(xp, name)] == []
    assert [name for name in strict.linalg.__all__ if not hasattr(xp.linalg, name)] == []
    assert [name for name in strict.fft.__all__ if not hasattr(xp.fft, name)] == []


def test_the_example_of_the_documentation():
    array = xp.arange(1000)
    assert array.sum() == 499500 and array.dtype == xp.int32
    assert xp.sum(array) == 499500


# fmt: off
REFUSED = {  # what the standard does not have: (call, words of the message)
    "integers in sin":      (lambda: xp.sin(INTS), "sin: only floating-point dtypes"),
    "bools in add":         (lambda: xp.add(BOOLS, BOOLS), "add: only numeric dtypes"),
    "mixed kinds":          (lambda: xp.add(INTS, FLOATS), "does not promote int32, float32"),
    "float beside ints":    (lambda: xp.multiply(INTS, 1.5), "1.5 cannot stand beside an array of dtype int32"),
    "int beside bools":     (lambda: xp.logical_or(BOOLS, 1), "1 cannot stand beside"),
    "two numbers":          (lambda: xp.add(1, 2), "at least one operand must be an array"),
    "NumPy arrays":         (lambda: xp.exp(np.ones(2)), "asks for arrays, got ndarray"),
    "a positional axis":    (lambda: xp.sum(FLOATS, 0), "positional"),
    "an unknown argument":  (lambda: xp.sum(FLOATS, where=BOOLS), "unexpected keyword"),
    "bfloat16":             (lambda: xp.zeros(2, dtype="bfloat16"), "no dtype bfloat16"),
    "arrays of bfloat16":   (lambda: xp.exp(jnp.ones(2, "bfloat16")), "got bfloat16"),
    "complex to real":      (lambda: xp.astype(jnp.ones(2, "complex64"), xp.float32), "does not cast"),
    "joined kinds":         (lambda: xp.concat([INTS, FLOATS]), "does not promote"),
    "take without axis":    (lambda: xp.take(jnp.ones((2, 2)), INTS), "axis is required"),
    "means of integers":    (lambda: xp.mean(INTS), "mean: only floating-point"),
    "solving mixed kinds":  (lambda: xp.linalg.solve(jnp.eye(3), INTS), "solve: only floating-point"),
    "fft of real numbers":  (lambda: xp.fft.fft(FLOATS), "fft: only complex floating-point"),
    "number kinds":         (lambda: xp.result_type(1, 2.0), "at least one array or dtype"),
    "clip to other kinds":  (lambda: xp.clip(INTS, 0.5), "0.5 cannot stand beside"),
    "where of no mask":     (lambda: xp.where(INTS, INTS, INTS), "where: only boolean"),
}
# fmt: on


@pytest.mark.parametrize("case", REFUSED)
def test_it_refuses(case):
    call, words = REFUSED[case]
    with pytest.raises(TypeError, match=words):
        call()


# fmt: off
SERVED = {  # call: the same in array-api-strict
    "add":          lambda np: np.add(np.arange(3), 2),
    "pow":          lambda np: np.pow(np.arange(3, dtype=np.float32), 2.0),
    "clip":         lambda np: np.clip(np.arange(5), 1, 3),
    "concat":       lambda np: np.concat([np.arange(2), np.arange(3)]),
    "stack":        lambda np: np.stack([np.arange(2), np.arange(2)], axis=1),
    "take":         lambda np: np.take(np.arange(4), np.asarray([3, 0])),
    "take_along":   lambda np: np.take_along_axis(np.reshape(np.arange(4), (2, 2)), np.asarray([[1], [0]]), axis=1),
    "searchsorted": lambda np: np.searchsorted(np.arange(4), np.asarray([2, 9]), side="right"),
    "where":        lambda np: np.where(np.arange(3) > 1, np.arange(3), 7),
    "isin":         lambda np: np.isin(np.arange(3), np.asarray([1])),
    "sort":         lambda np: np.sort(np.asarray([2, 3, 1]), descending=True),
    "nonzero":      lambda np: np.nonzero(np.arange(3))[0],
    "meshgrid":     lambda np: np.meshgrid(np.arange(2), np.arange(3))[1],
    "astype":       lambda np: np.astype(np.arange(3), np.float32),
    "unique":       lambda np: np.unique_counts(np.asarray([2, 1, 2])).counts,
    "solve":        lambda np: np.linalg.solve(np.eye(2, dtype=np.float32) * 2, np.ones((2, 1), dtype=np.float32)),
    "det":          lambda np: np.linalg.det(np.eye(3, dtype=np.float32)),
    "vecdot":       lambda np: np.vecdot(np.arange(3), np.arange(3)),
    "rfft":         lambda np: np.fft.rfft(np.arange(4, dtype=np.float32)),
    "cumulative":   lambda np: np.cumulative_sum(np.arange(3), include_initial=True),
    "full_like":    lambda np: np.full_like(np.arange(3), 2),
    "broadcast":    lambda np: np.broadcast_arrays(np.arange(3), np.asarray(1))[1],
    "can_cast":     lambda np: np.asarray([np.can_cast(np.int8, np.int16), np.can_cast(np.uint8, np.int8)]),
    "isdtype":      lambda np: np.asarray(np.isdtype(np.float32, ("integral", "real floating"))),
}
# fmt: on


@pytest.mark.parametrize("case", SERVED)
def test_it_serves(case):
    np.testing.assert_allclose(np.asarray(SERVED[case](xp)), np.asarray(SERVED[case](strict)), rtol=1e-5, atol=1e-6)


def test_functions_compile_and_differentiate():
    assert arrax.jit(lambda x: xp.sum(xp.square(x)))(FLOATS) == 5
    np.testing.assert_array_equal(arrax.grad(lambda x: xp.sum(xp.square(x)))(FLOATS), 2 * FLOATS)
