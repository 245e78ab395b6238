"""Arrays of extended dtypes: a type, and an array underneath that stores the elements."""

from __future__ import annotations

from typing import Any, Self

from arrax.core.tracebacks import bound_methods, boundary
from arrax.native import runtime


@bound_methods
class OverlaidArray(runtime.Array):
    """What arrays of extended dtypes have in common. Subclasses set ``aval`` and ``_base_array``, where the elements are."""

    aval: Any
    _base_array: Any

    shape = property(lambda self: self.aval.shape, doc="Tuple of lengths.")
    dtype = property(lambda self: self.aval.dtype, doc="The extended dtype.")
    ndim = property(lambda self: self.aval.ndim, doc="Number of dimensions.")
    size = property(lambda self: self.aval.size, doc="Number of elements.")
    itemsize = property(lambda self: self.aval.dtype.itemsize, doc="Bytes per element.")
    weak_type = False
    sharding = property(lambda self: self._base_array.sharding, doc="How the elements lie on devices.")
    committed = property(lambda self: self._base_array.committed, doc="Whether they are bound to their devices.")
    _committed = property(lambda self: self._base_array._committed)
    device = property(lambda self: self._base_array.device, doc="The device.")
    is_fully_addressable = property(lambda self: self._base_array.is_fully_addressable)
    is_fully_replicated = property(lambda self: self._base_array.is_fully_replicated)
    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 100

    def devices(self) -> set[Any]:
        """The devices that hold the elements."""
        return self._base_array.devices()

    def block_until_ready(self) -> Self:
        """Wait for the elements."""
        self._base_array.block_until_ready()
        return self

    def is_deleted(self) -> bool:
        """True where the elements are gone."""
        return self._base_array.is_deleted()

    def delete(self) -> None:
        """Free the elements."""
        self._base_array.delete()

    def _is_traced_array(self) -> bool:
        return True

    @boundary
    def __len__(self) -> int:
        return len(self.aval)
