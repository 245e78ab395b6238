"""How exactly, and by which algorithm, products are computed: what users may write, and the compiler's words for it."""

from __future__ import annotations

import enum
import functools
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core import config
from arrax.dtypes import OptionalDType
from arrax.interpreters.lowering import builder
from arrax.lax.operand_checks import requested_dtype

if TYPE_CHECKING:
    from arrax.native.mlir import ir


class Precision(enum.Enum):
    """How exactly matrix products are computed on accelerators: faster, or as precise as the dtype.

    They have names, too: ``Precision("float32")`` is ``HIGHEST``.

    Example: ``lax.dot(x, x, precision=lax.Precision.HIGHEST)`` is 14.0.
    """

    DEFAULT = 0
    HIGH = 1
    HIGHEST = 2

    @classmethod
    def _missing_(cls, value: object) -> Precision | None:
        return cls.DEFAULT if value is None else _NAMES.get(str(value))

    def __repr__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class DotAlgorithm:
    """The types in which an algorithm for products multiplies and accumulates, as StableHLO's ``dot_algorithm``.

    Attributes:
      lhs_precision_type, rhs_precision_type: dtypes that the operands are rounded to.
      accumulation_type: dtype of the sums.
      lhs_component_count, rhs_component_count: how many numbers of the type an operand is split into.
      num_primitive_operations: how many products of these are made.
      allow_imprecise_accumulation: whether sums may be less exact than their dtype.
    Example: ``algorithm = lax.DotAlgorithm(np.float32, np.float32, np.float32); lax.dot(x, x, precision=algorithm)``
    is 14.0.
    """

    lhs_precision_type: Any
    rhs_precision_type: Any
    accumulation_type: Any
    lhs_component_count: int = 1
    rhs_component_count: int = 1
    num_primitive_operations: int = 1
    allow_imprecise_accumulation: bool = False


class DotAlgorithmPreset(enum.Enum):
    """Named algorithms for products: INPUT_INPUT_ACCUMULATION.

    Example: ``lax.dot(x, x, precision=lax.DotAlgorithmPreset.F32_F32_F32)`` is 14.0.
    """

    DEFAULT = 1
    ANY_F8_ANY_F8_F32 = 2
    ANY_F8_ANY_F8_F32_FAST_ACCUM = 3
    ANY_F8_ANY_F8_ANY = 4
    ANY_F8_ANY_F8_ANY_FAST_ACCUM = 5
    F16_F16_F16 = 6
    F16_F16_F32 = 7
    BF16_BF16_BF16 = 8
    BF16_BF16_F32 = 9
    BF16_BF16_F32_X3 = 10
    BF16_BF16_F32_X6 = 11
    BF16_BF16_F32_X9 = 12
    TF32_TF32_F32 = 13
    TF32_TF32_F32_X3 = 14
    F32_F32_F32 = 15
    F64_F64_F64 = 16

    def __repr__(self) -> str:
        return self.name

    __str__ = __repr__

    @property
    def accumulation_type(self) -> Any:
        """The dtype of the sums; None where that of the operands decides."""
        return _ACCUMULATION.get(self.name.removesuffix("_FAST_ACCUM").split("_")[-1 - ("_X" in self.name)])

    @property
    def supported_lhs_types(self) -> tuple[Any, ...] | None:
        """The dtypes that the operands may have; None where others may be given, too."""
        if self.name.startswith("BF16"):
            return (np.float32,) if "_X" in self.name else (dtypes.bfloat16, np.float32)
        kind = _ACCUMULATION.get(self.name.split("_")[0].removeprefix("T"))
        return None if kind is None else (kind,)

    supported_rhs_types = supported_lhs_types


_ACCUMULATION = {"F16": np.float16, "BF16": dtypes.bfloat16, "F32": np.float32, "F64": np.float64}
_NAMES = {
    "default": Precision.DEFAULT, "fastest": Precision.DEFAULT, "bfloat16": Precision.DEFAULT, "high": Precision.HIGH,
    "tensorfloat32": Precision.HIGH, "bfloat16_3x": Precision.HIGH, "highest": Precision.HIGHEST,
    "float32": Precision.HIGHEST,
}  # fmt: skip
_PRESETS = {preset.name: preset for preset in DotAlgorithmPreset}


def _one_precision(value: Precision | str) -> Any:
    if value is None or isinstance(value, Precision | DotAlgorithmPreset | DotAlgorithm):
        return value
    if isinstance(value, str) and value in _NAMES:
        return _NAMES[value]
    if isinstance(value, str) and value in _PRESETS:
        return _PRESETS[value]
    raise ValueError(f"Invalid precision {value!r}: use a Precision, one of {sorted(_NAMES)}, or a DotAlgorithmPreset")


def canonical_precision(precision: Any) -> tuple[Precision, Precision] | None:
    """None, a pair of Precisions, or an algorithm, from what users write (a name, a Precision, a pair of them).

    Raises:
      ValueError: an unknown name, or not a pair.
    """
    if precision is None:
        default = config.default_matmul_precision.cell.value
        if default is None:
            return None
        precision = default
    if isinstance(precision, tuple | list):
        if len(precision) != 2:
            raise ValueError(f"precision must be None, one value or a pair, got {precision!r}")
        left, right = (_one_precision(p) for p in precision)
        return (left or Precision.DEFAULT, right or Precision.DEFAULT)
    one = _one_precision(precision)
    return (one, one) if isinstance(one, Precision) else one


