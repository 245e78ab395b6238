"""Elementwise functions of the array API standard: one row says what a function takes."""

from __future__ import annotations

from arrax.experimental.array_api.standard import binary, check_arrays, check_operands, unary
from arrax.numpy_api import elementwise, logic, powers, selection
from arrax.xla.arrays import Array, OptionalArray

# The columns: what does the work, which dtypes it takes, name, and an example: operands and result.
# fmt: off
abs            = unary(elementwise.absolute,   "numeric",                "abs",            "[-1.5, 2.0]",           "[1.5, 2.0]")
negative       = unary(elementwise.negative,   "numeric",                "negative",       "[1, -2]",               "[-1, 2]")
positive       = unary(elementwise.positive,   "numeric",                "positive",       "[1, -2]",               "[1, -2]")
sign           = unary(elementwise.sign,       "numeric",                "sign",           "[-3, 0, 2]",            "[-1, 0, 1]")
square         = unary(elementwise.square,     "numeric",                "square",         "[-1, 3]",               "[1, 9]")
ceil           = unary(elementwise.ceil,       "real numeric",           "ceil",           "[-0.5, 1.2]",           "[-0.0, 2.0]")
floor          = unary(elementwise.floor,      "real numeric",           "floor",          "[-0.5, 1.2]",           "[-1.0, 1.0]")
trunc          = unary(elementwise.trunc,      "real numeric",           "trunc",          "[-1.5, 1.5]",           "[-1.0, 1.0]")
round          = unary(elementwise.round,      "numeric",                "round",          "[0.5, 1.5, 1.7]",       "[0.0, 2.0, 2.0]")
isfinite       = unary(logic.isfinite,         "numeric",                "isfinite",       "[1.0, xp.inf, xp.nan]", "[True, False, False]")
isinf          = unary(logic.isinf,            "numeric",                "isinf",          "[1.0, xp.inf, xp.nan]", "[False, True, False]")
isnan          = unary(logic.isnan,            "numeric",                "isnan",          "[1.0, xp.inf, xp.nan]", "[False, False, True]")
signbit        = unary(elementwise.signbit,    "real floating-point",    "signbit",        "[-0.0, 0.0]",           "[True, False]")
real           = unary(elementwise.real,       "numeric",                "real",           "[1 + 2j, 3j]",          "[1.0, 0.0]")
imag           = unary(elementwise.imag,       "complex floating-point", "imag",           "[1 + 2j, 3j]",          "[2.0, 3.0]")
conj           = unary(elementwise.conj,       "numeric",                "conj",           "[1 + 2j, 3j]",          "[(1-2j), -3j]")
reciprocal     = unary(elementwise.reciprocal, "floating-point",         "reciprocal",     "[0.5, 4.0]",            "[2.0, 0.25]")
sqrt           = unary(elementwise.sqrt,       "floating-point",         "sqrt",           "[4.0, 2.25]",           "[2.0, 1.5]")
exp            = unary(elementwise.exp,        "floating-point",         "exp",            "[0.0, 1.0]",            "[1.0, 2.71828]")
expm1          = unary(elementwise.expm1,      "floating-point",         "expm1",          "[0.0, 1.0]",            "[0.0, 1.71828]")
log            = unary(elementwise.log,        "floating-point",         "log",            "[1.0, 10.0]",           "[0.0, 2.30259]")
log1p          = unary(elementwise.log1p,      "floating-point",         "log1p",          "[0.0, 1.0]",            "[0.0, 0.693147]")
log2           = unary(elementwise.log2,       "floating-point",         "log2",           "[1.0, 8.0]",            "[0.0, 3.0]")
log10          = unary(elementwise.log10,      "floating-point",         "log10",          "[0.01, 1000.0]",        "[-2.0, 3.0]")
sin            = unary(elementwise.sin,        "floating-point",         "sin",            "[0.0, xp.pi / 2]",      "[0.0, 1.0]")
cos            = unary(elementwise.cos,        "floating-point",         "cos",            "[0.0, xp.pi / 3]",      "[1.0, 0.5]")
tan            = unary(elementwise.tan,        "floating-point",         "tan",            "[0.0, xp.pi / 4]",      "[0.0, 1.0]")
asin           = unary(elementwise.asin,       "floating-point",         "asin",           "[0.0, 1.0]",            "[0.0, 1.5708]")
acos           = unary(elementwise.acos,       "floating-point",         "acos",           "[0.0, 1.0]",            "[1.5708, 0.0]")
atan           = unary(elementwise.atan,       "floating-point",         "atan",           "[0.0, 1.0]",            "[0.0, 0.785398]")
sinh           = unary(elementwise.sinh,       "floating-point",         "sinh",           "[0.0, 1.0]",            "[0.0, 1.1752]")
cosh           = unary(elementwise.cosh,       "floating-point",         "cosh",           "[0.0, 1.0]",            "[1.0, 1.54308]")
tanh           = unary(elementwise.tanh,       "floating-point",         "tanh",           "[0.0, 1.0]",            "[0.0, 0.761594]")
asinh          = unary(elementwise.asinh,      "floating-point",         "asinh",          "[0.0, 1.0]",            "[0.0, 0.881374]")
acosh          = unary(elementwise.acosh,      "floating-point",         "acosh",          "[1.0, 2.0]",            "[0.0, 1.31696]")
atanh          = unary(elementwise.atanh,      "floating-point",         "atanh",          "[0.0, 0.5]",            "[0.0, 0.549306]")
bitwise_invert = unary(logic.invert,           "integer or boolean",     "bitwise_invert", "[0, 5]",                "[-1, -6]")
logical_not    = unary(logic.logical_not,      "boolean",                "logical_not",    "[True, False]",         "[False, True]")

