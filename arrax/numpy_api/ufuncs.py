"""Universal functions: elementwise functions that reduce, accumulate and update (NumPy reference, ufuncs)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import as_index, check_callable
from arrax.core.tracebacks import bound_methods
from arrax.core.types import typeof
from arrax.lax import axis_order, concatenation, filled_arrays, selection, shape_arguments, static_slicing
from arrax.lax.control_flow.loops import fori_loop
from arrax.lax.control_flow.scans import scan
from arrax.lax.conversion import convert
from arrax.lax.gathers import FILL_OR_DROP
from arrax.numpy_api import accumulations, elementwise, logic, reductions, ufunc_reductions
from arrax.numpy_api.api import api
from arrax.numpy_api.axis_order import moveaxis
from arrax.numpy_api.creation import asarray
from arrax.numpy_api.gathers import take_slices
from arrax.numpy_api.index_application import Access
from arrax.numpy_api.indexing import access_item, getitem
from arrax.numpy_api.manipulation import broadcast_to, expand_dims, ravel, reshape
from arrax.numpy_api.operands import canonical_axes, check_arraylike, refuse_options, refuse_out
from arrax.numpy_api.routes import eager_operand
from arrax.numpy_api.selection import where as choose
from arrax.numpy_api.updates import update_item
from arrax.numpy_api.vectorization import vectorize
from arrax.transforms.inspection import ShapeDtypeStruct, eval_shape
from arrax.xla.annotations import Axes
from arrax.xla.arrays import Array, ArrayLike, OptionalArray

Function = Callable[..., Any]


class _WithMethods(type):
    """The type of ``ufunc``: compiled functions that have its methods count as instances."""

    def __instancecheck__(cls, instance: object) -> bool:
        return super().__instancecheck__(getattr(instance, "_methods", instance))


@bound_methods
class ufunc(metaclass=_WithMethods):
    """An elementwise function with NumPy's methods of universal functions.

    Args:
      func: function of scalars (or of arrays, elementwise).
      nin: number of arguments.
      nout: number of results.
      name: its name, by default that of ``func``.
      nargs: number of arguments and results.
      identity: the neutral element, or None.
      call: function of whole arrays that a call runs; by default ``func``, mapped.
      reduce, accumulate, at, reduceat: faster ways of the methods of these names.
      associative: whether elements may be grouped and ordered in any way, which ``reduceat`` is faster for.
    Example: ``jnp.frompyfunc(jnp.add, 2, 1, identity=0).reduce(jnp.arange(4))`` is 6. Source: ``numpy.ufunc``.
    """

    def __init__(
        self, func: Function, /, nin: int, nout: int, *, name: Any = None, nargs: Any = None, identity: Any = None,
        call: Function | None = None, reduce: Function | None = None, accumulate: Function | None = None,
        at: Function | None = None, reduceat: Function | None = None, associative: bool = False,
    ) -> None:  # fmt: skip
        check_callable(func)
        functools.update_wrapper(self, func, updated=())  # not its methods, which would hide those of this class
        self.__name__ = name or getattr(func, "__name__", "ufunc")
        self._nin, self._nout, self._identity = as_index(nin), as_index(nout), identity
        self._func = func
        self._nargs = self._nin if nargs is None else as_index(nargs)
        self._call = call if call is not None else vectorize(func)
        self._reduce, self._accumulate, self._at, self._reduceat = reduce, accumulate, at, reduceat
        self._associative = associative

    nin = property(lambda self: self._nin, doc="Number of arguments.")
    nout = property(lambda self: self._nout, doc="Number of results.")
    nargs = property(lambda self: self._nargs, doc="Number of arguments.")
    identity = property(lambda self: self._identity, doc="The neutral element, or None.")

    def __repr__(self) -> str:
        return f"<jnp.ufunc '{self.__name__}'>"

    def __hash__(self) -> int:
        return hash((self._func, self.__name__, self._nin, self._nout))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._key() == other._key()

    def _key(self) -> tuple[Any, ...]:
        return self._func, self.__name__, self._nin, self._nout, self._identity

    def __call__(self, *args: ArrayLike, out: None = None, where: None = None) -> Array | tuple[Array, Array]:
        """The function, elementwise; arguments are broadcast against each other.

        Raises:
          TypeError: another number of arguments; lists.
          NotImplementedError: ``out`` or ``where``.
        """
        refuse_options(repr(self), out, where)
        if len(args) != self._nin:
            raise TypeError(f"{self.__name__} takes {self._nin} arguments, got {len(args)}")
        check_arraylike(self.__name__, *args)
        return self._call(*args)

    def _check_binary(self, method: str) -> None:
        if self._nin != 2 or self._nout != 1:
            raise ValueError(f"{method} only supported for binary ufuncs with single output, not for {self!r}")

    def reduce(
        self, a: Any, axis: Axes | None = 0, dtype: Any = None, out: None = None, keepdims: bool = False, initial: Any = None,
        where: Any = None,
    ) -> Array:  # fmt: skip
        """Combine the elements along axes, from left to right.

        Args:
          a: array.
          axis: axis, tuple of axes, or None for all.
          dtype: dtype of the result.
          keepdims: keep the reduced axes, with length 1.
          initial: value to begin with.
          where: mask of the elements to combine; it needs a neutral element or ``initial``.
        Raises:
          ValueError: not a binary function; nothing to combine and no neutral element.
        """
        self._check_binary("reduce")
        refuse_out(f"{self.__name__}.reduce", out)
        check_arraylike(f"{self.__name__}.reduce", a)
        if self._reduce is not None and (dtype is None or self._reduce in (reductions.sum, reductions.prod)):
            extra = {"dtype": dtype} if dtype is not None else {}
            return self._reduce(a, axis=axis, keepdims=keepdims, initial=initial, where=where, **extra)
        start = self._identity if initial is None else initial
        if where is not None and start is None:
            raise ValueError(
                f"reduction operation {self.__name__!r} does not have an identity, so to use a where mask one has to specify "
                "'initial'."
            )
        a, call = asarray(a, dtype=dtype), self._call
        axes = canonical_axes(axis, typeof(a).ndim)
        begin = initial if where is None else start
        return _folded(a, call, begin, where, self._identity, axes, bool(keepdims), dtype is None)

    def accumulate(self, a: ArrayLike, axis: int = 0, dtype: Any = None, out: None = None) -> Array:
        """Combine the elements up to each one, along an axis.

        Args:
          a: array.
          axis: axis.
          dtype: dtype of the result.
        Raises:
          ValueError: not a binary function; no such axis, as there is none of a scalar.
        """
        self._check_binary("accumulate")
        refuse_out(f"{self.__name__}.accumulate", out)
        check_arraylike(f"{self.__name__}.accumulate", a)
        if typeof(a).ndim == 0:
            raise np.exceptions.AxisError(f"{self.__name__}.accumulate: a scalar has no axis, got axis={axis!r}")
        if self._accumulate is not None:
            return self._accumulate(a, axis=axis, dtype=dtype)
        a = asarray(a, dtype=dtype)
        return _prefixes(a, self._call, shape_arguments.canonical_axis(axis, typeof(a).ndim), dtype is None)

    def outer(self, A: ArrayLike, B: ArrayLike, /) -> Array:
        """The function of each element of ``A`` with each of ``B``.

        Returns: array with the axes of both.
        Raises:
          ValueError: not a binary function.
        """
        self._check_binary("outer")
        check_arraylike(f"{self.__name__}.outer", A, B)
        A, B = (eager_operand(self.__name__, v) for v in (A, B))
        return self._call(reshape(A, typeof(A).shape + (1,) * typeof(B).ndim), B)

    def at(self, a: ArrayLike, indices: ArrayLike, b: OptionalArray = None, /, *, inplace: bool = True) -> Any:
        """The array with elements replaced by the function of them (and of ``b``); repeated indices count repeatedly.

        Args:
          a: array.
          indices: what an array can be indexed with.
          b: second operand, broadcast to the elements.
          inplace: must be False: arrays are never changed in place.
        Raises:
          NotImplementedError: ``inplace=True``.
        """
        if inplace:
            raise NotImplementedError(
                f"Arrays are immutable, so jnp.{self.__name__}.at() cannot work in place: pass inplace=False, and take the result."
            )
        a = eager_operand(f"{self.__name__}.at", a)
        if self._at is not None:
            return self._at(a, indices) if b is None else self._at(a, indices, b)
        if b is None:
            return update_item(a, indices, self._call(getitem(a, indices)), "set")
        return _updated(self._call, a, indices, b)

    def reduceat(self, a: ArrayLike, indices: ArrayLike, axis: int = 0, dtype: Any = None, out: None = None) -> Array:
        """Combine the elements between given places of an axis, as ``reduce`` does.

        Args:
          a: array.
          indices: vector of places: each piece goes to the next place; where that is not greater, it is one element.
          axis: axis.
          dtype: dtype of the result.
        Raises:
          ValueError: not a binary function, or places that are not a vector of integers.
        """
        self._check_binary("reduceat")
        refuse_out(f"{self.__name__}.reduceat", out)
        check_arraylike(f"{self.__name__}.reduceat", a, indices)
        if typeof(indices).ndim != 1 or not dtypes.is_integer(typeof(indices).dtype):
            raise ValueError(f"{self.__name__}.reduceat: indices must be a vector of integers, got {typeof(indices)}")
        if self._reduceat is not None:
            return self._reduceat(a, indices, axis=axis, dtype=dtype)
        a, axis = asarray(a, dtype=dtype), shape_arguments.canonical_axis(axis, typeof(a).ndim)
        length = typeof(a).shape[axis]
        # Products of stretches that no piece has may overflow, and the derivative would then be NaN.
        in_stretches = self._associative and not (self._call is elementwise.multiply and _has_derivative(a))
        pieces = _pieces_of_stretches if in_stretches and length >= _MIN_STRETCHED else _pieces
        return pieces(a, asarray(indices), self._call, axis, dtype is None)


def frompyfunc(func: Function, /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """A universal function of a Python function of scalars.

    Args:
      func: function of ``nin`` scalars with ``nout`` results.
      nin, nout: how many.
      identity: the neutral element of a binary function.
    Example: ``jnp.frompyfunc(lambda x, y: x + 2 * y, 2, 1)(1, jnp.arange(2))`` is ``[1, 3]``. Source: ``numpy.frompyfunc``.
    """
    return ufunc(func, nin, nout, identity=identity)


# ---- what the methods do --------------------------------------------------------------------------------------------


def _as_results(a: ArrayLike, call: Callable[..., Any], natural: bool) -> Any:
    """The elements in the dtype that the function gives for two of them, unless the user has chosen another."""
    one = ShapeDtypeStruct((), typeof(a).dtype, weak_type=typeof(a).weak_type)
    result = eval_shape(call, one, one) if natural else one
    return a if result.dtype == one.dtype else convert(a, result.dtype)


def _like_first(value: Array, first: Array) -> Array:
    aval = typeof(first)
    return broadcast_to(convert(value, aval.dtype, aval.weak_type), aval.shape)


@api(static=("call", "identity", "axes", "keepdims", "natural"))
def _folded(
    a: ArrayLike, call: Callable[..., Any], initial: OptionalArray, where: OptionalArray, identity: Any, axes: tuple[int, ...], keepdims: bool,
    natural: bool,
) -> Array:  # fmt: skip
    a = _as_results(a, call, natural)
    shape = typeof(a).shape
    kept = [i for i in range(len(shape)) if i not in axes]
    length = int(np.prod([shape[i] for i in axes], dtype=np.int64))
    rows = reshape(axis_order.transpose(a, (*axes, *kept)), (length, *(shape[i] for i in kept)))
    mask = None
    if where is not None:
        broadcasted = broadcast_to(where, shape)
        mask = reshape(axis_order.transpose(broadcasted, (*axes, *kept)), typeof(rows).shape)
    if initial is None and length == 0:
        if identity is None:
            raise ValueError("zero-size array to reduction operation which has no identity")
        initial = identity
    start = (
        broadcast_to(convert(initial, typeof(a).dtype), typeof(rows).shape[1:])
        if initial is not None
        else getitem(rows, 0)
    )
    rows, mask = (rows, mask) if initial is not None else (getitem(rows, slice(1, None)), mask)

    def step(carry: Array, item: tuple[Array, Any]) -> tuple[Any, None]:
        row, chosen = item
        combined = _like_first(call(carry, row), carry)
        return (combined if chosen is None else choose(chosen, combined, carry)), None

    out = scan(step, convert(start, typeof(start).dtype), (rows, mask))[0]
    return expand_dims(out, tuple(sorted(axes))) if keepdims else out


@api(static=("call", "axis", "natural"))
def _prefixes(a: ArrayLike, call: Callable[..., Any], axis: int, natural: bool) -> Any:
    a = _as_results(a, call, natural)
    rows = moveaxis(a, axis, 0)
    if typeof(rows).shape[0] < 2:
        return a

    def step(carry: Array, row: Array) -> tuple[Any, Any]:
        out = _like_first(call(carry, row), carry)
        return out, out

    first = convert(getitem(rows, 0), typeof(rows).dtype)
    _, rest = scan(step, first, getitem(rows, slice(1, None)))
    whole = [expand_dims(first, 0), rest]
    return moveaxis(concatenation.concatenate(whole, 0), 0, axis)


_MIN_STRETCHED = 32  # rows for which a loop over them takes longer than looking up stretches of them


def _has_derivative(a: Array) -> bool:
    return dtypes.is_inexact(typeof(a).dtype)


def _bounds(indices: Any, length: int) -> tuple[Any, Any]:
    """The first places of pieces, and what follows their last ones."""
    indices = convert(indices, dtypes.canonicalize_dtype(np.int64))
    end = filled_arrays.full((1,), length, typeof(indices).dtype)
    return indices, concatenation.concatenate([getitem(indices, slice(1, None)), end], 0)


def _beside_rows(mask: Array, rows: Array) -> Array:
    return reshape(mask, typeof(mask).shape + (1,) * (typeof(rows).ndim - 1))


@api(static=("call", "axis", "natural"))
def _pieces(a: ArrayLike, indices: Array, call: Callable[..., Any], axis: int, natural: bool) -> Array:
    """Each piece is folded in a loop over all of the axis, in which only its own elements count."""
    rows = moveaxis(_as_results(a, call, natural), axis, 0)
    length = typeof(rows).shape[0]
    starts, ends = _bounds(indices, length)

    def step(i: Array, carry: Array) -> Any:
        row = broadcast_to(getitem(rows, i), typeof(carry).shape)
        index = convert(i, typeof(starts).dtype)
        inside = logic.logical_and(logic.greater(index, starts), logic.less(index, ends))
        return choose(_beside_rows(inside, rows), _like_first(call(carry, row), carry), carry)

    first = convert(getitem(rows, starts), typeof(rows).dtype)
    return moveaxis(fori_loop(0, length, step, first), 0, axis)


def _stretches(rows: Array, call: Callable[..., Any]) -> list[Any]:
    """The rows, those of pairs of them combined, of pairs of these, and so on; what has no partner is left out."""
    levels = [rows]
    while (half := typeof(levels[-1]).shape[0] // 2) > 0:
        first, second = (static_slicing.slice_in_dim(levels[-1], i, 2 * half, 2) for i in (0, 1))
        levels.append(_like_first(call(first, second), first))
    return levels


@api(static=("call", "axis", "natural"))
def _pieces_of_stretches(a: Array, indices: Array, call: Callable[..., Any], axis: int, natural: bool) -> Array:
    """Each piece is put together of stretches of 1, 2, 4, ... rows: at most two of each length."""
    rows = moveaxis(_as_results(a, call, natural), axis, 0)
    rows = convert(rows, typeof(rows).dtype)
    length = typeof(rows).shape[0]
    indices, ends = _bounds(indices, length)
    levels = _stretches(rows, call)
    stretches = concatenation.concatenate(levels, 0)
    offsets = np.cumsum([0] + [typeof(level).shape[0] for level in levels[:-1]]).astype(typeof(indices).dtype)

    def extended(total: Array, taken: Array, index: Array) -> Array:
        row = take_slices(stretches, selection.clamp(0, index, typeof(stretches).shape[0] - 1), 0)
        return choose(_beside_rows(taken, rows), _like_first(call(total, row), total), total)

    def step(carry: tuple[Array, ...], offset: Array) -> tuple[Any, None]:
        """What is left of a piece, counted in stretches of this length, loses odd ones at both ends."""
        total, start, end = carry
        more = convert(logic.less(start, end), typeof(start).dtype)
        before, behind = (more * (index & 1) for index in (start, end))
        total = extended(total, logic.equal(before, 1), offset + start)
        total = extended(total, logic.equal(behind, 1), offset + end - 1)
        return (total, (start + before) >> 1, end >> 1), None

    limits = (selection.clamp(0, index, length) for index in (indices + 1, ends))
    return moveaxis(scan(step, (getitem(rows, indices), *limits), offsets)[0][0], 0, axis)


def _updated(call: Callable[..., Any], a: Array, indices: Any, b: Any) -> Array:
    """One element after the other, since repeated indices count repeatedly; what is out of bounds is left out."""
    size = typeof(a).size
    numbers = reshape(np.arange(size, dtype=np.int32), typeof(a).shape)
    positions = access_item(numbers, indices, Access(FILL_OR_DROP, fill_value=size))
    values = broadcast_to(eager_operand("at", b), typeof(positions).shape)
    if size == 0 or typeof(positions).size == 0:
        return a
    return _updated_at(ravel(a), ravel(positions), ravel(values), call).reshape(typeof(a).shape)


@api(static=("call",))
def _updated_at(flat: Array, indices: Array, values: Array, call: Callable[..., Any]) -> Array:
    def step(carry: Array, item: tuple[Array, ...]) -> tuple[Any, None]:
        index, value = item
        new = convert(call(getitem(carry, index), value), typeof(carry).dtype)
        return update_item(carry, index, new, "set"), None

    return scan(step, convert(flat, typeof(flat).dtype), (indices, values))[0]


# ---- universal functions of this API --------------------------------------------------------------------------------


def give_methods(
    function: Any,
    identity: Any,
    reduce: Callable[..., Any] | None = None,
    accumulate: Callable[..., Any] | None = None,
    nin: int = 2,
    associative: bool = True,
) -> Any:
    """Attach the methods of a universal function to a compiled one."""
    made = ufunc(
        function.__wrapped__, nin, 1, name=function.__name__, identity=identity, call=function, reduce=reduce, accumulate=accumulate,
        associative=associative,
    )  # fmt: skip
    function.__dict__["_methods"] = made
    for name in ("reduce", "accumulate", "outer", "at", "reduceat", "nin", "nout", "nargs", "identity"):
        function.__dict__[name] = getattr(made, name)
    return function


# fmt: off
give_methods(elementwise.add,      0, reductions.sum, accumulations.cumsum)
give_methods(elementwise.multiply, 1, reductions.prod, accumulations.cumprod)
give_methods(elementwise.maximum,  None, reductions.max, accumulations.running_maximum)
give_methods(elementwise.minimum,  None, reductions.min, accumulations.running_minimum)
give_methods(elementwise.subtract, None, associative=False)
give_methods(elementwise.negative, None, nin=1, associative=False)
give_methods(elementwise.logaddexp, -np.inf, ufunc_reductions.sum_of_exponentials)
give_methods(elementwise.logaddexp2, -np.inf)
give_methods(logic.logical_and, True, ufunc_reductions.all_true)
give_methods(logic.logical_or, False, ufunc_reductions.any_true)
give_methods(logic.logical_xor, False, ufunc_reductions.odd_true)
give_methods(logic.bitwise_and, -1, ufunc_reductions.bits_of_all)
give_methods(logic.bitwise_or, 0, ufunc_reductions.bits_of_any)
give_methods(logic.bitwise_xor, 0, ufunc_reductions.bits_of_odd)
# fmt: on
