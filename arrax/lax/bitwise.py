"""Bits: logic, shifts, counts, and the neighbours of floating-point numbers."""

from __future__ import annotations

from typing import Any

from arrax.core.interpreter import Rounding
from arrax.lax.families import binary, public, unary
from arrax.lax.operand_checks import bools, floating, integers

logical = integers | bools


def _named(name: str, function: Any, doc: str, operands: str = "x, y") -> Any:
    """The public function under another name than its primitive's, which Python reserves."""
    return public(function, function.primitive, name, doc, operands, logical)


# Shifts by a negative amount, or by as many bits as there are, push out all bits.
# fmt: off
bitwise_not = _named("bitwise_not", unary("not", logical, "not", rounding=Rounding.NONE),  "complement of all bits; logical not of bools", "x")
bitwise_and = _named("bitwise_and", binary("and", logical, "and", rounding=Rounding.NONE), "bits set in both, x & y; logical and of bools")
bitwise_or  = _named("bitwise_or",  binary("or", logical, "or", rounding=Rounding.NONE),  "bits set in either, x | y; logical or of bools")
bitwise_xor = _named("bitwise_xor", binary("xor", logical, "xor", rounding=Rounding.NONE), "bits set in one of the two, x ^ y")

shift_left             = binary("shift_left",             integers, "shift_left", rounding=Rounding.NONE,
                                doc="shift to the left, x << y; 0 for y outside of the bits")
shift_right_arithmetic = binary("shift_right_arithmetic", integers, "shift_right_arithmetic", rounding=Rounding.NONE,
                                doc="shift to the right that repeats the top bit, x >> y")
shift_right_logical    = binary("shift_right_logical",    integers, "shift_right_logical", rounding=Rounding.NONE,
                                doc="shift to the right that fills with zeros")
population_count = unary("population_count", integers, "popcnt", rounding=Rounding.NONE, doc="number of set bits")
clz = unary("clz", integers, "count_leading_zeros", rounding=Rounding.NONE, doc="number of leading zero bits")
nextafter = binary("nextafter", floating, "chlo.next_after", rounding=Rounding.NONE, operands=("x1", "x2"),
                   doc="next number after x1 towards x2")
# fmt: on
