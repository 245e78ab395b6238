"""The NumPy API. Public names only."""

import typing as _typing

from numpy import character as character
from numpy import complexfloating as complexfloating
from numpy import e as e
from numpy import euler_gamma as euler_gamma
from numpy import flexible as flexible
from numpy import floating as floating
from numpy import generic as generic
from numpy import get_printoptions as get_printoptions
from numpy import inexact as inexact
from numpy import inf as inf
from numpy import integer as integer
from numpy import iterable as iterable
from numpy import nan as nan
from numpy import newaxis as newaxis
from numpy import number as number
from numpy import object_ as object_
from numpy import pi as pi
from numpy import printoptions as printoptions
from numpy import set_printoptions as set_printoptions
from numpy import signedinteger as signedinteger
from numpy import unsignedinteger as unsignedinteger
from numpy.exceptions import ComplexWarning as ComplexWarning

from arrax.core.late_names import late_names
from arrax.dtypes.scalars import bfloat16 as bfloat16
from arrax.dtypes.scalars import bool_ as bool_
from arrax.dtypes.scalars import cdouble as cdouble
from arrax.dtypes.scalars import complex64 as complex64
from arrax.dtypes.scalars import complex128 as complex128
from arrax.dtypes.scalars import complex_ as complex_
from arrax.dtypes.scalars import csingle as csingle
from arrax.dtypes.scalars import double as double
from arrax.dtypes.scalars import float4_e2m1fn as float4_e2m1fn
from arrax.dtypes.scalars import float6_e2m3fn as float6_e2m3fn
from arrax.dtypes.scalars import float6_e3m2fn as float6_e3m2fn
from arrax.dtypes.scalars import float8_e3m4 as float8_e3m4
from arrax.dtypes.scalars import float8_e4m3 as float8_e4m3
from arrax.dtypes.scalars import float8_e4m3b11fnuz as float8_e4m3b11fnuz
from arrax.dtypes.scalars import float8_e4m3fn as float8_e4m3fn
from arrax.dtypes.scalars import float8_e4m3fnuz as float8_e4m3fnuz
from arrax.dtypes.scalars import float8_e5m2 as float8_e5m2
from arrax.dtypes.scalars import float8_e5m2fnuz as float8_e5m2fnuz
from arrax.dtypes.scalars import float8_e8m0fnu as float8_e8m0fnu
from arrax.dtypes.scalars import float16 as float16
from arrax.dtypes.scalars import float32 as float32
from arrax.dtypes.scalars import float64 as float64
from arrax.dtypes.scalars import float_ as float_
from arrax.dtypes.scalars import int1 as int1
from arrax.dtypes.scalars import int2 as int2
from arrax.dtypes.scalars import int4 as int4
from arrax.dtypes.scalars import int8 as int8
from arrax.dtypes.scalars import int16 as int16
from arrax.dtypes.scalars import int32 as int32
from arrax.dtypes.scalars import int64 as int64
from arrax.dtypes.scalars import int_ as int_
from arrax.dtypes.scalars import single as single
from arrax.dtypes.scalars import uint as uint
from arrax.dtypes.scalars import uint1 as uint1
from arrax.dtypes.scalars import uint2 as uint2
from arrax.dtypes.scalars import uint4 as uint4
from arrax.dtypes.scalars import uint8 as uint8
from arrax.dtypes.scalars import uint16 as uint16
from arrax.dtypes.scalars import uint32 as uint32
from arrax.dtypes.scalars import uint64 as uint64
from arrax.numpy_api import array_methods as _array_methods  # (gives arrays and tracers their methods)
from arrax.numpy_api.accumulations import cumprod as cumprod
from arrax.numpy_api.accumulations import cumsum as cumsum
from arrax.numpy_api.accumulations import cumulative_prod as cumulative_prod
from arrax.numpy_api.accumulations import cumulative_sum as cumulative_sum
from arrax.numpy_api.accumulations import nancumprod as nancumprod
from arrax.numpy_api.accumulations import nancumsum as nancumsum
from arrax.numpy_api.averages import average as average
from arrax.numpy_api.averages import mean as mean
from arrax.numpy_api.averages import std as std
from arrax.numpy_api.averages import var as var
from arrax.numpy_api.axis_order import matrix_transpose as matrix_transpose
from arrax.numpy_api.axis_order import moveaxis as moveaxis
from arrax.numpy_api.axis_order import permute_dims as permute_dims
from arrax.numpy_api.axis_order import rollaxis as rollaxis
from arrax.numpy_api.axis_order import swapaxes as swapaxes
from arrax.numpy_api.axis_order import transpose as transpose
from arrax.numpy_api.comparisons import allclose as allclose
from arrax.numpy_api.comparisons import array_equal as array_equal
from arrax.numpy_api.comparisons import array_equiv as array_equiv
from arrax.numpy_api.creation import array as array
from arrax.numpy_api.creation import asarray as asarray
from arrax.numpy_api.data_types import can_cast as can_cast
from arrax.numpy_api.data_types import dtype as dtype
from arrax.numpy_api.data_types import finfo as finfo
from arrax.numpy_api.data_types import iinfo as iinfo
from arrax.numpy_api.data_types import isdtype as isdtype
from arrax.numpy_api.data_types import issubdtype as issubdtype
from arrax.numpy_api.data_types import promote_types as promote_types
from arrax.numpy_api.data_types import result_type as result_type
from arrax.numpy_api.einsums import einsum as einsum
from arrax.numpy_api.einsums import einsum_path as einsum_path
from arrax.numpy_api.elementwise import abs as abs
from arrax.numpy_api.elementwise import absolute as absolute
from arrax.numpy_api.elementwise import acos as acos
from arrax.numpy_api.elementwise import acosh as acosh
from arrax.numpy_api.elementwise import add as add
from arrax.numpy_api.elementwise import angle as angle
from arrax.numpy_api.elementwise import arccos as arccos
from arrax.numpy_api.elementwise import arccosh as arccosh
from arrax.numpy_api.elementwise import arcsin as arcsin
from arrax.numpy_api.elementwise import arcsinh as arcsinh
from arrax.numpy_api.elementwise import arctan as arctan
from arrax.numpy_api.elementwise import arctan2 as arctan2
from arrax.numpy_api.elementwise import arctanh as arctanh
from arrax.numpy_api.elementwise import around as around
from arrax.numpy_api.elementwise import asin as asin
from arrax.numpy_api.elementwise import asinh as asinh
from arrax.numpy_api.elementwise import atan as atan
from arrax.numpy_api.elementwise import atan2 as atan2
from arrax.numpy_api.elementwise import atanh as atanh
from arrax.numpy_api.elementwise import cbrt as cbrt
from arrax.numpy_api.elementwise import ceil as ceil
from arrax.numpy_api.elementwise import conj as conj
from arrax.numpy_api.elementwise import conjugate as conjugate
from arrax.numpy_api.elementwise import copysign as copysign
from arrax.numpy_api.elementwise import cos as cos
from arrax.numpy_api.elementwise import cosh as cosh
from arrax.numpy_api.elementwise import deg2rad as deg2rad
from arrax.numpy_api.elementwise import degrees as degrees
from arrax.numpy_api.elementwise import divide as divide
from arrax.numpy_api.elementwise import divmod as divmod
from arrax.numpy_api.elementwise import exp as exp
from arrax.numpy_api.elementwise import exp2 as exp2
from arrax.numpy_api.elementwise import expm1 as expm1
from arrax.numpy_api.elementwise import fabs as fabs
from arrax.numpy_api.elementwise import fix as fix
from arrax.numpy_api.elementwise import floor as floor
from arrax.numpy_api.elementwise import floor_divide as floor_divide
from arrax.numpy_api.elementwise import fmax as fmax
from arrax.numpy_api.elementwise import fmin as fmin
from arrax.numpy_api.elementwise import fmod as fmod
from arrax.numpy_api.elementwise import heaviside as heaviside
from arrax.numpy_api.elementwise import hypot as hypot
from arrax.numpy_api.elementwise import imag as imag
from arrax.numpy_api.elementwise import log as log
from arrax.numpy_api.elementwise import log1p as log1p
from arrax.numpy_api.elementwise import log2 as log2
from arrax.numpy_api.elementwise import log10 as log10
from arrax.numpy_api.elementwise import logaddexp as logaddexp
from arrax.numpy_api.elementwise import logaddexp2 as logaddexp2
from arrax.numpy_api.elementwise import maximum as maximum
from arrax.numpy_api.elementwise import minimum as minimum
from arrax.numpy_api.elementwise import mod as mod
from arrax.numpy_api.elementwise import modf as modf
from arrax.numpy_api.elementwise import multiply as multiply
from arrax.numpy_api.elementwise import negative as negative
from arrax.numpy_api.elementwise import nextafter as nextafter
from arrax.numpy_api.elementwise import positive as positive
from arrax.numpy_api.elementwise import rad2deg as rad2deg
from arrax.numpy_api.elementwise import radians as radians
from arrax.numpy_api.elementwise import real as real
from arrax.numpy_api.elementwise import reciprocal as reciprocal
from arrax.numpy_api.elementwise import remainder as remainder
from arrax.numpy_api.elementwise import rint as rint
from arrax.numpy_api.elementwise import round as round
from arrax.numpy_api.elementwise import sign as sign
from arrax.numpy_api.elementwise import signbit as signbit
from arrax.numpy_api.elementwise import sin as sin
from arrax.numpy_api.elementwise import sinc as sinc
from arrax.numpy_api.elementwise import sinh as sinh
from arrax.numpy_api.elementwise import sqrt as sqrt
from arrax.numpy_api.elementwise import square as square
from arrax.numpy_api.elementwise import subtract as subtract
from arrax.numpy_api.elementwise import tan as tan
from arrax.numpy_api.elementwise import tanh as tanh
from arrax.numpy_api.elementwise import true_divide as true_divide
from arrax.numpy_api.elementwise import trunc as trunc
from arrax.numpy_api.filled_arrays import arange as arange
from arrax.numpy_api.filled_arrays import copy_array as _copy
from arrax.numpy_api.filled_arrays import empty as empty
from arrax.numpy_api.filled_arrays import empty_like as empty_like
from arrax.numpy_api.filled_arrays import eye as eye
from arrax.numpy_api.filled_arrays import full as full
from arrax.numpy_api.filled_arrays import full_like as full_like
from arrax.numpy_api.filled_arrays import identity as identity
from arrax.numpy_api.filled_arrays import ones as ones
from arrax.numpy_api.filled_arrays import ones_like as ones_like
from arrax.numpy_api.filled_arrays import zeros as zeros
from arrax.numpy_api.filled_arrays import zeros_like as zeros_like
from arrax.numpy_api.indexing import take as take
from arrax.numpy_api.indexing import take_along_axis as take_along_axis
from arrax.numpy_api.inspection import isscalar as isscalar
from arrax.numpy_api.joining import append as append
from arrax.numpy_api.joining import array_split as array_split
from arrax.numpy_api.joining import block as block
from arrax.numpy_api.joining import column_stack as column_stack
from arrax.numpy_api.joining import concat as concat
from arrax.numpy_api.joining import concatenate as concatenate
from arrax.numpy_api.joining import dsplit as dsplit
from arrax.numpy_api.joining import dstack as dstack
from arrax.numpy_api.joining import hsplit as hsplit
from arrax.numpy_api.joining import hstack as hstack
from arrax.numpy_api.joining import split as split
from arrax.numpy_api.joining import stack as stack
from arrax.numpy_api.joining import unstack as unstack
from arrax.numpy_api.joining import vsplit as vsplit
from arrax.numpy_api.joining import vstack as vstack
from arrax.numpy_api.logic import bitwise_and as bitwise_and
from arrax.numpy_api.logic import bitwise_count as bitwise_count
from arrax.numpy_api.logic import bitwise_invert as bitwise_invert
from arrax.numpy_api.logic import bitwise_left_shift as bitwise_left_shift
from arrax.numpy_api.logic import bitwise_not as bitwise_not
from arrax.numpy_api.logic import bitwise_or as bitwise_or
from arrax.numpy_api.logic import bitwise_right_shift as bitwise_right_shift
from arrax.numpy_api.logic import bitwise_xor as bitwise_xor
from arrax.numpy_api.logic import equal as equal
from arrax.numpy_api.logic import greater as greater
from arrax.numpy_api.logic import greater_equal as greater_equal
from arrax.numpy_api.logic import invert as invert
from arrax.numpy_api.logic import isclose as isclose
from arrax.numpy_api.logic import iscomplex as iscomplex
from arrax.numpy_api.logic import iscomplexobj as iscomplexobj
from arrax.numpy_api.logic import isfinite as isfinite
from arrax.numpy_api.logic import isinf as isinf
from arrax.numpy_api.logic import isnan as isnan
from arrax.numpy_api.logic import isneginf as isneginf
from arrax.numpy_api.logic import isposinf as isposinf
from arrax.numpy_api.logic import isreal as isreal
from arrax.numpy_api.logic import isrealobj as isrealobj
from arrax.numpy_api.logic import left_shift as left_shift
from arrax.numpy_api.logic import less as less
from arrax.numpy_api.logic import less_equal as less_equal
from arrax.numpy_api.logic import logical_and as logical_and
from arrax.numpy_api.logic import logical_not as logical_not
from arrax.numpy_api.logic import logical_or as logical_or
from arrax.numpy_api.logic import logical_xor as logical_xor
from arrax.numpy_api.logic import not_equal as not_equal
from arrax.numpy_api.logic import right_shift as right_shift
from arrax.numpy_api.manipulation import astype as astype
from arrax.numpy_api.manipulation import atleast_1d as atleast_1d
from arrax.numpy_api.manipulation import atleast_2d as atleast_2d
from arrax.numpy_api.manipulation import atleast_3d as atleast_3d
from arrax.numpy_api.manipulation import broadcast_arrays as broadcast_arrays
from arrax.numpy_api.manipulation import broadcast_shapes as broadcast_shapes
from arrax.numpy_api.manipulation import broadcast_to as broadcast_to
from arrax.numpy_api.manipulation import expand_dims as expand_dims
from arrax.numpy_api.manipulation import ndim as ndim
from arrax.numpy_api.manipulation import ravel as ravel
from arrax.numpy_api.manipulation import reshape as reshape
from arrax.numpy_api.manipulation import shape as shape
from arrax.numpy_api.manipulation import size as size
from arrax.numpy_api.manipulation import squeeze as squeeze
from arrax.numpy_api.matrices import diag as diag
from arrax.numpy_api.matrices import diagflat as diagflat
from arrax.numpy_api.matrices import diagonal as diagonal
from arrax.numpy_api.matrices import meshgrid as meshgrid
from arrax.numpy_api.matrices import trace as trace
from arrax.numpy_api.matrices import tri as tri
from arrax.numpy_api.matrices import tril as tril
from arrax.numpy_api.matrices import triu as triu
from arrax.numpy_api.matrices import vander as vander
from arrax.numpy_api.membership import isin as isin
from arrax.numpy_api.namespace_info import from_dlpack as from_dlpack
from arrax.numpy_api.order_statistics import median as median
from arrax.numpy_api.order_statistics import nanmedian as nanmedian
from arrax.numpy_api.order_statistics import nanpercentile as nanpercentile
from arrax.numpy_api.order_statistics import nanquantile as nanquantile
from arrax.numpy_api.order_statistics import percentile as percentile
from arrax.numpy_api.order_statistics import quantile as quantile
from arrax.numpy_api.padding import pad as pad
from arrax.numpy_api.powers import float_power as float_power
from arrax.numpy_api.powers import pow as pow
from arrax.numpy_api.powers import power as power
from arrax.numpy_api.products import dot as dot
from arrax.numpy_api.products import inner as inner
from arrax.numpy_api.products import matmul as matmul
from arrax.numpy_api.products import matvec as matvec
from arrax.numpy_api.products import vdot as vdot
from arrax.numpy_api.products import vecdot as vecdot
from arrax.numpy_api.products import vecmat as vecmat
from arrax.numpy_api.ranges import frombuffer as frombuffer
from arrax.numpy_api.ranges import fromfile as fromfile
from arrax.numpy_api.ranges import fromfunction as fromfunction
from arrax.numpy_api.ranges import fromiter as fromiter
from arrax.numpy_api.ranges import fromstring as fromstring
from arrax.numpy_api.ranges import geomspace as geomspace
from arrax.numpy_api.ranges import linspace as linspace
from arrax.numpy_api.ranges import load as load
from arrax.numpy_api.ranges import logspace as logspace
from arrax.numpy_api.ranges import save as save
from arrax.numpy_api.ranges import savez as savez
from arrax.numpy_api.rearranging import flip as flip
from arrax.numpy_api.rearranging import fliplr as fliplr
from arrax.numpy_api.rearranging import flipud as flipud
from arrax.numpy_api.rearranging import repeat as repeat
from arrax.numpy_api.rearranging import resize as resize
from arrax.numpy_api.rearranging import roll as roll
from arrax.numpy_api.rearranging import rot90 as rot90
from arrax.numpy_api.rearranging import tile as tile
from arrax.numpy_api.reductions import all as all
from arrax.numpy_api.reductions import amax as amax
from arrax.numpy_api.reductions import amin as amin
from arrax.numpy_api.reductions import any as any
from arrax.numpy_api.reductions import argmax as argmax
from arrax.numpy_api.reductions import argmin as argmin
from arrax.numpy_api.reductions import count_nonzero as count_nonzero
from arrax.numpy_api.reductions import max as max
from arrax.numpy_api.reductions import min as min
from arrax.numpy_api.reductions import prod as prod
from arrax.numpy_api.reductions import ptp as ptp
from arrax.numpy_api.reductions import sum as sum
from arrax.numpy_api.searching import argwhere as argwhere
from arrax.numpy_api.searching import compress as compress
from arrax.numpy_api.searching import digitize as digitize
from arrax.numpy_api.searching import extract as extract
from arrax.numpy_api.searching import flatnonzero as flatnonzero
from arrax.numpy_api.searching import nonzero as nonzero
from arrax.numpy_api.searching import searchsorted as searchsorted
from arrax.numpy_api.selection import choose as choose
from arrax.numpy_api.selection import clip as clip
from arrax.numpy_api.selection import nan_to_num as nan_to_num
from arrax.numpy_api.selection import piecewise as piecewise
from arrax.numpy_api.selection import select as select
from arrax.numpy_api.selection import where as where
from arrax.numpy_api.sorting import argpartition as argpartition
from arrax.numpy_api.sorting import argsort as argsort
from arrax.numpy_api.sorting import lexsort as lexsort
from arrax.numpy_api.sorting import partition as partition
from arrax.numpy_api.sorting import sort as sort
from arrax.numpy_api.sorting import sort_complex as sort_complex
from arrax.numpy_api.tensor_products import cross as cross
from arrax.numpy_api.tensor_products import kron as kron
from arrax.numpy_api.tensor_products import outer as outer
from arrax.numpy_api.tensor_products import tensordot as tensordot
from arrax.numpy_api.ufuncs import frompyfunc as frompyfunc
from arrax.numpy_api.ufuncs import ufunc as ufunc
from arrax.numpy_api.vectorization import apply_along_axis as apply_along_axis
from arrax.numpy_api.vectorization import apply_over_axes as apply_over_axes
from arrax.numpy_api.vectorization import vectorize as vectorize
from arrax.xla.arrays import Array as _ndarray

