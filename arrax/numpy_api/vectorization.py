"""Functions of single elements or vectors, mapped over the other axes (NumPy reference, routines.functional)."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

from arrax.core.calls import check_callable
from arrax.core.functions import named_like
from arrax.core.tracebacks import boundary
from arrax.core.types import is_arraylike, typeof
from arrax.lax import shape_arguments, shapes
from arrax.lax.operand_checks import checked_operand
from arrax.numpy_api.creation import asarray
from arrax.numpy_api.manipulation import expand_dims
from arrax.numpy_api.operands import as_operand, check_arraylike, report_rank_promotion
from arrax.numpy_api.routes import eager_operand
from arrax.transforms.vectorize import vmap
from arrax.xla.arrays import Array, ArrayLike

Dims = tuple[str, ...]

# ---- signatures -----------------------------------------------------------------------------------------------------

_NAME = r"\w+"
_CORE = rf"\((?:{_NAME}(?:,{_NAME})*)?\)"
_SIGNATURE = re.compile(rf"^{_CORE}(?:,{_CORE})*->{_CORE}(?:,{_CORE})*$|^->{_CORE}(?:,{_CORE})*$")


@functools.lru_cache(1024)
def parsed_signature(signature: str) -> tuple[tuple[Dims, ...], tuple[Dims, ...]]:
    """The core axes of the arguments and of the results."""
    text = re.sub(r"\s+", "", signature)
    if not _SIGNATURE.match(text):
        raise ValueError(f"not a valid gufunc signature: {signature}")
    return tuple(tuple(tuple(re.findall(_NAME, core)) for core in re.findall(_CORE, side)) for side in text.split("->"))  # type: ignore[return-value]


class Core:
    """The lengths of the core axes, which all arguments share."""

    def __init__(self, where: str) -> None:
        self.where, self.lengths = where, {}  # type: tuple[str, dict[str, int]]

    def learn(self, shape: tuple[int, ...], dims: Dims) -> None:
        """Read lengths from the last axes of an argument.

        Raises:
          ValueError: too few axes, or another length than before.
        """
        if len(shape) < len(dims):
            raise ValueError(
                f"input with shape {shape} does not have enough dimensions for all core dimensions {dims} {self.where}"
            )
        for dim, length in zip(dims, shape[len(shape) - len(dims) :], strict=True):
            known = self.lengths.setdefault(dim, length)
            if known != length:
                raise ValueError(f"inconsistent size for core dimension {dim!r}: {length} vs {known} {self.where}")

    def check_result(self, shape: tuple[int, ...], dims: Dims) -> None:
        """Compare the shape of a result with the signature."""
        if len(shape) != len(dims):
            raise ValueError(f"output shape {shape} does not match core dimensions {dims} {self.where}")
        self.learn(shape, dims)


def _as_result(value: Any) -> Any:
    return asarray(value) if is_arraylike(value) else value


def checked(fun: Callable[..., Any], core: Core, outputs: tuple[Dims, ...] | None) -> Callable[..., Any]:
    """The function with its results made arrays and compared with the signature. Results may be pytrees."""

    @named_like(fun)
    def call(*args: Array) -> Any:
        result = fun(*args)
        if outputs is None:
            return tuple(map(_as_result, result)) if isinstance(result, tuple) else _as_result(result)
        several = isinstance(result, tuple | list)
        if len(outputs) != (len(result) if several else 1) or (
            several and len(outputs) == 1 and not isinstance(result, tuple)
        ):
            count = len(result) if several else 1
            raise TypeError(f"wrong number of output arguments: expected {len(outputs)}, got {count} {core.where}")
        values = tuple(result) if several else (result,)
        for value, dims in zip(values, outputs, strict=True):
            core.check_result(typeof(value).shape if is_arraylike(value) else getattr(value, "shape", ()), dims)
        return tuple(values) if len(outputs) > 1 or several else values[0]

    return call


def _mapped(fun: Callable[..., Any], arrays: Sequence[Any], ranks: Sequence[int]) -> Any:
    """The function mapped over all leading axes of arrays, each of which has a number of core axes."""
    lead_shapes = [typeof(a).shape[: typeof(a).ndim - rank] for a, rank in zip(arrays, ranks, strict=True)]
    of_axes = [lead for lead, array in zip(lead_shapes, arrays, strict=True) if typeof(array).ndim]
    report_rank_promotion("vectorize", of_axes)
    batch = shapes.broadcast_shapes(*lead_shapes) if lead_shapes else ()
    squeezed, present = [], []
    for array, lead in zip(arrays, lead_shapes, strict=True):
        padded = (1,) * (len(batch) - len(lead)) + lead
        dropped = [i for i, length in enumerate(lead) if length == 1 and batch[len(batch) - len(lead) + i] != 1]
        squeezed.append(shapes.squeeze(checked_operand("vectorize", array), dropped) if dropped else array)
        present.append([len(batch) - len(lead) <= i and (padded[i] != 1 or batch[i] == 1) for i in range(len(batch))])
    for axis in reversed(range(len(batch))):
        axes = tuple(0 if row[axis] else None for row in present)
        if any(entry == 0 for entry in axes):
            fun = vmap(fun, in_axes=axes)
    return fun(*squeezed)


def _exclusion(excluded: frozenset[Any]) -> frozenset:
    if any(not isinstance(one, str | int) for one in excluded):
        raise TypeError(f"vectorize can only exclude integer or string arguments, but excluded={excluded}")
    if any(isinstance(one, int) and one < 0 for one in excluded):
        raise ValueError(f"excluded={excluded} contains negative numbers")
    return frozenset(excluded)


def vectorize(
    pyfunc: Callable[..., Any], *, excluded: Any = frozenset(), signature: str | None = None
) -> Callable[..., Any]:
    """A function of elements (or of small arrays) made one of arrays, whose other axes are mapped and broadcast.

    Args:
      pyfunc: the function.
      excluded: positions and names of arguments that are passed on as they are.
      signature: the core axes of arguments and results, as ``"(m,n),(n)->(m)"``; by default all are scalars.
    Returns: a function of the same arguments.
    Raises:
      ValueError: a signature that cannot be read; when called, arguments that don't fit it.
      TypeError: another number of arguments or results than the signature has.
    Example: ``jnp.vectorize(jnp.dot, signature="(n),(n)->()")(jnp.ones((2, 3)), jnp.ones(3))`` is ``[3., 3.]``.
      Source: ``numpy.vectorize``.
    """
    check_callable(pyfunc)
    left_out = _exclusion(excluded)

    @boundary
    @functools.wraps(pyfunc)
    def wrapped(*args: Array, **kwargs: Any) -> Any:
        where = f"on vectorized function with excluded={excluded!r} and signature={signature!r}"
        fun, values = _without_excluded(pyfunc, left_out, args, kwargs)
        inputs, outputs = parsed_signature(signature) if signature is not None else (((),) * len(values), None)
        if len(values) != len(inputs):
            raise TypeError(f"wrong number of positional arguments: expected {len(inputs)}, got {len(values)} {where}")
        arrays = [eager_operand("vectorize", value) for value in values]
        core = Core(where)
        for array, dims in zip(arrays, inputs, strict=True):
            core.learn(typeof(array).shape, dims)
        return _mapped(checked(fun, core, outputs), arrays, [len(dims) for dims in inputs])

    return wrapped


def _without_excluded(
    fun: Callable[..., Any], excluded: frozenset, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], list[Any]]:
    """The function of the arguments that are mapped, and those arguments."""
    fixed = {i: value for i, value in enumerate(args) if i in excluded or value is None}
    fixed_names = {name: value for name, value in kwargs.items() if name in excluded}
    mapped_names = [name for name in kwargs if name not in excluded]
    positions = [i for i in range(len(args)) if i not in fixed]
    if not fixed and not kwargs:
        return fun, list(args)

    @named_like(fun)
    def call(*values: Array) -> Any:
        placed = {**fixed, **dict(zip(positions, values, strict=False))}
        named = dict(zip(mapped_names, values[len(positions) :], strict=True))
        return fun(*[placed[i] for i in range(len(args))], **fixed_names, **named)

    return call, [*(args[i] for i in positions), *(kwargs[name] for name in mapped_names)]


# ---- functions of vectors -------------------------------------------------------------------------------------------


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: Any, **kwargs: Any) -> Array:
    """Apply a function to all vectors along an axis.

    Args:
      func1d: function of a vector.
      axis: axis.
      arr: array.
      args, kwargs: passed on to the function.
    Returns: array with the axes of the results instead of the axis.
    Raises:
      ValueError: no such axis.
    Example: ``jnp.apply_along_axis(jnp.sum, 0, jnp.ones((2, 3)))`` is ``[2., 2., 2.]``. Source: ``numpy.apply_along_axis``.
    """
    check_arraylike("apply_along_axis", arr)
    rank = typeof(arr).ndim
    index = shape_arguments.canonical_axis(axis, rank)

    @named_like(func1d)
    def fun(vector: Array) -> Any:
        return func1d(vector, *args, **kwargs)

    for _ in range(rank - index - 1):
        fun = vmap(fun, in_axes=-1, out_axes=-1)
    for _ in range(index):
        fun = vmap(fun, in_axes=0, out_axes=0)
    return fun(eager_operand("apply_along_axis", arr))


def apply_over_axes(func: Callable[[Any, int], Any], a: ArrayLike, axes: Sequence[int]) -> Array:
    """Apply a reduction along one axis after the other; reduced axes are kept.

    Args:
      func: function of an array and an axis, whose result has as many axes, or one less.
      a: array.
      axes: the axes, in order.
    Raises:
      ValueError: a result of another rank.
    Example: ``jnp.apply_over_axes(jnp.sum, jnp.ones((2, 3)), [0, 1]).shape`` is ``(1, 1)``. Source: ``numpy.apply_over_axes``.
    """
    check_callable(func)
    check_arraylike("apply_over_axes", a)
    rank, out = typeof(a).ndim, as_operand(a)
    for axis in axes:
        result = func(out, axis)
        if typeof(result).ndim == rank - 1:
            result = expand_dims(result, shape_arguments.canonical_axis(axis, rank))
        if typeof(result).ndim != rank:
            raise ValueError("apply_over_axes: function is not returning an array of the correct shape")
        out = result
    return out
