"""Values of types of a library's own, which it tells of before it makes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from arrax.core.types import AbstractValue, high_classes
from arrax.interpreters.high_contents import lowered, lowered_results, raised
from arrax.interpreters.high_operations import captured
from arrax.interpreters.high_types import high_hooks
from arrax.numpy_api.references import new_ref
from arrax.transforms.high_arguments import OfArrays, call, jitted_of_arrays, program, shape


def register_hitype(cls: type, type_of: Callable[[Any], AbstractValue]) -> None:
    """Tell which type the values of a class have.

    Args:
      type_of: from a value to its type, a ``HiType`` or a ``MutableHiType``.
    """
    high_classes[cls] = type_of
    high_hooks.call, high_hooks.shape, high_hooks.program = call, shape, program
    high_hooks.jitted, high_hooks.form = jitted_of_arrays, OfArrays
    high_hooks.lowered, high_hooks.lowered_results, high_hooks.raised = lowered, lowered_results, raised
    captured.new_ref = new_ref
