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

_find_late, __dir__, __all__ = late_names(__name__, {
    "arrax.dtypes.scalars": (
        "bfloat16", "bool_", "bool_ as bool", "cdouble", "complex128", "complex64", "complex_", "csingle", "double",
        "float16", "float32", "float4_e2m1fn", "float64", "float6_e2m3fn", "float6_e3m2fn", "float8_e3m4",
        "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
        "float8_e8m0fnu", "float_", "int1", "int16", "int2", "int32", "int4", "int64", "int8", "int_", "single",
        "uint", "uint1", "uint16", "uint2", "uint32", "uint4", "uint64", "uint8",
    ),
    "arrax.numpy_api.accumulations": (
        "cumprod", "cumsum", "cumulative_prod", "cumulative_sum", "nancumprod", "nancumsum",
    ),
    "arrax.numpy_api.adding_removing": ("delete", "insert", "trim_zeros",),
    "arrax.numpy_api.averages": ("average", "mean", "std", "var",),
    "arrax.numpy_api.axis_order": (
        "matrix_transpose", "moveaxis", "permute_dims", "rollaxis", "swapaxes", "transpose",
    ),
    "arrax.numpy_api.comparisons": ("allclose", "array_equal", "array_equiv",),
    "arrax.numpy_api.convolutions": ("convolve", "correlate",),
    "arrax.numpy_api.correlations": ("corrcoef", "cov",),
    "arrax.numpy_api.creation": ("array", "asarray",),
    "arrax.numpy_api.data_types": (
        "can_cast", "dtype", "finfo", "iinfo", "isdtype", "issubdtype", "promote_types", "result_type",
    ),
    "arrax.numpy_api.differences": ("diff", "ediff1d", "gradient", "trapezoid", "unwrap",),
    "arrax.numpy_api.einsums": ("einsum", "einsum_path",),
    "arrax.numpy_api.elementwise": (
        "abs", "absolute", "acos", "acosh", "add", "angle", "arccos", "arccosh", "arcsin", "arcsinh", "arctan",
        "arctan2", "arctanh", "around", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "conj",
        "conjugate", "copysign", "cos", "cosh", "deg2rad", "degrees", "divide", "divmod", "exp", "exp2", "expm1",
        "fabs", "fix", "floor", "floor_divide", "fmax", "fmin", "fmod", "heaviside", "hypot", "imag", "log", "log10",
        "log1p", "log2", "logaddexp", "logaddexp2", "maximum", "minimum", "mod", "modf", "multiply", "negative",
        "nextafter", "positive", "rad2deg", "radians", "real", "reciprocal", "remainder", "rint", "round", "round as round_", "sign",
        "signbit", "sin", "sinc", "sinh", "sqrt", "square", "subtract", "tan", "tanh", "true_divide", "trunc",
    ),
    "arrax.numpy_api.filled_arrays": (
        "arange", "copy_ as copy", "empty", "empty_like", "eye", "full", "full_like", "identity", "ones",
        "ones_like", "zeros", "zeros_like",
    ),
    "arrax.numpy_api.histograms": ("bincount", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd",),
    "arrax.numpy_api.index_objects": ("c_", "index_exp", "mgrid", "ogrid", "r_", "s_",),
    "arrax.numpy_api.index_tricks": (
        "diag_indices", "diag_indices_from", "indices", "ix_", "mask_indices", "ravel_multi_index", "tril_indices",
        "tril_indices_from", "triu_indices", "triu_indices_from", "unravel_index",
    ),
    "arrax.numpy_api.indexing": ("take", "take_along_axis",),
    "arrax.numpy_api.inspection": ("isscalar",),
    "arrax.numpy_api.interpolation": ("interp",),
    "arrax.numpy_api.joining": (
        "append", "block", "column_stack", "concat", "concatenate", "dstack", "hstack", "stack", "vstack",
    ),
    "arrax.numpy_api.logic": (
        "bitwise_and", "bitwise_count", "bitwise_invert", "bitwise_left_shift", "bitwise_not", "bitwise_or",
        "bitwise_right_shift", "bitwise_xor", "equal", "greater", "greater_equal", "invert", "isclose", "iscomplex",
        "iscomplexobj", "isfinite", "isinf", "isnan", "isneginf", "isposinf", "isreal", "isrealobj", "left_shift",
        "less", "less_equal", "logical_and", "logical_not", "logical_or", "logical_xor", "not_equal", "right_shift",
    ),
    "arrax.numpy_api.manipulation": (
        "astype", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_shapes", "broadcast_to",
        "expand_dims", "ndim", "ravel", "reshape", "shape", "size", "squeeze",
    ),
    "arrax.numpy_api.matrices": ("diag", "diagflat", "diagonal", "meshgrid", "trace", "tri", "tril", "triu", "vander",),
    "arrax.numpy_api.membership": ("isin",),
    "arrax.numpy_api.namespace_info": ("__array_api_version__", "__array_namespace_info__", "from_dlpack",),
    "arrax.numpy_api.nan_reductions": (
        "nanargmax", "nanargmin", "nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum", "nanvar",
    ),
    "arrax.numpy_api.number_parts": ("frexp", "gcd", "lcm", "ldexp", "packbits", "spacing", "unpackbits",),
    "arrax.numpy_api.order_statistics": (
        "median", "nanmedian", "nanpercentile", "nanquantile", "percentile", "quantile",
    ),
    "arrax.numpy_api.padding": ("pad",),
    "arrax.numpy_api.polynomial_fits": ("polyfit", "roots",),
    "arrax.numpy_api.polynomials": (
        "poly", "polyadd", "polyder", "polydiv", "polyint", "polymul", "polysub", "polyval",
    ),
    "arrax.numpy_api.powers": ("float_power", "pow", "power",),
    "arrax.numpy_api.printing": ("array_repr", "array_str",),
    "arrax.numpy_api.products": ("dot", "inner", "matmul", "matvec", "vdot", "vecdot", "vecmat",),
    "arrax.numpy_api.ranges": (
        "frombuffer", "fromfile", "fromfunction", "fromiter", "fromstring", "geomspace", "linspace", "load",
        "logspace", "save", "savez",
    ),
    "arrax.numpy_api.rearranging": ("flip", "fliplr", "flipud", "repeat", "resize", "roll", "rot90", "tile",),
    "arrax.numpy_api.reductions": (
        "all", "amax", "amin", "any", "argmax", "argmin", "count_nonzero", "max", "min", "prod", "ptp", "sum",
    ),
    "arrax.numpy_api.searching": (
        "argwhere", "compress", "digitize", "extract", "flatnonzero", "nonzero", "searchsorted",
    ),
    "arrax.numpy_api.selection": ("choose", "clip", "nan_to_num", "piecewise", "select", "where",),
    "arrax.numpy_api.sets": ("intersect1d", "setdiff1d", "setxor1d", "union1d",),
    "arrax.numpy_api.sorting": ("argpartition", "argsort", "lexsort", "partition", "sort", "sort_complex",),
    "arrax.numpy_api.tensor_products": ("cross", "kron", "outer", "tensordot",),
    "arrax.numpy_api.splitting": ("array_split", "dsplit", "hsplit", "split", "unstack", "vsplit",),
    "arrax.numpy_api.ufuncs": ("frompyfunc", "ufunc",),
    "arrax.numpy_api.unique_elements": ("unique", "unique_all", "unique_counts", "unique_inverse", "unique_values",),
    "arrax.numpy_api.vectorization": ("apply_along_axis", "apply_over_axes", "vectorize",),
    "arrax.numpy_api.windows": ("bartlett", "blackman", "hamming", "hanning", "i0", "kaiser",),
    "arrax.numpy_api.writing": ("fill_diagonal", "place", "put", "put_along_axis",),
    "arrax.xla.arrays": ("Array as ndarray",),
}, submodules=("fft", "linalg"))  # fmt: skip

if _typing.TYPE_CHECKING:
    from arrax.numpy.late import *  # noqa: F403
else:
    __getattr__ = _find_late
