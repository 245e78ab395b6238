"""Inside a kernel: which program of the grid runs, and reading, writing and control flow with references."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import lax
from arrax import numpy as jnp
from arrax.core.calls import as_index
from arrax.experimental.pallas.blocks import beginning
from arrax.lax.debug_prints import print_ as print_values
from arrax.numpy_api.reference_index import Slice
from arrax.numpy_api.references import freeze, new_ref
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.interpreters.references import StagedRef


def when(condition: bool | ArrayLike) -> Callable[[Callable[[], Any]], None]:
    """Decorator: run a function without arguments at once, where a condition holds.

    Args:
      condition: bool scalar.
    Example: ``pl.pallas_call(lambda x_ref, o_ref: pl.when(x_ref[0] == 0)(lambda: o_ref.set(2 * x_ref[...])), out_shape=x)(x)``
    is ``[0, 2, 4, 6]``.
    """

    def run(fun: Callable[[], Any]) -> None:
        if isinstance(condition, bool | np.bool_):
            if condition:
                fun()
            return

        def chosen() -> None:
            fun()

        lax.cond(condition, chosen, lambda: None)

    return run


def loop(
    lower: ArrayLike, upper: ArrayLike, *, init_carry: Any = None, step: ArrayLike = 1, unroll: int | bool | None = None
) -> Callable[[Callable[..., Any]], Any]:
    """Decorator: run a function for each number of a range; what it is called by becomes the last carry.

    Args:
      lower, upper, step: the range.
      init_carry: pytree that the function takes after the number, and returns; None for functions of the number alone.
      unroll: as for ``lax.fori_loop``.
    Example: ``pl.pallas_call(lambda x_ref, o_ref: pl.loop(0, 4)(lambda i: o_ref.set(-x_ref[i], i)), out_shape=x)(x)`` is ``-x``.
    """

    def run(body: Callable[..., Any]) -> Any:
        def one(number: Array, carry: Any) -> Any:
            index = lower + number * step
            return body(index) if init_carry is None else body(index, carry)

        count: Any = -((lower - upper) // step)  # type: ignore[operator]
        return lax.fori_loop(0, count, one, init_carry, unroll=unroll)

    return run


def _index(idx: Any) -> Any:
    """Indices of ``load`` and ``store`` as references take them, where ``()`` means all."""
    return ... if isinstance(idx, tuple) and not idx else idx


def _masked_index(ref: StagedRef, idx: Any) -> Any:
    """Indices as ``_index`` gives them, with a number for each element, so that masked ones may lie outside.

    A slice as a whole would be moved inside. Beside arrays of indices it is.
    """
    entries = idx if isinstance(idx, tuple) else (idx,)
    slices = [entry for entry in entries if isinstance(entry, Slice)]
    if not slices or not all(isinstance(entry, slice | Slice) or np.shape(entry) == () for entry in entries):
        return _index(idx)
    if any(entry is ... or entry is None for entry in entries):
        return idx
    entries = (*entries, *[slice(None)] * (len(ref.shape) - len(entries)))
    kept = sum(isinstance(entry, slice | Slice) for entry in entries)
    numbers: list[Any] = []
    for entry, size in zip(entries, ref.shape, strict=True):
        if isinstance(entry, slice | Slice):
            kept -= 1
            along = np.arange(*entry.indices(size)) if isinstance(entry, slice) else _numbers(entry, size)
            entry = along.reshape(-1, *(1,) * kept)
        numbers.append(entry)
    return tuple(numbers)


def _numbers(part: Slice, size: int) -> Array:
    """The indices of a slice; those before the array become ones behind it, which do not count from its end."""
    numbers = part.start + part.stride * np.arange(part.size, dtype=np.int32)
    return jnp.where(numbers < 0, size, numbers)


def load(
    x_ref: StagedRef, idx: Any = (), *, mask: ArrayLike | None = None, other: ArrayLike | None = None,
    cache_modifier: str | None = None, eviction_policy: str | None = None, volatile: bool = False,
) -> Array:  # fmt: skip
    """Read a part of a reference.

    Args:
      x_ref: reference.
      idx: tuple of integers, integer arrays, slices and ``pl.ds``; ``()`` reads all.
      mask: bools of the result's shape (or that broadcast to it): elsewhere nothing is read, so that indices may be out of bounds.
      other: what stands there then; by default no particular value.
      cache_modifier, eviction_policy, volatile: hints, without effect here.
    Returns: array.
    Raises: ValueError for ``other`` without ``mask``.
    Example: ``pl.pallas_call(lambda x_ref, o_ref: o_ref.set(pl.load(x_ref, (pl.ds(1, 2),))), out_shape=x[:2])(x)`` is ``[1, 2]``.
    """
    if other is not None and mask is None:
        raise ValueError("load: other needs a mask")
    if mask is None:
        return x_ref[_index(idx)]
    value = x_ref[_masked_index(x_ref, idx)]
    rest = 0 if other is None else other
    return jnp.where(mask, value, jnp.asarray(rest, value.dtype))


def store(
    x_ref: StagedRef,
    idx: Any,
    val: ArrayLike,
    *,
    mask: ArrayLike | None = None,
    eviction_policy: str | None = None,
) -> None:
    """Write a part of a reference.

    Args:
      x_ref: reference.
      idx: tuple of integers, integer arrays, slices and ``pl.ds``; ``()`` writes all.
      val: array of the part's shape, or that broadcasts to it.
      mask: bools of that shape: nothing is written elsewhere.
      eviction_policy: a hint, without effect here.
    Example: ``pl.pallas_call(lambda x_ref, o_ref: pl.store(o_ref, (), x_ref[...] + 1), out_shape=x)(x)`` is ``x + 1``.
    """
    part = x_ref.at[_index(idx) if mask is None else _masked_index(x_ref, idx)]
    part[...] = jnp.broadcast_to(val if mask is None else jnp.where(mask, val, part[...]), part.shape).astype(
        part.dtype
    )


def run_scoped(f: Callable[..., Any], *types: Any, collective_axes: Any = (), **kw_types: Any) -> Any:
    """Call a function with memory that exists for that long.

    Args:
      f: function of references.
      types: what they refer to: ``pltpu.VMEM(shape, dtype)`` or other objects with shape and dtype.
      collective_axes: without effect here.
      kw_types: the same, for keyword arguments.
    Returns: what the function returns.
    Example: ``pl.run_scoped(lambda ref: (ref.set(2 * x), ref[...])[1], pltpu.VMEM((4,), jnp.float32))`` is ``2 * x``.
    """
    refs = [new_ref(beginning(kind)) for kind in types]
    named = {name: new_ref(beginning(kind)) for name, kind in kw_types.items()}
    out = f(*refs, **named)
    for ref in (*refs, *named.values()):
        freeze(ref)
    return out


def with_scoped(
    *types: Any, collective_axes: Any = (), **kw_types: Any
) -> Callable[[Callable[..., Any]], Callable[[], Any]]:
    """Decorator: ``run_scoped`` of the function, which is called at once.

    Args:
      types, kw_types: what the memory holds, as for ``run_scoped``.
      collective_axes: without effect here.
    Returns: decorator, whose result is a function without arguments.
    Example: ``pl.with_scoped(pltpu.VMEM((4,), jnp.float32))(lambda ref: (ref.set(x), ref[...])[1])()`` is ``x``.
    """
    return lambda f: lambda: run_scoped(f, *types, collective_axes=collective_axes, **kw_types)


def debug_print(fmt: str, *args: ArrayLike) -> None:
    """Print from a kernel, as ``arrax.debug.print`` does.

    Args:
      fmt: format string, such as ``"x = {}"``.
      args: what is printed.
    Example: ``pl.debug_print("x = {}", x)``.
    """
    print_values(fmt, *args)


def cdiv(a: int | Array, b: int | Array) -> int | Array:
    """a / b, rounded up.

    Example: ``pl.cdiv(10, 4)`` is 3.
    """
    return (a + b - 1) // b


def align_to(x: int, a: int) -> int:
    """The least multiple of ``a`` from ``x`` on.

    Example: ``pl.align_to(10, 8)`` is 16.
    """
    return cdiv(x, a) * a  # type: ignore[return-value]


def next_power_of_2(x: int) -> int:
    """The least power of two from ``x`` on.

    Raises: ValueError for negative numbers.
    Example: ``pl.next_power_of_2(5)`` is 8.
    """
    x = as_index(x)
    if x < 0:
        raise ValueError(f"next_power_of_2: x must not be negative, got {x}")
    return 1 << max(x - 1, 0).bit_length()


def strides_from_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """How many elements lie between neighbours in each dimension, in row-major order.

    Example: ``pl.strides_from_shape((2, 3))`` is ``(3, 1)``.
    """
    return tuple(int(np.prod(shape[axis + 1 :], dtype=np.int64)) for axis in range(len(shape)))


def multiple_of(x: Array, values: Sequence[int] | int) -> Array:
    """Tell a compiler that a number is a multiple of others; XLA needs no such word.

    Args:
      x: integers.
      values: what they are multiples of.
    Returns: ``x``.
    Example: ``pl.multiple_of(8, 4)`` is 8.
    """
    return x


def reciprocal(x: Array, *, approx: bool = False, full_range: bool = True) -> Array:
    """1 / x.

    Args:
      x: array.
      approx: allow an approximation; there is none here.
      full_range: without effect here.
    Example: ``pl.reciprocal(jnp.float32(4))`` is 0.25.
    """
    return 1 / x


def delay(nanos: int | Array) -> None:
    """Wait in a kernel; there is nothing to wait for here.

    Args:
      nanos: nanoseconds.
    Example: ``pl.delay(100)``.
    """