add                 = binary(elementwise.add,          "numeric",             "add",                 "[1, 2], 10",          "[11, 12]")
subtract            = binary(elementwise.subtract,     "numeric",             "subtract",            "[1, 2], 10",          "[-9, -8]")
multiply            = binary(elementwise.multiply,     "numeric",             "multiply",            "[1, 2], 10",          "[10, 20]")
divide              = binary(elementwise.divide,       "floating-point",      "divide",              "[1.0, 2.0], 4.0",     "[0.25, 0.5]")
floor_divide        = binary(elementwise.floor_divide, "real numeric",        "floor_divide",        "[7, -7], 2",          "[3, -4]")
remainder           = binary(elementwise.remainder,    "real numeric",        "remainder",           "[7, -7], 3",          "[1, 2]")
pow                 = binary(powers.power,             "numeric",             "pow",                 "[2, 3], 2",           "[4, 9]")
maximum             = binary(elementwise.maximum,      "real numeric",        "maximum",             "[1, 5], 3",           "[3, 5]")
minimum             = binary(elementwise.minimum,      "real numeric",        "minimum",             "[1, 5], 3",           "[1, 3]")
atan2               = binary(elementwise.arctan2,      "real floating-point", "atan2",               "[0.0, 1.0], 1.0",     "[0.0, 0.785398]")
copysign            = binary(elementwise.copysign,     "real floating-point", "copysign",            "[1.0, -2.0], -0.0",   "[-1.0, -2.0]")
hypot               = binary(elementwise.hypot,        "real floating-point", "hypot",               "[3.0, 5.0], 4.0",     "[5.0, 6.40312]")
logaddexp           = binary(elementwise.logaddexp,    "real floating-point", "logaddexp",           "[0.0, 1.0], 0.0",     "[0.693147, 1.31326]")
nextafter           = binary(elementwise.nextafter,    "real floating-point", "nextafter",           "[1.0, 2.0], 2.0",     "[1.0000001, 2.0]")
equal               = binary(logic.equal,              "all",                 "equal",               "[1, 2], 2",           "[False, True]")
not_equal           = binary(logic.not_equal,          "all",                 "not_equal",           "[1, 2], 2",           "[True, False]")
less                = binary(logic.less,               "real numeric",        "less",                "[1, 2], 2",           "[True, False]")
less_equal          = binary(logic.less_equal,         "real numeric",        "less_equal",          "[1, 2], 2",           "[True, True]")
greater             = binary(logic.greater,            "real numeric",        "greater",             "[1, 2], 1",           "[False, True]")
greater_equal       = binary(logic.greater_equal,      "real numeric",        "greater_equal",       "[1, 2], 2",           "[False, True]")
logical_and         = binary(logic.logical_and,        "boolean",             "logical_and",         "[True, False], True", "[True, False]")
logical_or          = binary(logic.logical_or,         "boolean",             "logical_or",          "[True, False], True", "[True, True]")
logical_xor         = binary(logic.logical_xor,        "boolean",             "logical_xor",         "[True, False], True", "[False, True]")
bitwise_and         = binary(logic.bitwise_and,        "integer or boolean",  "bitwise_and",         "[6, 5], 3",           "[2, 1]")
bitwise_or          = binary(logic.bitwise_or,         "integer or boolean",  "bitwise_or",          "[6, 5], 3",           "[7, 7]")
bitwise_xor         = binary(logic.bitwise_xor,        "integer or boolean",  "bitwise_xor",         "[6, 5], 3",           "[5, 6]")
bitwise_left_shift  = binary(logic.left_shift,         "integer",             "bitwise_left_shift",  "[1, 5], 2",           "[4, 20]")
bitwise_right_shift = binary(logic.right_shift,        "integer",             "bitwise_right_shift", "[8, 21], 2",          "[2, 5]")
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
