"""Operators and methods of sparse arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import arrax.numpy as jnp
from arrax.core.tracebacks import boundary
from arrax.experimental.sparse.base import Count, JAXSparse, Text
from arrax.experimental.sparse.coordinates import BCOO
from arrax.experimental.sparse.layouts import bcoo_update_layout
from arrax.experimental.sparse.parts import bcoo_getitem
from arrax.experimental.sparse.products import matmul
from arrax.experimental.sparse.shapes import bcoo_transpose
from arrax.experimental.sparse.sparsification import as_bcoo, is_sparse, sparsify
from arrax.xla.arrays import Array, ArrayLike


def _operator(function: Callable[..., Any], reflected: bool = False) -> Callable[..., Any]:
    def method(self: JAXSparse, *others: Any) -> Array | BCOO:
        operands = (*others, self) if reflected else (self, *others)
        # Python's numbers are constants of the operation, as exponents have to be.
        numbers = [isinstance(x, bool | int | float | complex) for x in operands]

        def of_arrays(*arrays: Array) -> Array:
            rest = iter(arrays)
            return function(*(x if number else next(rest) for x, number in zip(operands, numbers, strict=True)))

        return sparsify(of_arrays)(*(x for x, number in zip(operands, numbers, strict=True) if not number))

    return boundary(method)


def _matmul(self: JAXSparse, other: Any) -> Array | BCOO:
    return matmul(as_bcoo(self), as_bcoo(other) if is_sparse(other) else jnp.asarray(other))


def _rmatmul(self: JAXSparse, other: ArrayLike) -> Any:
    return matmul(jnp.asarray(other), as_bcoo(self))


for _name in ("add", "sub", "mul", "truediv", "pow", "eq", "ne", "lt", "le", "gt", "ge"):
    setattr(JAXSparse, f"__{_name}__", _operator(getattr(operator, _name)))
for _name in ("add", "sub", "mul", "truediv"):
    setattr(JAXSparse, f"__r{_name}__", _operator(getattr(operator, _name), reflected=True))
for _name in ("neg", "pos", "abs"):
    setattr(JAXSparse, f"__{_name}__", _operator(getattr(operator, _name)))


def transpose(self: BCOO, axes: Any = None) -> BCOO:
    """The array with its axes in another order, by default reversed; see ``bcoo_transpose``."""
    return bcoo_transpose(self, permutation=range(self.ndim)[::-1] if axes is None else axes)


def reshape(self: JAXSparse, *args: int | tuple[int, ...], **kwargs: Any) -> BCOO:
    """The array with the same elements in another shape, as ``Array.reshape``."""
    return sparsify(lambda x: x.reshape(*args, **kwargs))(self)


def sum_(self: JAXSparse, *args: Any, **kwargs: Any) -> Array | BCOO:
    """The sum over axes, by default all, as ``Array.sum``; dense where no axis is left."""
    return sparsify(lambda x: x.sum(*args, **kwargs))(self)


def _item(self: JAXSparse, index: Any) -> BCOO:
    """Elements by integers, slices, None and ``...``, and by arrays of integers."""
    parts = index if isinstance(index, tuple) else (index,)
    if any(isinstance(part, np.ndarray | Array) and part.ndim for part in parts):
        return sparsify(lambda x: x[index])(self)
    return bcoo_getitem(as_bcoo(self), index)


def _rows(self: JAXSparse) -> Iterator[BCOO]:
    mat = as_bcoo(self)
    return (bcoo_getitem(mat, n) for n in range(len(mat)))


def update_layout(self: BCOO, *, n_batch: Count = None, n_dense: Count = None, on_inefficient: Text = "error") -> BCOO:
    """The same array with other numbers of batch and dense dimensions, see ``bcoo_update_layout``."""
    return bcoo_update_layout(self, n_batch=n_batch, n_dense=n_dense, on_inefficient=on_inefficient)


_METHODS: dict[type[JAXSparse], dict[str, Callable[..., Any]]] = {
    JAXSparse: {
        "__matmul__": _matmul, "__rmatmul__": _rmatmul, "reshape": reshape, "sum": sum_, "__getitem__": _item,
        "__iter__": _rows,
    },
    BCOO: {"update_layout": update_layout, "transpose": transpose},
}  # fmt: skip
for _class, _methods in _METHODS.items():
    for _name, _method in _methods.items():
        _method.__name__, _method.__qualname__ = _name, f"{_class.__name__}.{_name}"
        setattr(_class, _name, boundary(_method))