def accumulation_dtype(
    name: str, operands: tuple[Any, Any], preferred: OptionalDType, kinds: dict[str, tuple[str, ...]]
) -> np.dtype | None:
    """The dtype that a user wants products to be summed in and returned, or None.

    Args:
      name: the operation, for messages.
      operands: the dtypes that are multiplied.
      preferred: what the user gave.
      kinds: for each kind of operand the kinds (``i``, ``u``, ``f``, ``c``) that are wide enough for its sums; others,
        and narrower dtypes of these, are refused. Operands of kinds that are not named take any.
    Raises:
      TypeError: a dtype that cannot hold the products.
    """
    if preferred is None:
        return None
    dtype = requested_dtype(name, preferred, 2)
    for operand in operands:
        allowed = kinds.get(_kind(operand))
        if allowed is not None and (_kind(dtype) not in allowed or dtypes.itemsize_bits(dtype) < _width(operand)):
            raise TypeError(
                f"{name}: preferred_element_type {dtype.name} cannot hold sums of products of {operand.name}: expected a "
                f"dtype that is at least as wide and keeps what {operand.name} holds."
            )
    return dtype


def _width(dtype: np.dtype) -> int:
    """The bits of a number, or of a part of a complex one."""
    return dtypes.itemsize_bits(dtypes.real_dtype(dtype) if dtypes.is_complex(dtype) else dtype)


def _kind(dtype: np.dtype) -> str:
    for letter, kind in (
        ("u", np.unsignedinteger),
        ("i", np.signedinteger),
        ("f", np.floating),
        ("c", np.complexfloating),
    ):
        if dtypes.issubdtype(dtype, kind):
            return letter
    return "b"


PrecisionLike = (
    None | str | Precision | tuple[str, str] | tuple[Precision, Precision] | DotAlgorithm | DotAlgorithmPreset
)

# ---- in the compiler's words ----------------------------------------------------------------------------------------

_ATTRIBUTES = {Precision.DEFAULT: "DEFAULT", Precision.HIGH: "HIGH", Precision.HIGHEST: "HIGHEST"}
_CPU_PRESETS = ("F16_F16_F16", "F32_F32_F32", "F64_F64_F64", "BF16_BF16_F32", "BF16_BF16_F32_X3", "BF16_BF16_F32_X6")
_PRODUCTS = {"X3": 3, "X6": 6, "X9": 9}


def precision_attribute(precision: tuple[Precision, ...] | None) -> ir.Attribute:
    """The MLIR attribute of a canonical precision."""
    pair = precision if isinstance(precision, tuple) else (Precision.DEFAULT, Precision.DEFAULT)
    texts = ", ".join(f"#stablehlo<precision {_ATTRIBUTES[p]}>" for p in pair)
    return builder.attribute(f"[{texts}]")


def _algorithm_of(preset: DotAlgorithmPreset, x: np.dtype, y: np.dtype) -> DotAlgorithm:
    fast = preset.name.endswith("_FAST_ACCUM")
    left, right, total, *rest = preset.name.removesuffix("_FAST_ACCUM").replace("ANY_F8", "F8").split("_")
    types = {"F8": None, "ANY": np.dtype(np.float32), "F16": np.dtype(np.float16), "F32": np.dtype(np.float32),
             "F64": np.dtype(np.float64), "BF16": np.dtype(dtypes.bfloat16), "TF32": "tf32"}  # fmt: skip
    return DotAlgorithm(
        types[left] or x, types[right] or y, types[total], 1, 1, _PRODUCTS[rest[0]] if rest else 1, fast
    )


def algorithm_attribute(
    precision: tuple[Precision, ...] | None, x: np.dtype, y: np.dtype, platform: str
) -> ir.Attribute | None:
    """The MLIR attribute of an algorithm for products of two dtypes, or None for the default one.

    Raises:
      ValueError: the platform does not know the algorithm.
    """
    if isinstance(precision, tuple) or precision in (None, DotAlgorithmPreset.DEFAULT):
        return None
    preset = isinstance(precision, DotAlgorithmPreset)
    text = _algorithm_text(_algorithm_of(precision, x, y) if preset else precision)
    if platform == "cpu" and (precision.name not in _CPU_PRESETS if preset else text not in _cpu_texts()):
        raise ValueError(f"the precision {precision!r} is not supported by dot_general on CPU")
    return builder.attribute(text)


def _algorithm_text(algorithm: DotAlgorithm) -> str:
    def text(value: Any) -> str:
        if isinstance(value, bool | int):
            return str(value).lower()
        return value if value in ("tf32", "tensorfloat32") else str(builder.element_type(np.dtype(value)))

    entries = ", ".join(f"{field.name} = {text(getattr(algorithm, field.name))}" for field in fields(algorithm))
    return f"#stablehlo.dot_algorithm<{entries}>"


@functools.cache
def _cpu_texts() -> set[str]:
    single = np.dtype(np.float32)
    return {_algorithm_text(_algorithm_of(DotAlgorithmPreset[name], single, single)) for name in _CPU_PRESETS}
