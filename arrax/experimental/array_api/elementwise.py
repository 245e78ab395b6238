"""Elementwise functions of the array API standard: one row says what a function takes."""

from __future__ import annotations

from arrax.experimental.array_api.standard import binary, check_arrays, check_operands, unary
from arrax.numpy_api import elementwise, logic, powers, selection
from arrax.xla.arrays import Array, OptionalArray

# fmt: off
abs         = unary(elementwise.absolute,  "numeric", "abs")
negative    = unary(elementwise.negative,  "numeric", "negative")
positive    = unary(elementwise.positive,  "numeric", "positive")
sign        = unary(elementwise.sign,      "numeric", "sign")
square      = unary(elementwise.square,    "numeric", "square")
ceil        = unary(elementwise.ceil,      "real numeric", "ceil")
floor       = unary(elementwise.floor,     "real numeric", "floor")
trunc       = unary(elementwise.trunc,     "real numeric", "trunc")
round       = unary(elementwise.round,     "numeric", "round")
isfinite    = unary(logic.isfinite,        "numeric", "isfinite")
isinf       = unary(logic.isinf,           "numeric", "isinf")
isnan       = unary(logic.isnan,           "numeric", "isnan")
signbit     = unary(elementwise.signbit,   "real floating-point", "signbit")
real        = unary(elementwise.real,      "numeric", "real")
imag        = unary(elementwise.imag,      "complex floating-point", "imag")
conj        = unary(elementwise.conj,      "numeric", "conj")
reciprocal  = unary(elementwise.reciprocal, "floating-point", "reciprocal")
sqrt        = unary(elementwise.sqrt,      "floating-point", "sqrt")
exp         = unary(elementwise.exp,       "floating-point", "exp")
expm1       = unary(elementwise.expm1,     "floating-point", "expm1")
log         = unary(elementwise.log,       "floating-point", "log")
log1p       = unary(elementwise.log1p,     "floating-point", "log1p")
log2        = unary(elementwise.log2,      "floating-point", "log2")
log10       = unary(elementwise.log10,     "floating-point", "log10")
sin         = unary(elementwise.sin,       "floating-point", "sin")
cos         = unary(elementwise.cos,       "floating-point", "cos")
tan         = unary(elementwise.tan,       "floating-point", "tan")
asin        = unary(elementwise.asin,      "floating-point", "asin")
acos        = unary(elementwise.acos,      "floating-point", "acos")
atan        = unary(elementwise.atan,      "floating-point", "atan")
sinh        = unary(elementwise.sinh,      "floating-point", "sinh")
cosh        = unary(elementwise.cosh,      "floating-point", "cosh")
tanh        = unary(elementwise.tanh,      "floating-point", "tanh")
asinh       = unary(elementwise.asinh,     "floating-point", "asinh")
acosh       = unary(elementwise.acosh,     "floating-point", "acosh")
atanh       = unary(elementwise.atanh,     "floating-point", "atanh")
bitwise_invert = unary(logic.invert,       "integer or boolean", "bitwise_invert")
logical_not = unary(logic.logical_not,     "boolean", "logical_not")

add          = binary(elementwise.add,          "numeric", "add")
subtract     = binary(elementwise.subtract,     "numeric", "subtract")
multiply     = binary(elementwise.multiply,     "numeric", "multiply")
divide       = binary(elementwise.divide,       "floating-point", "divide")
floor_divide = binary(elementwise.floor_divide, "real numeric", "floor_divide")
remainder    = binary(elementwise.remainder,    "real numeric", "remainder")
pow          = binary(powers.power,        "numeric", "pow")
maximum      = binary(elementwise.maximum,      "real numeric", "maximum")
minimum      = binary(elementwise.minimum,      "real numeric", "minimum")
atan2        = binary(elementwise.arctan2,      "real floating-point", "atan2")
copysign     = binary(elementwise.copysign,     "real floating-point", "copysign")
hypot        = binary(elementwise.hypot,        "real floating-point", "hypot")
logaddexp    = binary(elementwise.logaddexp,    "real floating-point", "logaddexp")
nextafter    = binary(elementwise.nextafter,    "real floating-point", "nextafter")
equal         = binary(logic.equal,         "all", "equal")
not_equal     = binary(logic.not_equal,     "all", "not_equal")
less          = binary(logic.less,          "real numeric", "less")
less_equal    = binary(logic.less_equal,    "real numeric", "less_equal")
greater       = binary(logic.greater,       "real numeric", "greater")
greater_equal = binary(logic.greater_equal, "real numeric", "greater_equal")
logical_and   = binary(logic.logical_and,   "boolean", "logical_and")
logical_or    = binary(logic.logical_or,    "boolean", "logical_or")
logical_xor   = binary(logic.logical_xor,   "boolean", "logical_xor")
bitwise_and   = binary(logic.bitwise_and,   "integer or boolean", "bitwise_and")
bitwise_or    = binary(logic.bitwise_or,    "integer or boolean", "bitwise_or")
bitwise_xor   = binary(logic.bitwise_xor,   "integer or boolean", "bitwise_xor")
bitwise_left_shift  = binary(logic.left_shift,  "integer", "bitwise_left_shift")
bitwise_right_shift = binary(logic.right_shift, "integer", "bitwise_right_shift")
# fmt: on


def clip(x: Array, /, min: OptionalArray = None, max: OptionalArray = None) -> Array:
    """The elements moved into an interval; the dtype of ``x`` stays.

    Args:
      x: array of real numbers.
      min, max: bounds: arrays of the dtype of ``x``, Python numbers of its kind, or None.
    Raises:
      TypeError: other dtypes.
    Example: ``xp.clip(xp.arange(4), 1, 2)`` is ``[1, 1, 2, 2]``. Source: array API standard, ``clip``.
    """
    check_arrays("clip", "real numeric", x)
    for bound in (min, max):
        if bound is not None:
            check_operands("clip", "real numeric", x, bound)
    return selection.clip(x, min, max).astype(x.dtype)
