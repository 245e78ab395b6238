"""Types and operations that a library defines above those of arrays (``jax.experimental.hijax``), as far as arrax has them.

Values of such types are made, passed to their operations and differentiated where operations run at once. Programs that
are traced hold arrays only: there an operation on them is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from arrax.core.effects import control_flow_allowed_effects as control_flow_allowed_effects
from arrax.core.interpreter import Primitive
from arrax.core.types import AbstractValue, register_type
from arrax.interpreters.staging import Staging

if TYPE_CHECKING:
    from arrax.xla.arrays import Array


class HiType(AbstractValue):
    """The type of values that consist of arrays: ``lo_ty`` gives their types, ``lower_val`` and ``raise_val`` convert."""

    is_high = True
    has_qdd = False


class MutableHiType(AbstractValue):
    """The type of values that change."""

    is_high = has_qdd = True


class AvalQDD(NamedTuple):
    """A type and the state that a value of it has now."""

    aval: Any
    qdd: Any


class AvalMutableQDD(NamedTuple):
    """A type and where the state of a value of it is kept."""

    aval: Any
    mutable_qdd: Any


class aval_method(NamedTuple):
    """A method that values have by their type."""

    fun: Callable[..., Any]


class aval_property(NamedTuple):
    """A property that values have by their type."""

    fget: Callable[..., Any]


class HiPrimitive(Primitive):
    """An operation whose rules are its methods: ``impl``, ``abstract_eval``, ``jvp``, ``transpose``."""

    def __init__(self, name: str) -> None:
        super().__init__(name, multiple_results=type(self).multiple_results)
        for slot in ("jvp", "transpose"):
            rule = getattr(type(self), slot, None)
            if rule is not None:
                setattr(self, slot, rule.__get__(self))
        implementation = type(self).__dict__.get("impl")
        self.own_impl = None if implementation is None else implementation.__get__(self)
        self.stage = self._refuse

    def _refuse(self, interpreter: Staging, args: Sequence[Array], params: dict[str, Any]) -> Any:
        raise NotImplementedError(
            f"{self.name}: an operation on values of types of its own, in a function that is traced for {interpreter.describe()}: "
            "arrax has such types only where operations run at once"
        )


def register_hitype(cls: type, type_of: Callable[[Any], AbstractValue]) -> None:
    """Tell which type the values of a class have."""
    register_type(cls, type_of)


def cur_qdd(x: Any) -> float:
    """The state that a value of a mutable type has now.

    Args:
      x: of a class with the method ``cur_qdd``.
    Raises:
      AttributeError: a value whose type has no state.
    """
    return x.cur_qdd()
