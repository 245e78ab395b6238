"""Creating arrays, and dtypes, as the array API standard has them."""

from __future__ import annotations

from typing import Any

from arrax.core.types import typeof
from arrax.dtypes import DTypeLike, OptionalDType
from arrax.experimental.array_api.standard import check_arrays, check_dtype, described, standard
from arrax.numpy_api import creation, data_types, filled_arrays, manipulation, matrices, namespace_info, ranges
from arrax.xla.annotations import OptionalDevice, Shape
from arrax.xla.arrays import Array, ArrayLike, OptionalArray


@described(None)
def asarray(
    obj: Any, /, *, dtype: OptionalDType = None, device: OptionalDevice = None, copy: bool | None = None
) -> Array:
    """An array with the elements of an array, a number, nested sequences of numbers, or a buffer.

    Example: ``xp.asarray([1, 2], dtype=xp.float32)`` is ``[1.0, 2.0]``.
    """
    check_dtype("asarray", dtype)
    return creation.asarray(obj, dtype=dtype, device=device, copy=copy)


@standard(filled_arrays.arange, arrays=0)
def arange(
    start: ArrayLike,
    /,
    stop: OptionalArray = None,
    step: float = 1,
    *,
    dtype: OptionalDType = None,
    device: OptionalDevice = None,
) -> None:
    """Numbers at equal distances, the end excluded.

    Example: ``xp.arange(1, 7, 2)`` is ``[1, 3, 5]``.
    """


@standard(filled_arrays.empty, arrays=0)
def empty(shape: Shape, *, dtype: OptionalDType = None, device: OptionalDevice = None) -> Array:
    """An array whose elements don't matter: zeros.

    Example: ``xp.empty((2,))`` is ``[0.0, 0.0]``.
    """


@standard(filled_arrays.zeros, arrays=0)
def zeros(shape: Shape, *, dtype: OptionalDType = None, device: OptionalDevice = None) -> Array:
    """An array of zeros.

    Example: ``xp.zeros((2,))`` is ``[0.0, 0.0]``.
    """


@standard(filled_arrays.ones, arrays=0)
def ones(shape: Shape, *, dtype: OptionalDType = None, device: OptionalDevice = None) -> Array:
    """An array of ones.

    Example: ``xp.ones((2,), dtype=xp.int32)`` is ``[1, 1]``.
    """


@standard(filled_arrays.full, arrays=0)
def full(shape: Shape, fill_value: ArrayLike, *, dtype: OptionalDType = None, device: OptionalDevice = None) -> Array:
    """An array of one number.

    Example: ``xp.full((2,), 7)`` is ``[7, 7]``.
    """


@standard(filled_arrays.eye, arrays=0)
def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: OptionalDType = None,
    device: OptionalDevice = None,
) -> Array:
    """A matrix with ones on a diagonal.

    Example: ``xp.eye(2, k=1)`` is ``[[0.0, 1.0], [0.0, 0.0]]``.
    """


@standard(ranges.linspace, arrays=0)
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    /,
    num: int,
    *,
    dtype: OptionalDType = None,
    device: OptionalDevice = None,
    endpoint: bool = True,
) -> Array:
    """A number of numbers at equal distances.

    Example: ``xp.linspace(0.0, 1.0, num=3)`` is ``[0.0, 0.5, 1.0]``.
    """


@standard(filled_arrays.empty_like)
def empty_like(x: ArrayLike, /, *, dtype: OptionalDType = None, device: OptionalDevice = None) -> Array:
    """An array like another whose elements don't matter: zeros.

    Example: ``xp.empty_like(xp.arange(2))`` is ``[0, 0]``.
    """


@standard(filled_arrays.zeros_like)
def zeros_like(x: ArrayLike, /, *, dtype: OptionalDType = None, device: OptionalDevice = None) -> Array:
    """Zeros like another array.

    Example: ``xp.zeros_like(xp.arange(2))`` is ``[0, 0]``.
    """


@standard(filled_arrays.ones_like)
def ones_like(x: ArrayLike, /, *, dtype: OptionalDType = None, device: OptionalDevice = None) -> Array:
    """Ones like another array.

    Example: ``xp.ones_like(xp.arange(2))`` is ``[1, 1]``.
    """


@standard(filled_arrays.full_like)
def full_like(
    x: ArrayLike, /, fill_value: ArrayLike, *, dtype: OptionalDType = None, device: OptionalDevice = None
) -> Array:
    """One number like another array.

    Example: ``xp.full_like(xp.arange(2), 7)`` is ``[7, 7]``.
    """


@standard(namespace_info.from_dlpack, arrays=0)
def from_dlpack(x: ArrayLike, /, *, device: OptionalDevice = None, copy: bool | None = None) -> Any:
    """An array with the elements of another library's.

    Example: ``xp.from_dlpack(np.arange(3))`` is ``[0, 1, 2]``.
    """


@standard(matrices.tril)
def tril(x: ArrayLike, /, *, k: int = 0) -> Array:
    """The lower triangles of matrices.

    Example: ``xp.tril(xp.ones((2, 2)))`` is ``[[1.0, 0.0], [1.0, 1.0]]``.
    """


@standard(matrices.triu)
def triu(x: ArrayLike, /, *, k: int = 0) -> Array:
    """The upper triangles of matrices.

    Example: ``xp.triu(xp.ones((2, 2)))`` is ``[[1.0, 1.0], [0.0, 1.0]]``.
    """


@described("all")
def meshgrid(*arrays: ArrayLike, indexing: str = "xy") -> tuple[Any, ...]:
    """The coordinates of the points of a grid, from vectors of one dtype.

    Example: ``xp.meshgrid(xp.arange(2), xp.arange(2))`` is ``([[0, 1], [0, 1]], [[0, 0], [1, 1]])``.
    """
    check_arrays("meshgrid", "all", *arrays)
    if len({typeof(array).dtype for array in arrays}) > 1:
        raise ValueError("meshgrid: the vectors must have one dtype")
    return matrices.meshgrid(*arrays, indexing=indexing)


@described("all")
def astype(x: Array, dtype: DTypeLike, /, *, copy: bool = True, device: OptionalDevice = None) -> Array:
    """The elements of an array as another dtype; complex numbers stay complex.

    Example: ``xp.astype(xp.asarray([1.5, -1.5]), xp.int32)`` is ``[1, -1]``.
    """
    check_arrays("astype", "all", x)
    check_dtype("astype", dtype)
    if data_types.isdtype(x.dtype, "complex floating") and not data_types.isdtype(dtype, "complex floating"):
        raise TypeError(f"astype: the array API standard does not cast {x.dtype} to {dtype}; take the real part.")
    return manipulation.astype(x, dtype, copy=copy, device=device)


@described(None)
def finfo(type: Any, /) -> Any:
    """Limits of a floating-point dtype, or that of an array.

    Example: ``xp.finfo(xp.float32).bits`` is 32.
    """
    check_dtype("finfo", type)
    return data_types.finfo(type)


@described(None)
def iinfo(type: Any, /) -> Any:
    """Limits of an integer dtype, or that of an array.

    Example: ``xp.iinfo(xp.int8).max`` is 127.
    """
    check_dtype("iinfo", type)
    return data_types.iinfo(type)


@described(None)
def isdtype(dtype: DTypeLike, kind: Any) -> bool:
    """Whether a dtype is of a kind.

    Example: ``xp.isdtype(xp.int8, ('integral', 'bool'))`` is True.
    """
    check_dtype("isdtype", dtype)
    return data_types.isdtype(dtype, kind)
