"""The contract for numbers: the value at an element depends on the function, its operands there and the dtype, on nothing else."""

import math

import ml_dtypes
import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax, nn
from tests.support import x64_for

RNG = np.random.default_rng(0)
SIZE = 40_000  # more elements than any threshold
SMALL_SIZES = (3, 7, 999)
FLOATS = [np.float32, ml_dtypes.bfloat16, np.float16, np.float64]

ANY = 3 * RNG.standard_normal(SIZE)
POSITIVE = np.abs(ANY) + 1e-2
UNIT = RNG.uniform(-0.99, 0.99, SIZE)

# fmt: off
UNARY = {
    **{getattr(lax, name): ANY for name in (
        "sin cos tan atan sinh cosh tanh asinh exp exp2 expm1 logistic erf erfc cbrt bessel_i0e bessel_i1e neg sign floor ceil "
        "round abs is_finite square").split()},
    **{getattr(lax, name): POSITIVE for name in "log log1p sqrt rsqrt digamma lgamma reciprocal".split()},
    **{getattr(lax, name): UNIT for name in "asin acos atanh erf_inv".split()},
    **{getattr(jnp, name): POSITIVE for name in "log2 log10 sinc i0 arccosh".split()},
    **{getattr(nn, name): ANY for name in "relu gelu silu softplus log_sigmoid elu selu mish celu hard_tanh".split()},
}
BINARY = {getattr(jnp, name): (POSITIVE, POSITIVE[::-1]) for name in (
    "add subtract multiply divide maximum power hypot arctan2 logaddexp logaddexp2 mod fmod floor_divide").split()}
# fmt: on


def functions(x, y, unit, other):
    """Every function of the tables, by the sets of numbers that they take."""
    operands = {id(ANY): x, id(POSITIVE): y, id(UNIT): unit}
    found = [f(operands[id(domain)]) for f, domain in UNARY.items()]
    return found + [f(y, other) for f in BINARY]


NAMES = [f.__name__ for f in (*UNARY, *BINARY)]


def alone(operands):
    """Each function as the only one of a compiled program."""
    x, y, unit, other = operands
    by_domain = {id(ANY): x, id(POSITIVE): y, id(UNIT): unit}
    found = [arrax.jit(lambda v, f=f: f(v))(by_domain[id(domain)]) for f, domain in UNARY.items()]
    return found + [arrax.jit(lambda v, w, f=f: f(v, w))(y, other) for f in BINARY]


def contexts(operands):
    """(name of a context, the functions' values in it) for all contexts."""
    together, mapped = arrax.jit(functions), arrax.jit(lambda *v: lax.map(lambda row: functions(*row), v))
    rows = [v.reshape(40, -1) for v in operands]
    one = jnp.ones((), operands[0].dtype)
    yield "beside the others", together(*operands)
    yield "eagerly", functions(*operands)
    yield "mapped", arrax.jit(arrax.vmap(functions))(*rows)
    yield "mapped over columns", arrax.jit(arrax.vmap(functions, in_axes=1))(*(v.T for v in rows))
    yield "row by row", mapped(*rows)
    yield "number by number", mapped(*(v[:300] for v in operands))
    yield "of computed operands", arrax.jit(lambda one, *v: functions(*(x * one for x in v)))(one, *operands)
    yield "as primals", arrax.jit(lambda *v: arrax.jvp(functions, v, v)[0])(*operands)
    given = [np.asarray(v[:1000]) for v in operands]
    yield "of arrays of NumPy that are closed over", arrax.jit(lambda: functions(*given))()
    for size in SMALL_SIZES:
        yield f"of {size} elements", together(*(v[:size] for v in operands))
    yield "of 7 elements, eagerly", functions(*(v[:7] for v in operands))


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: np.dtype(dtype).name)
def test_a_function_has_the_same_bits_in_every_context(dtype):
    with x64_for(np.dtype(dtype)):
        operands = [jnp.asarray(v.astype(dtype)) for v in (ANY, POSITIVE, UNIT, POSITIVE[::-1])]
        expected = [np.asarray(out) for out in alone(operands)]
        differing = {
            (name, context): int((bits(out) != bits(value.ravel()[: np.size(out)])).sum())
            for context, outs in contexts(operands)
            for name, out, value in zip(NAMES, map(np.asarray, outs), expected, strict=True)
            if not np.array_equal(bits(out), bits(value.ravel()[: out.size]))
        }
    assert [] == [(*key, count) for key, count in differing.items()]


