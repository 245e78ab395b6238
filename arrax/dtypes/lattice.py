"""Type promotion: the type of a mixed operation is the join of its operands' types on one lattice."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.dtypes import kinds
from arrax.dtypes.canonical import python_scalar_dtypes, truncate
from arrax.dtypes.extended_dtypes import ExtendedDType
from arrax.dtypes.settings import settings

if TYPE_CHECKING:
    from arrax.dtypes.kinds import DType


TypePair = tuple[Any, bool]  # a dtype, and whether it is weak


class TypePromotionError(ValueError):
    """Types that have no common type to which they may be promoted implicitly.

    Fix: cast one of the values by ``astype``.
    Example: ``with arrax.numpy_dtype_promotion('strict'): jnp.arange(4) + jnp.ones(4)`` raises it.
    """


# A node is a dtype's short name; i*, f* and c* are the weak types of Python's numbers. Each row gives the direct
# successors of a node: an operand may be promoted along the arrows and never against them.
# fmt: off
_NARROW_INTEGERS = "i1 u1 i2 u2 i4 u4"
_NARROW_FLOATS   = "f4_e2m1fn f6_e2m3fn f6_e3m2fn f8_e3m4 f8_e4m3 f8_e4m3fn f8_e4m3fnuz f8_e4m3b11fnuz f8_e5m2 f8_e5m2fnuz f8_e8m0fnu"
_STANDARD = {
    "bool": "i*",
    "i*":   f"u8 i8 {_NARROW_INTEGERS}",
    "u8":   "u16 i16",     "i8":  "i16",
    "u16":  "u32 i32",     "i16": "i32",
    "u32":  "u64 i64",     "i32": "i64",
    "u64":  "f*",          "i64": "f*",
    "f*":   f"c* bf16 f16 {_NARROW_FLOATS}",
    "bf16": "f32",         "f16": "f32",
    "f32":  "f64 c64",     "f64": "c128",
    "c*":   "c64",         "c64": "c128",
}
_STRICT = {  # only Python's numbers give way, and only within what they can stand for
    "i*":   f"f* u8 u16 u32 u64 i8 i16 i32 i64 {_NARROW_INTEGERS}",
    "f*":   f"c* bf16 f16 f32 f64 {_NARROW_FLOATS}",
    "c*":   "c64 c128",
}
# fmt: on
_LATTICES = {
    mode: {node: tuple(successors.split()) for node, successors in table.items()}
    for mode, table in (("standard", _STANDARD), ("strict", _STRICT))
}
_WEAK = {"i*": int, "f*": float, "c*": complex}
_TYPE_OF_NODE: dict[str, TypePair] = {
    **{kinds.short_name(dtype): (dtype, False) for dtype in kinds.known_dtypes},
    **{node: (python_scalar_dtypes[cls], True) for node, cls in _WEAK.items()},
}


@functools.cache
def _upwards(node: str, mode: str) -> frozenset[str]:
    """The nodes to which ``node`` may be promoted, itself included."""
    return frozenset([node]).union(*(_upwards(above, mode) for above in _LATTICES[mode].get(node, ())))


@functools.cache
def _join(nodes: frozenset[str], mode: str) -> str | None:
    """The lowest node above all of ``nodes``, None if there is none."""
    common = frozenset.intersection(*(_upwards(node, mode) for node in nodes))
    return next((node for node in common if _upwards(node, mode) == common), None)


def _node(dtype: DType, weak: bool) -> str:
    if dtype not in kinds.known_dtypes:
        raise TypePromotionError(f"dtype={dtype} is not a valid dtype for JAX type promotion.")
    if not weak or dtype in kinds.bool_dtypes:
        return kinds.short_name(dtype)
    return "i*" if dtype in kinds.integer_dtypes else "f*" if dtype in kinds.floating_dtypes else "c*"


def _explain(nodes: Iterable[str], mode: str) -> str:
    dtypes = {_TYPE_OF_NODE[node][0] for node in nodes}
    names = tuple(_WEAK[node].__name__ if node in _WEAK else _TYPE_OF_NODE[node][0].name for node in nodes)
    message = f"Input dtypes {names} have no available implicit dtype promotion path"
    if mode == "strict":
        return (
            f"{message} when jax_numpy_dtype_promotion=strict. Try explicitly casting inputs to the desired output "
            "type, or set jax_numpy_dtype_promotion=standard."
        )
    if dtypes & kinds.narrow_integer_dtypes:
        return f"{message}. Integers below 8 bits are never widened implicitly: cast, for example x.astype('int32')."
    return f"{message}. Floats of 8 bits or fewer are never widened implicitly: cast, for example x.astype('float32')."


def _join_of_pairs(pairs: Sequence[TypePair], mode: str) -> TypePair:
    if not pairs:
        raise ValueError("Type promotion needs at least one array or dtype.")
    if all(pair == pairs[0] for pair in pairs):
        return pairs[0]
    nodes = dict.fromkeys(_node(dtype, weak) for dtype, weak in pairs)  # in order, for the message
    joined = _join(frozenset(nodes), mode)
    if joined is None:
        raise TypePromotionError(_explain(nodes, mode))
    return _TYPE_OF_NODE[joined]


def lattice_result_type(*pairs: TypePair) -> TypePair:
    """The join of types on the lattice of the current promotion mode, 64 bits included.

    Args:
      *pairs: a dtype and whether it is weak, each. Equal pairs stay as they are.
    Returns: (dtype, weak).
    Raises: TypePromotionError where the types have no join.
    Example: ``lattice_result_type((dtype("uint8"), False), (dtype("int8"), False))`` is ``(dtype("int16"), False)``.
    """
    return _join_of_pairs(pairs, settings.promotion_mode())


@functools.lru_cache(1 << 14)
def _result_type(pairs: tuple[TypePair, ...], x64: bool, mode: str) -> TypePair:
    dtype, weak = _join_of_pairs(tuple((truncate(dtype, x64), weak) for dtype, weak in pairs), mode)
    return truncate(dtype, x64), weak


def result_type_of(pairs: Sequence[TypePair]) -> TypePair:
    """The canonical type of an operation on operands of the given types.

    Args:
      pairs: a dtype and whether it is weak, for each operand.
    Returns: (dtype, weak), truncated to 32 bits where 64-bit types are off.
    Raises: TypePromotionError where the types have no join.
    Example: ``result_type_of([(dtype("int8"), False), (dtype("int64"), True)])`` is ``(dtype("int8"), False)``.
    """
    return _result_type(tuple(pairs), settings.x64_enabled(), settings.promotion_mode())


def dtype_pair(dtype_like: kinds.DTypeLike) -> TypePair:
    """(dtype, weak) of a dtype-like: Python's ``int``, ``float`` and ``complex`` are weak."""
    if isinstance(dtype_like, type) and dtype_like in python_scalar_dtypes:
        return python_scalar_dtypes[dtype_like], dtype_like is not bool
    return kinds.to_dtype(dtype_like), False


def promote_types(a: kinds.DTypeLike, b: kinds.DTypeLike) -> np.dtype | ExtendedDType:
    """The type to which both of two types are promoted.

    Args:
      a, b: dtype-likes; Python's ``int``, ``float``, ``complex`` are weak.
    Returns: dtype, with 64 bits where the lattice says so.
    Raises: TypePromotionError where there is none.
    Example: ``promote_types("int32", "bfloat16")`` is bfloat16. Source: ``numpy.promote_types``.
    """
    return lattice_result_type(dtype_pair(a), dtype_pair(b))[0]
