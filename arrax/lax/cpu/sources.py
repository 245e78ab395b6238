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


def comparison(flags: Any) -> tuple[str, Any, Any] | None:
    """(direction, x, y) of flags that were just made by a comparison of an argument with one, or with a scalar."""
    operation = builder.source(flags)
    if operation is None or operation.name != "stablehlo.compare":
        return None
    direction = str(operation.attributes["comparison_direction"]).rstrip(">").split()[-1]
    x, y = operation.operands
    if not is_argument(x):
        direction, x, y = _SWAPPED[direction], y, x
    if not is_argument(x):
        return None
    if is_argument(y):
        return direction, x, y
    repeated = builder.source(y)
    if repeated.name != "stablehlo.broadcast_in_dim" or len(repeated.attributes["broadcast_dimensions"]):
        return None
    return direction, x, repeated.operands[0]


_SWAPPED = {"EQ": "EQ", "NE": "NE", "LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE"}


def is_in_memory(x: Any) -> bool:
    """Whether a value is an argument, or was made by a host kernel."""
    operation = builder.source(x)
    while operation is not None and operation.name == "stablehlo.reshape":
        operation = builder.source(operation.operands[0])
    return operation is None or operation.name == "stablehlo.custom_call"


def part_in_memory(x: Any, axis: int) -> tuple[Any, int] | None:
    """(array, start) where a value is an array in memory, or lies side by side in it from a place of an axis on."""
    if is_in_memory(x):
        return x, 0
    operation = builder.source(x)
    if operation.name != "stablehlo.slice" or not is_in_memory(operation.operands[0]):
        return None
    starts, steps = (list(operation.attributes[name]) for name in ("start_indices", "strides"))
    whole, part = operation.operands[0].type.shape, x.type.shape
    if steps[axis] != 1 or any(whole[dim] != part[dim] for dim in range(len(part)) if dim != axis):
        return None
    return operation.operands[0], starts[axis]


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


def result_of_kernel(x: Any, number: int, shape: tuple[int, ...]) -> Any:
    """What a host kernel of one operand has already made of an argument at this place of the program, or None."""
    here = builder.current_block()
    for reshaped in x.uses:
        if reshaped.owner.name != "stablehlo.reshape":
            continue
        for use in reshaped.owner.results[0].uses:
            call = use.owner
            if call.name != "stablehlo.custom_call" or call.operation.block != here:
                continue
            made = call.results[0]
            if f"index = {number} " in str(call.attributes["backend_config"]) and tuple(made.type.shape) == shape:
                return made
    return None