def bits(x):
    x = np.asarray(x).ravel()
    return x.view(f"u{x.itemsize}")


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: np.dtype(dtype).name)
def test_quotients_are_exact_whatever_computes_or_shares_their_operands(dtype):
    x, y, z = (RNG.uniform(1, 2, (20, 50)).astype(dtype) for _ in range(3))
    row, three = y[:1], np.asarray(3, dtype)
    programs = {
        "shared by all": (lambda x, three: x / three, (x, three), x / three),
        "a number": (lambda x: x / 3, (x,), x / three),
        "shared by rows": (lambda x, row: x / row, (x, row), x / row),
        "mapped": (arrax.vmap(lambda x, value: x / value), (x, y[:, 0]), x / y[:, :1]),
        "of a quotient": (lambda x, y, z: x / y / z, (x, y, z), x / y / z),
        "by a quotient": (lambda x, y, z: x / (y / z), (x, y, z), x / (y / z)),
        "by a root": (lambda x, y: x / jnp.sqrt(y), (x, y), x / np.sqrt(y)),
    }
    with x64_for(dtype):
        for name, (program, operands, exact) in programs.items():
            result = np.asarray(arrax.jit(program)(*operands))
            assert result.dtype == exact.dtype and (result == exact).all(), name


def test_quotients_by_large_numbers_are_not_zero():
    x = np.full(9, 1e38, np.float32)
    assert (arrax.jit(lambda x: x / np.float32(2e38))(x) == 0.5).all()


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: np.dtype(dtype).name)
def test_quotients_by_powers_of_two_are_products(dtype):
    tiny, huge = (float(value) for value in (jnp.finfo(dtype).smallest_normal, jnp.finfo(dtype).max))
    x = np.array([0.0, -0.0, 1.0, 3.0, tiny, -huge, np.inf, np.nan, *RNG.uniform(-9, 9, 50)]).astype(dtype)
    with x64_for(dtype):
        for divisor in (2.0, -4.0, 0.125, 1024.0):
            lowered = arrax.jit(lambda x, divisor=divisor: x / divisor).lower(x)
            assert "= mul" in lowered.as_text("jaxpr")
            np.testing.assert_array_equal(
                bits(lowered.compile()(x)), bits(arrax.jit(lambda x, y: x / y)(x, np.asarray(divisor, dtype)))
            )
        great = 2.0 ** (math.frexp(huge)[1] - 1)  # whose inverse is no normal number
        assert "= div" in arrax.jit(lambda x: x / great).lower(x).as_text("jaxpr")


def test_quotients_of_numbers_are_numbers():
    lowered = arrax.jit(arrax.grad(jnp.mean)).lower(np.ones(7, np.float32))
    assert (
        "div" not in lowered.as_text("jaxpr")
        and (lowered.compile()(np.ones(7, np.float32)) == np.float32(1) / np.float32(7)).all()
    )


def test_quotients_of_numbers_have_the_dtype_of_their_own_program():
    def quotients(x):
        return x * lax.div(jnp.asarray(3.0, x.dtype), jnp.asarray(2.0, x.dtype)), x / 2

    with arrax.enable_x64(True):
        for dtype in (np.float32, np.float64, np.float32):
            for result, exact in zip(arrax.jit(quotients)(np.ones(3, dtype)), (1.5, 0.5), strict=True):
                assert result.dtype == dtype and (result == exact).all()
