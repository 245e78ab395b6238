"""How a value of a program has come about, where a lowering can take advantage of it."""

from __future__ import annotations

from typing import Any

from arrax.interpreters.lowering import builder

# As constants are printed, in which NaN is a number of this kind, too.
_LEAST = ("0xFF800000", "0xFFF0000000000000")
_GREATEST = ("0x7F800000", "0x7FF0000000000000")


def is_argument(x: Any) -> bool:
    """Whether a value is in memory anyway; what has just been computed can be reduced without putting it there."""
    return builder.source(x) is None


def flags_behind(x: Any) -> Any:
    """The flags that integers were converted from, if they were."""
    operation = builder.source(x)
    if operation is None or operation.name != "stablehlo.convert":
        return None
    converted = operation.operands[0]
    return converted if str(converted.type).endswith("xi1>") else None


def without_nan(x: Any) -> tuple[Any, Any] | None:
    """(value, number) if NaN has just been replaced by a number: ``select(value != value, number, value)``."""
    operation = builder.source(x)
    if operation is None or operation.name != "stablehlo.select":
        return None
    flags, number, kept = operation.operands
    test = builder.source(flags)
    if test is None or test.name != "stablehlo.compare" or "NE" not in str(test.attributes["comparison_direction"]):
        return None
    if not all(operand == kept for operand in test.operands):
        return None
    text = _constant_text(number)
    if text is None or ("0x" in text and not any(f"<{bits}>" in text for bits in _LEAST + _GREATEST)):
        return None
    return kept, number


def is_infinite(number: Any, greatest: bool) -> bool:
    """Whether a value is an array of infinity of one sign."""
    text = _constant_text(number)
    return text is not None and any(f"<{bits}>" in text for bits in (_GREATEST if greatest else _LEAST))


def _constant_text(x: Any) -> str | None:
    operation = builder.source(x)
    while operation is not None and operation.name == "stablehlo.broadcast_in_dim":
        operation = builder.source(operation.operands[0])
    if operation is None or operation.name != "stablehlo.constant":
        return None
    return str(operation.attributes["value"])
