"""Random expressions that calculate: elementwise functions, reductions, scans."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import arrax.numpy as jnp
from tests.numpy_api.agreement.expressions import ALL, COMPLEX, FLOATS, INTEGERS, REAL, SIGNED, Draw, Expression, call

# fmt: off
UNARY = {  # the dtypes that each takes
    ALL: "abs absolute cos exp imag iscomplex isfinite isinf isnan isreal logical_not positive real "
         "sin tanh sqrt angle".split(),
    (*FLOATS, *COMPLEX): "cosh sinh log negative sign expm1 log1p exp2 log2 log10 reciprocal arctan arcsinh tan".split(),
    REAL: "arccos arcsin arccosh arctanh cbrt ceil deg2rad degrees fabs floor i0 isneginf isposinf rad2deg radians "
          "rint signbit sinc trunc nan_to_num".split(),
    FLOATS: "modf frexp spacing fix".split(),
    (*INTEGERS, *FLOATS, *COMPLEX): "conj conjugate square".split(),  # NumPy makes integers of bools
    INTEGERS: "invert bitwise_not bitwise_count bitwise_invert negative sign abs".split(),
}
BINARY = {
    ALL: "add multiply equal not_equal logical_and logical_or logical_xor".split(),
    REAL: "maximum minimum fmax fmin greater greater_equal less less_equal".split(),
    (*INTEGERS, *FLOATS, *COMPLEX): "subtract divide true_divide".split(),
    FLOATS: "hypot arctan2 atan2 logaddexp logaddexp2 copysign nextafter heaviside floor_divide remainder mod fmod divmod "
            "isclose float_power".split(),
    ("bool", *INTEGERS): "bitwise_and bitwise_or bitwise_xor".split(),
    INTEGERS: "gcd lcm".split(),
}
REDUCTIONS = {
    ALL: "sum prod mean any all count_nonzero nansum nanprod nanmean".split(),
    REAL: "max min amax amin nanmax nanmin".split(),
    (*FLOATS, *INTEGERS): "ptp".split(),
    (*FLOATS, *COMPLEX): "var std nanvar nanstd".split(),
}
# fmt: on
# Of infinities and by zeros these give what the array API standard says, and quotients of complex numbers what XLA gives.
DIVISIONS = ("floor_divide", "divmod", "divide", "true_divide")


def _pick(draw: Draw, table: dict[tuple[str, ...], list[str]]) -> tuple[str, tuple[str, ...]]:
    return draw.pick([(name, kinds) for kinds, names in table.items() for name in names])


def unary(draw: Draw) -> Expression:
    name, kinds = _pick(draw, UNARY)
    array = draw.array(kinds)
    gives = draw.dtype(["float64"]) if name in ("angle", "rint") and array.dtype.kind in "biu" else None
    expression = call(name, [draw.special(array)], gives=gives)
    if name in ("floor", "ceil", "trunc", "fabs", "nan_to_num", "rint", "fix") and array.dtype.kind == "b":
        return call("round", [draw.array(FLOATS)], draw.integer(-1, 2))
    return replace(expression, looseness=20 if name == "i0" else 4)


def binary(draw: Draw) -> Expression:
    name, kinds = _pick(draw, BINARY)
    shape = draw.shape()
    first, second = draw.array(kinds, shape), draw.array(kinds, draw.broadcast(shape))
    if draw.chance(0.3):
        first, second = second, first
    if first.dtype.kind in "bf" and second.dtype.kind in "bf" and draw.chance(0.2):
        second = draw.pick([2, 0.5, -1.25, True])
    if name in DIVISIONS and not (name in ("divide", "true_divide") and np.result_type(first, second).kind == "f"):
        second = np.where(second == 0, 1, second).astype(np.result_type(second))
    else:
        first, second = draw.special(first), draw.special(second) if isinstance(second, np.ndarray) else second
    gives = jnp.result_type(first, second) if name == "float_power" else None  # NumPy's is 64 bits wide at least
    return replace(call(name, [first, second], promote=True, gives=gives), looseness=4)


def integer_division(draw: Draw) -> Expression:
    name = draw.pick(
        ["floor_divide", "remainder", "mod", "fmod", "divmod", "left_shift", "right_shift", "power", "ldexp"]
    )
    shape, kind = draw.shape(), draw.dtype(INTEGERS)
    if name == "ldexp":
        return call(name, [draw.array(FLOATS, shape), draw.array(["int32"], shape)])
    first = draw.array([kind], shape)
    second = draw.array([kind], draw.broadcast(shape), 1, 5)
    if name not in ("left_shift", "right_shift", "power") and kind in SIGNED and draw.chance():
        second = -second
    return replace(call(name, [first, second]), fixed=(1,) if name == "power" else ())


def reduction(draw: Draw) -> Expression:
    name, kinds = _pick(draw, REDUCTIONS)
    array = draw.array(kinds)
    array = draw.special(array) if name.startswith("nan") else array
    options: dict[str, Any] = {"axis": draw.axes(array.ndim)}
    if draw.chance(0.4):
        options["keepdims"] = True
    if name in ("sum", "prod", "max", "min", "nansum", "nanmax", "nanmin", "amax") and draw.chance(0.3):
        options["initial"] = draw.pick([1, 0, 2])
    masked = name not in ("ptp", "count_nonzero") and draw.chance(0.25)
    if masked:
        options["where"] = draw.array(["bool"], draw.broadcast(array.shape))
        if "max" in name or "min" in name:
            options["initial"] = 1
    if name in ("var", "std", "nanvar", "nanstd") and draw.chance(0.3):
        options["ddof"] = 1
    if name in ("sum", "prod", "mean") and draw.chance(0.2):
        options["dtype"] = draw.dtype(COMPLEX if array.dtype.kind == "c" else ("float32", "float64", "complex64"))
    if array.dtype.kind == "b" and "initial" in options and name[-3:] in ("max", "min"):
        options["initial"] = True
    return replace(call(name, [array], **options), looseness=8)


def places(draw: Draw) -> Expression:
    name = draw.pick(["argmax", "argmin", "nanargmax", "nanargmin"])
    array = draw.array(REAL, draw.shape(1))
    array = draw.special(array) if not name.startswith("nan") else array
    return call(name, [array], axis=draw.pick([None, draw.axis(array.ndim)]), keepdims=draw.chance(0.3))


def scan(draw: Draw) -> Expression:
    name = draw.pick("cumsum cumprod nancumsum nancumprod diff ediff1d gradient cumulative_sum cumulative_prod".split())
    array = draw.array(FLOATS if name == "gradient" else (*INTEGERS, *FLOATS, *COMPLEX), draw.shape(1))
    axis = draw.axis(array.ndim)
    if name == "ediff1d":
        return call(name, [array], to_end=draw.pick([None, np.array([1, 2], array.dtype)]))
    if name == "diff":
        return call(name, [array], n=draw.integer(0, 2), axis=axis)
    if name == "gradient":
        return call(name, [array], axis=axis)
    if name.startswith("cumulative"):
        return replace(call(name, [array], axis=axis, include_initial=draw.chance()), looseness=8)
    same = array.dtype  # cumulative sums keep the dtype here
    axis = draw.pick([None, axis])

    def theirs(x: np.ndarray) -> np.ndarray:
        return getattr(np, name)(x, axis=axis, dtype=same)

    return replace(call(name, [array], axis=axis), theirs=theirs, looseness=8)


FAMILIES = {f.__name__: f for f in (unary, binary, integer_division, reduction, places, scan)}
