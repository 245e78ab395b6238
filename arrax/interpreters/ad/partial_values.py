"""Partial evaluation of flat functions whose arguments are partly known, in the form that libraries use it in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from arrax.core.program import Jaxpr, Var
from arrax.core.types import ShapedArray, typeof
from arrax.core.wrapped_functions import WrappedFun
from arrax.interpreters.ad.partial import partial_eval

if TYPE_CHECKING:
    from arrax.xla.arrays import ArrayLike


class PartialVal(NamedTuple):
    """A value that is known, or only the type of one that is not.

    Args:
      pval: the type of an unknown value, or None.
      const: the value that is known, or None.
    """

    pval: Any
    const: Any

    @classmethod
    def known(cls, const: ArrayLike) -> PartialVal:
        """A known value."""
        return cls(None, const)

    @classmethod
    def unknown(cls, aval: ShapedArray) -> PartialVal:
        """An unknown value of a type."""
        return cls(aval, None)

    def is_known(self) -> bool:
        """Whether the value is known."""
        return self.pval is None

    def get_known(self) -> Any:
        """The known value, or None."""
        return self.const if self.pval is None else None

    def get_aval(self) -> ShapedArray:
        """The type of the value."""
        return typeof(self.const) if self.pval is None else self.pval


def trace_to_jaxpr_nounits(
    fun: WrappedFun, pvals: Sequence[PartialVal], instantiate: bool | Sequence[bool] = False
) -> tuple[Jaxpr, list[PartialVal], list[Any]]:
    """Run what is known of a flat function and record the rest.

    Args:
      pvals: the arguments.
      instantiate: for each result, or for all, whether it is to be recorded even where it is known.
    Returns: the record (from its constants and the unknown arguments to the unknown results), the results, and the values of
      the record's constants.
    """
    known = [value.const for value in pvals]
    outs, unknown, jaxpr, consts = partial_eval(fun.call_wrapped, known, [value.pval for value in pvals])
    forced = [instantiate] * len(outs) if isinstance(instantiate, bool) else list(instantiate)
    results, outvars, recorded = [], [], iter(jaxpr.outvars)
    constvars, values = list(jaxpr.constvars), list(consts)
    for out, is_unknown, force in zip(outs, unknown, forced, strict=True):
        if not (is_unknown or force):
            results.append(PartialVal.known(out))
            continue
        if is_unknown:
            outvars.append(next(recorded))
        else:
            constvars.append(Var(typeof(out)))
            values.append(out)
            outvars.append(constvars[-1])
        results.append(PartialVal.unknown(outvars[-1].aval))
    return jaxpr.replace(constvars=constvars, outvars=outvars), results, values
