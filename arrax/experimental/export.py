"""The older names of ``arrax.export``: functions of exported functions rather than methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from arrax import random as _random  # noqa: F401  (gives dtypes of keys their names)
from arrax.core.dimensions import is_symbolic_dim as is_symbolic_dim
from arrax.core.symbolic_shapes import SymbolicScope as SymbolicScope
from arrax.core.symbolic_shapes import symbolic_shape as symbolic_shape
from arrax.core.tracebacks import bound_names as _bound_names
from arrax.lax import dimension_values as _dimension_values  # noqa: F401  (lengths as values)
from arrax.transforms.arguments import jitted_of as _jitted_of
from arrax.transforms.exporting import DisabledSafetyCheck as DisabledSafetyCheck
from arrax.transforms.exporting import Exported as Exported
from arrax.transforms.exporting import default_export_platform as default_lowering_platform  # noqa: F401
from arrax.transforms.exporting import deserialize as deserialize
from arrax.transforms.exporting import export as _export
from arrax.transforms.jit import jit as _jit
from arrax.transforms.symbolic_arguments import symbolic_args_specs as symbolic_args_specs

args_specs = symbolic_args_specs


def export(
    fun_jax: Callable[..., Any], *, lowering_platforms: Sequence[str] | None = None,
    disabled_checks: Sequence[DisabledSafetyCheck] = (),
) -> Callable[..., Exported]:  # fmt: skip
    """Like ``arrax.export.export``; a function that is not jitted yet is.

    Args:
      fun_jax: the function.
      lowering_platforms: what the program is for; by default where it runs here.
      disabled_checks: what is not to be checked.
    Returns: a function with the arguments of ``fun_jax``, or anything with their shapes and dtypes, to an ``Exported``.
    Example: ``from arrax.experimental import export; export.call_exported(export.export(jnp.sin)(x))(x)`` is ``jnp.sin(x)``.
    """
    jitted = _jit(fun_jax) if _jitted_of(fun_jax) is None else fun_jax
    return _export(jitted, platforms=lowering_platforms, disabled_checks=disabled_checks)


def call_exported(exported: Exported) -> Callable[..., Any]:
    """The function that calls an exported one.

    Example: ``from arrax.experimental import export; export.call_exported(export.export(jnp.sin)(x))(x)`` is ``jnp.sin(x)``.
    """
    return exported.call


call = call_exported


def serialize(exported: Exported, vjp_order: int = 0) -> bytearray:
    """An exported function as bytes.

    Args:
      vjp_order: how many times it can be differentiated afterwards (in reverse mode).
    Example: ``from arrax.experimental import export;
    export.deserialize(export.serialize(export.export(jnp.sin)(x))).call(x)`` is ``jnp.sin(x)``.
    """
    return exported.serialize(vjp_order)


_bound_names(__name__)