# Names that their modules call otherwise; type checkers take them as public only when they are assigned.
bool = bool_
round_ = round
copy = _copy
ndarray = _ndarray

_find_late, __dir__, __all__ = late_names(__name__, {
    "arrax.numpy_api.adding_removing": ("delete", "insert", "trim_zeros",),
    "arrax.numpy_api.convolutions": ("convolve", "correlate",),
    "arrax.numpy_api.correlations": ("corrcoef", "cov",),
    "arrax.numpy_api.differences": ("diff", "ediff1d", "gradient", "trapezoid", "unwrap",),
    "arrax.numpy_api.histograms": ("bincount", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd",),
    "arrax.numpy_api.index_tricks": (
        "c_", "diag_indices", "diag_indices_from", "index_exp", "indices", "ix_", "mask_indices", "mgrid", "ogrid",
        "r_", "ravel_multi_index", "s_", "tril_indices", "tril_indices_from", "triu_indices", "triu_indices_from",
        "unravel_index",
    ),
    "arrax.numpy_api.interpolation": ("interp",),
    "arrax.numpy_api.namespace_info": ("__array_api_version__", "__array_namespace_info__",),
    "arrax.numpy_api.nan_reductions": (
        "nanargmax", "nanargmin", "nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum", "nanvar",
    ),
    "arrax.numpy_api.number_parts": ("frexp", "gcd", "lcm", "ldexp", "packbits", "spacing", "unpackbits",),
    "arrax.numpy_api.polynomial_fits": ("polyfit", "roots",),
    "arrax.numpy_api.polynomials": (
        "poly", "polyadd", "polyder", "polydiv", "polyint", "polymul", "polysub", "polyval",
    ),
    "arrax.numpy_api.printing": ("array_repr", "array_str",),
    "arrax.numpy_api.sets": (
        "intersect1d", "setdiff1d", "setxor1d", "union1d", "unique", "unique_all", "unique_counts", "unique_inverse",
        "unique_values",
    ),
    "arrax.numpy_api.windows": ("bartlett", "blackman", "hamming", "hanning", "i0", "kaiser",),
    "arrax.numpy_api.writing": ("fill_diagonal", "place", "put", "put_along_axis",),
}, submodules=("fft", "linalg"))  # fmt: skip

if _typing.TYPE_CHECKING:
    from arrax.numpy.late import *  # noqa: F403
else:
    __getattr__ = _find_late
