"""Scalar types such as ``arrax.numpy.float32``: classes that name a dtype and, when called, make arrays of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np

if TYPE_CHECKING:
    from arrax.xla.arrays import ArrayLike


def _no_arrays_yet(value: Any, dtype: np.dtype) -> Any:
    raise RuntimeError("Scalar types make arrays once arrax.numpy is imported.")


class ScalarType(type):
    """The class of scalar types. Each stands for its dtype wherever NumPy or arrax expects one.

    A scalar type equals the NumPy scalar type and the dtype that it stands for; NumPy scalars are its instances,
    arrays are not.

    Attributes:
      dtype: NumPy dtype.
      make_array: slot on this class, filled by the module that makes arrays: ``make_array(value, dtype)``.
    Example: ``jnp.float32(1)`` is an array, ``jnp.float32 == np.float32`` and ``np.zeros(3, jnp.float32)`` hold.
    """

    dtype: np.dtype
    make_array: Callable[[Any, np.dtype], Any] = staticmethod(_no_arrays_yet)

    def __call__(cls, x: ArrayLike | Sequence[Any]) -> ArrayLike:
        return ScalarType.make_array(x, cls.dtype)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.dtype.type)

    def __hash__(cls) -> int:
        return hash(cls.dtype.type)

    def __eq__(cls, other: object) -> bool:
        return cls is other or other is cls.dtype.type or (isinstance(other, np.dtype) and other == cls.dtype)

    def __ne__(cls, other: object) -> bool:
        return not cls == other


def _scalar_type(name: str, numpy_type: type) -> ScalarType:
    made = f"``jnp.{name}(1).dtype`` is ``jnp.dtype(jnp.{name})``"
    if name.endswith("64") and name != "complex64" or name.endswith("128"):
        made = f"``with arrax.enable_x64(): wide = jnp.{name}(1)`` makes an array of it, only while 64-bit types are on"
    if name.startswith("float6_"):
        made = f"``jnp.finfo(jnp.{name}).bits`` is 6"  # not every runtime has arrays of it
    text = f"The scalar type of {name}: it stands for the dtype, and makes an array of a value.\n\nExample: {made}."
    return ScalarType(name, (), {"dtype": np.dtype(numpy_type), "__module__": "arrax.numpy", "__doc__": text})


# fmt: off
bool_     = _scalar_type("bool", np.bool_)
int1      = _scalar_type("int1", ml_dtypes.int1)
int2      = _scalar_type("int2", ml_dtypes.int2)
int4      = _scalar_type("int4", ml_dtypes.int4)
int8      = _scalar_type("int8", np.int8)
int16     = _scalar_type("int16", np.int16)
int32     = _scalar_type("int32", np.int32)
int64     = _scalar_type("int64", np.int64)
uint1     = _scalar_type("uint1", ml_dtypes.uint1)
uint2     = _scalar_type("uint2", ml_dtypes.uint2)
uint4     = _scalar_type("uint4", ml_dtypes.uint4)
uint8     = _scalar_type("uint8", np.uint8)
uint16    = _scalar_type("uint16", np.uint16)
uint32    = _scalar_type("uint32", np.uint32)
uint64    = _scalar_type("uint64", np.uint64)
bfloat16  = _scalar_type("bfloat16", ml_dtypes.bfloat16)
float16   = _scalar_type("float16", np.float16)
float32   = _scalar_type("float32", np.float32)
float64   = _scalar_type("float64", np.float64)
complex64 = _scalar_type("complex64", np.complex64)
complex128          = _scalar_type("complex128", np.complex128)
float4_e2m1fn       = _scalar_type("float4_e2m1fn", ml_dtypes.float4_e2m1fn)
float6_e2m3fn       = _scalar_type("float6_e2m3fn", ml_dtypes.float6_e2m3fn)
float6_e3m2fn       = _scalar_type("float6_e3m2fn", ml_dtypes.float6_e3m2fn)
float8_e3m4         = _scalar_type("float8_e3m4", ml_dtypes.float8_e3m4)
float8_e4m3         = _scalar_type("float8_e4m3", ml_dtypes.float8_e4m3)
float8_e4m3fn       = _scalar_type("float8_e4m3fn", ml_dtypes.float8_e4m3fn)
float8_e4m3fnuz     = _scalar_type("float8_e4m3fnuz", ml_dtypes.float8_e4m3fnuz)
float8_e4m3b11fnuz  = _scalar_type("float8_e4m3b11fnuz", ml_dtypes.float8_e4m3b11fnuz)
float8_e5m2         = _scalar_type("float8_e5m2", ml_dtypes.float8_e5m2)
float8_e5m2fnuz     = _scalar_type("float8_e5m2fnuz", ml_dtypes.float8_e5m2fnuz)
float8_e8m0fnu      = _scalar_type("float8_e8m0fnu", ml_dtypes.float8_e8m0fnu)

int_, uint      = int64, uint64
single, double  = float32, float64
float_          = float64
csingle, cdouble = complex64, complex128
complex_        = complex128
# fmt: on
