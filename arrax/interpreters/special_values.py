"""NaNs and infinities in results, where settings watch for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core import config
from arrax.core.types import ShapedArray, typeof
from arrax.xla.placement import host_value, is_whole_here, pieces_of


class SpecialValueFound(FloatingPointError):
    """A result holds NaN or infinity while they are watched for. Users see it as the FloatingPointError that it is."""

    __module__ = "builtins"

    def __reduce__(self) -> tuple[Any, ...]:
        return FloatingPointError, self.args


SpecialValueFound.__name__ = SpecialValueFound.__qualname__ = "FloatingPointError"


def watching() -> bool:
    """Whether results are looked through for NaNs or infinities."""
    return config.debug_nans.cell.value or config.debug_infs.cell.value


def check_special_values(outs: Sequence[Any], name: str, moved: bool = False) -> None:
    """Raise where NaNs (or infinities) are watched for and found.

    Args:
      moved: whether no NaN was made here, such as by a step of a function that puts NaNs where it is not defined.
    """
    if not watching():
        return
    for out in outs:
        aval = typeof(out)
        if (
            not isinstance(aval, ShapedArray)
            or not isinstance(aval.dtype, np.dtype)
            or not dtypes.is_inexact(aval.dtype)
        ):
            continue
        for value in map(host_value, [out] if is_whole_here(out) else pieces_of(out)):
            numbers = value if value.dtype.kind in "fc" else value.astype(np.float32)
            for kind, option, test in (("nan", config.debug_nans, np.isnan), ("inf", config.debug_infs, np.isinf)):
                if option.cell.value and not (moved and kind == "nan") and test(numbers).any():
                    raise SpecialValueFound(f"invalid value ({kind}) encountered in {name}")
