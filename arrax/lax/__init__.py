"""The strict layer of operations. Public names only."""

import typing as _typing

from arrax.core.late_names import late_names
from arrax.lax import asked_shardings as _asked_shardings  # (fills slots of types, too)
from arrax.lax import type_slots as _type_slots  # (fills the slots of types)
from arrax.lax.accuracy import AccuracyMode as AccuracyMode
from arrax.lax.accuracy import Tolerance as Tolerance
from arrax.lax.argminmax import argmax as argmax
from arrax.lax.argminmax import argmin as argmin
from arrax.lax.arithmetic import abs_ as _abs
from arrax.lax.arithmetic import add as add
from arrax.lax.arithmetic import ceil as ceil
from arrax.lax.arithmetic import complex_ as _complex
from arrax.lax.arithmetic import conj as conj
from arrax.lax.arithmetic import conj_p as conj_p
from arrax.lax.arithmetic import div as div
from arrax.lax.arithmetic import eq as eq
from arrax.lax.arithmetic import floor as floor
from arrax.lax.arithmetic import ge as ge
from arrax.lax.arithmetic import gt as gt
from arrax.lax.arithmetic import imag as imag
from arrax.lax.arithmetic import integer_pow as integer_pow
from arrax.lax.arithmetic import integer_pow_p as integer_pow_p
from arrax.lax.arithmetic import is_finite as is_finite
from arrax.lax.arithmetic import le as le
from arrax.lax.arithmetic import lt as lt
from arrax.lax.arithmetic import max_ as _max
from arrax.lax.arithmetic import min_ as _min
from arrax.lax.arithmetic import mul as mul
from arrax.lax.arithmetic import mul_p as mul_p
from arrax.lax.arithmetic import ne as ne
from arrax.lax.arithmetic import neg as neg
from arrax.lax.arithmetic import real_part as _real
from arrax.lax.arithmetic import reciprocal as reciprocal
from arrax.lax.arithmetic import rem as rem
from arrax.lax.arithmetic import sign as sign
from arrax.lax.arithmetic import square as square
from arrax.lax.arithmetic import sub as sub
from arrax.lax.associative_scan import associative_scan as associative_scan
from arrax.lax.axis_order import rev as rev
from arrax.lax.axis_order import rev_p as rev_p
from arrax.lax.axis_order import transpose as transpose
from arrax.lax.axis_order import transpose_p as transpose_p
from arrax.lax.barriers import dce_sink as dce_sink
from arrax.lax.barriers import dce_sink_p as dce_sink_p
from arrax.lax.barriers import dtype as dtype
from arrax.lax.barriers import empty as empty
from arrax.lax.barriers import optimization_barrier as optimization_barrier
from arrax.lax.barriers import optimization_barrier_p as optimization_barrier_p
from arrax.lax.barriers import shape_as_value as shape_as_value
from arrax.lax.barriers import stage as stage
from arrax.lax.barriers import stage_p as stage_p
from arrax.lax.barriers import stop_gradient as stop_gradient
from arrax.lax.barriers import stop_gradient_p as stop_gradient_p
from arrax.lax.barriers import tie_in as tie_in
from arrax.lax.bitcast import bitcast_convert_type as bitcast_convert_type
from arrax.lax.bitcast import bitcast_convert_type_p as bitcast_convert_type_p
from arrax.lax.bitwise import bitwise_and as bitwise_and
from arrax.lax.bitwise import bitwise_not as bitwise_not
from arrax.lax.bitwise import bitwise_or as bitwise_or
from arrax.lax.bitwise import bitwise_xor as bitwise_xor
from arrax.lax.bitwise import clz as clz
from arrax.lax.bitwise import nextafter as nextafter
from arrax.lax.bitwise import population_count as population_count
from arrax.lax.bitwise import shift_left as shift_left
from arrax.lax.bitwise import shift_right_arithmetic as shift_right_arithmetic
from arrax.lax.bitwise import shift_right_logical as shift_right_logical
from arrax.lax.calls import core_call_p as core_call_p
from arrax.lax.calls import jit_p as jit_p
from arrax.lax.collective_rules import all_gather_p as all_gather_p
from arrax.lax.collective_rules import all_to_all_p as all_to_all_p
from arrax.lax.collective_rules import axis_index_p as axis_index_p
from arrax.lax.collective_rules import pbroadcast_p as pbroadcast_p
from arrax.lax.collective_rules import pmax_p as pmax_p
from arrax.lax.collective_rules import pmin_p as pmin_p
from arrax.lax.collective_rules import ppermute_p as ppermute_p
from arrax.lax.collective_rules import psum_p as psum_p
from arrax.lax.collective_rules import reduce_scatter_p as reduce_scatter_p
from arrax.lax.contractions import DotDimensionNumbers as DotDimensionNumbers
from arrax.lax.contractions import batch_matmul as batch_matmul
from arrax.lax.contractions import dot as dot
from arrax.lax.contractions import dot_general as dot_general
from arrax.lax.contractions import dot_general_p as dot_general_p
from arrax.lax.control_flow.conditional_rules import cond_p as cond_p
from arrax.lax.control_flow.conditional_rules import platform_index_p as platform_index_p
from arrax.lax.control_flow.conditionals import cond as cond
from arrax.lax.control_flow.conditionals import platform_dependent as platform_dependent
from arrax.lax.control_flow.conditionals import switch as switch
from arrax.lax.control_flow.loop_rules import while_p as while_p
from arrax.lax.control_flow.loops import fori_loop as fori_loop
from arrax.lax.control_flow.loops import while_loop as while_loop
from arrax.lax.control_flow.mapping import map as map
from arrax.lax.control_flow.scan_rules import scan_p as scan_p
from arrax.lax.control_flow.scans import scan as scan
from arrax.lax.control_flow.solves import custom_linear_solve as custom_linear_solve
from arrax.lax.control_flow.solves import custom_root as custom_root
from arrax.lax.control_flow.solves import linear_solve_p as linear_solve_p
from arrax.lax.control_flow.solves import root_p as root_p
from arrax.lax.conversion import convert_element_type as convert_element_type
from arrax.lax.conversion import convert_element_type_p as convert_element_type_p
from arrax.lax.convolution_rules import conv_general_dilated_p as conv_general_dilated_p
from arrax.lax.cumulative import cumlogsumexp as cumlogsumexp
from arrax.lax.cumulative import cummax as cummax
from arrax.lax.cumulative import cummin as cummin
from arrax.lax.cumulative import cumprod as cumprod
from arrax.lax.cumulative import cumsum as cumsum
from arrax.lax.custom_rules import custom_jvp_call_p as custom_jvp_call_p
from arrax.lax.custom_rules import custom_linear_p as custom_linear_p
from arrax.lax.custom_rules import custom_vjp_call_p as custom_vjp_call_p
from arrax.lax.exponential import cbrt as cbrt
from arrax.lax.exponential import exp as exp
from arrax.lax.exponential import exp2 as exp2
from arrax.lax.exponential import expm1 as expm1
from arrax.lax.exponential import log as log
from arrax.lax.exponential import log1p as log1p
from arrax.lax.exponential import logistic as logistic
from arrax.lax.exponential import pow as pow
from arrax.lax.exponential import pow_p as pow_p
from arrax.lax.exponential import rsqrt as rsqrt
from arrax.lax.exponential import sqrt as sqrt
from arrax.lax.filled_arrays import broadcasted_iota as broadcasted_iota
from arrax.lax.filled_arrays import full as full
from arrax.lax.filled_arrays import full_like as full_like
from arrax.lax.filled_arrays import iota as iota
from arrax.lax.filled_arrays import iota_p as iota_p
from arrax.lax.filled_arrays import zeros_like_array as zeros_like_array
from arrax.lax.gather import GatherDimensionNumbers as GatherDimensionNumbers
from arrax.lax.gather import GatherScatterMode as GatherScatterMode
from arrax.lax.gather import gather as gather
from arrax.lax.gather import gather_p as gather_p
from arrax.lax.order_statistics import order_statistics_p as order_statistics_p
from arrax.lax.order_statistics import partition_p as partition_p
from arrax.lax.placement import copy_p as copy_p
from arrax.lax.placement import device_put_p as device_put_p
from arrax.lax.precision import DotAlgorithm as DotAlgorithm
from arrax.lax.precision import DotAlgorithmPreset as DotAlgorithmPreset
from arrax.lax.precision import Precision as Precision
from arrax.lax.precision import PrecisionLike as PrecisionLike
from arrax.lax.recurrence import linear_recurrence_p as linear_recurrence_p
from arrax.lax.reductions import reduce as reduce
from arrax.lax.reductions import reduce_and as reduce_and
from arrax.lax.reductions import reduce_max as reduce_max
from arrax.lax.reductions import reduce_min as reduce_min
from arrax.lax.reductions import reduce_or as reduce_or
from arrax.lax.reductions import reduce_p as reduce_p
from arrax.lax.reductions import reduce_prod as reduce_prod
from arrax.lax.reductions import reduce_sum as reduce_sum
from arrax.lax.reductions import reduce_xor as reduce_xor
from arrax.lax.remat import name_p as name_p
from arrax.lax.remat import remat_p as remat_p
from arrax.lax.rounding import RoundingMethod as RoundingMethod
from arrax.lax.rounding import reduce_precision as reduce_precision
from arrax.lax.rounding import reduce_precision_p as reduce_precision_p
from arrax.lax.rounding import round as round
from arrax.lax.rounding import round_p as round_p
from arrax.lax.scatter import scatter as scatter
from arrax.lax.scatter import scatter_add as scatter_add
from arrax.lax.scatter import scatter_add_p as scatter_add_p
from arrax.lax.scatter import scatter_apply as scatter_apply
from arrax.lax.scatter import scatter_max as scatter_max
from arrax.lax.scatter import scatter_max_p as scatter_max_p
from arrax.lax.scatter import scatter_min as scatter_min
from arrax.lax.scatter import scatter_min_p as scatter_min_p
from arrax.lax.scatter import scatter_mul as scatter_mul
from arrax.lax.scatter import scatter_mul_p as scatter_mul_p
from arrax.lax.scatter import scatter_p as scatter_p
from arrax.lax.scatter import scatter_sub as scatter_sub
from arrax.lax.scatter import scatter_sub_p as scatter_sub_p
from arrax.lax.scatter_lowering import ScatterDimensionNumbers as ScatterDimensionNumbers
from arrax.lax.selection import clamp as clamp
from arrax.lax.selection import clamp_p as clamp_p
from arrax.lax.selection import select as select
from arrax.lax.selection import select_n as select_n
from arrax.lax.selection import select_n_p as select_n_p
from arrax.lax.shapes import broadcast as broadcast
from arrax.lax.shapes import broadcast_in_dim as broadcast_in_dim
from arrax.lax.shapes import broadcast_in_dim_p as broadcast_in_dim_p
from arrax.lax.shapes import broadcast_like as broadcast_like
from arrax.lax.shapes import broadcast_shapes as broadcast_shapes
from arrax.lax.shapes import broadcast_to_rank as broadcast_to_rank
from arrax.lax.shapes import collapse as collapse
from arrax.lax.shapes import expand_dims as expand_dims
from arrax.lax.shapes import reshape as reshape
from arrax.lax.shapes import reshape_p as reshape_p
from arrax.lax.shapes import squeeze as squeeze
from arrax.lax.shapes import squeeze_p as squeeze_p
from arrax.lax.slicing import dynamic_index_in_dim as dynamic_index_in_dim
from arrax.lax.slicing import dynamic_slice as dynamic_slice
from arrax.lax.slicing import dynamic_slice_in_dim as dynamic_slice_in_dim
from arrax.lax.slicing import dynamic_slice_p as dynamic_slice_p
from arrax.lax.slicing import dynamic_update_index_in_dim as dynamic_update_index_in_dim
from arrax.lax.slicing import dynamic_update_slice as dynamic_update_slice
from arrax.lax.slicing import dynamic_update_slice_in_dim as dynamic_update_slice_in_dim
from arrax.lax.slicing import dynamic_update_slice_p as dynamic_update_slice_p
from arrax.lax.slicing import index_in_dim as index_in_dim
from arrax.lax.slicing import index_take as index_take
from arrax.lax.sorting import approx_max_k as approx_max_k
from arrax.lax.sorting import approx_min_k as approx_min_k
from arrax.lax.sorting import approx_top_k_p as approx_top_k_p
from arrax.lax.sorting import sort as sort
from arrax.lax.sorting import sort_key_val as sort_key_val
from arrax.lax.sorting import sort_p as sort_p
from arrax.lax.sorting import top_k as top_k
from arrax.lax.sorting import top_k_p as top_k_p
from arrax.lax.structure import concatenate as concatenate
from arrax.lax.structure import concatenate_p as concatenate_p
from arrax.lax.structure import pad as pad
from arrax.lax.structure import pad_p as pad_p
from arrax.lax.structure import slice_ as _slice
from arrax.lax.structure import slice_in_dim as slice_in_dim
from arrax.lax.structure import slice_p as slice_p
from arrax.lax.trigonometric import acos as acos
from arrax.lax.trigonometric import acosh as acosh
from arrax.lax.trigonometric import asin as asin
from arrax.lax.trigonometric import asinh as asinh
from arrax.lax.trigonometric import atan as atan
from arrax.lax.trigonometric import atan2 as atan2
from arrax.lax.trigonometric import atanh as atanh
from arrax.lax.trigonometric import cos as cos
from arrax.lax.trigonometric import cosh as cosh
from arrax.lax.trigonometric import sin as sin
from arrax.lax.trigonometric import sinh as sinh
from arrax.lax.trigonometric import tan as tan
from arrax.lax.trigonometric import tanh as tanh

# Names that their modules call otherwise; type checkers take them as public only when they are assigned.
abs = _abs
complex = _complex
max = _max
min = _min
real = _real
slice = _slice

_find_late, __dir__, __all__ = late_names(__name__, {
    "arrax.lax.axis_contractions": ("pdot", "xeinsum",),
    "arrax.lax.collectives": (
        "all_gather", "all_to_all", "axis_index", "axis_size", "pbroadcast", "pcast", "pmax", "pmean", "pmin",
        "ppermute", "pshuffle", "psum", "psum_scatter", "pswapaxes",
    ),
    "arrax.lax.composites": ("composite", "composite_p",),
    "arrax.lax.convolution": (
        "conv", "conv_general_dilated", "conv_general_dilated_local", "conv_general_dilated_patches",
        "conv_transpose", "conv_with_general_padding",
    ),
    "arrax.lax.convolution_geometry": (
        "ConvDimensionNumbers", "ConvGeneralDilatedDimensionNumbers", "conv_dimension_numbers",
        "conv_general_permutations", "conv_general_shape_tuple", "conv_shape_tuple", "conv_transpose_shape_tuple",
    ),
    "arrax.lax.counting": ("count_p",),
    "arrax.lax.fourier_transforms": ("FftType", "fft", "fft_p",),
    "arrax.lax.high_products": ("mulhi", "mulhi_p",),
    "arrax.lax.incomplete_beta": ("betainc", "regularized_incomplete_beta_p",),
    "arrax.lax.incomplete_gamma": ("igamma", "igamma_grad_a", "igammac", "random_gamma_grad",),
    "arrax.lax.linalg.cholesky_factors": ("cholesky_p", "cholesky_update_p",),
    "arrax.lax.linalg.eigenvalues": ("eig_p",),
    "arrax.lax.linalg.lu_factors": ("lu_p", "lu_pivots_to_permutation_p",),
    "arrax.lax.linalg.qr_factors": ("geqp3_p", "geqrf_p", "householder_product_p", "ormqr_p", "qr_p",),
    "arrax.lax.linalg.similar_forms": ("hessenberg_p", "schur_p", "tridiagonal_p",),
    "arrax.lax.linalg.singular_values": ("gesvdj_p", "svd_p",),
    "arrax.lax.linalg.symmetric_eigenvalues": ("eigh_p",),
    "arrax.lax.linalg.symmetric_products": ("symmetric_product_p",),
    "arrax.lax.linalg.triangular_systems": ("triangular_solve_p",),
    "arrax.lax.linalg.tridiagonal_systems": ("tridiagonal_solve_p",),
    "arrax.lax.named_primitives": (
        "abs_p", "acos_p", "acosh_p", "add_p", "and_p", "argmax_p", "argmin_p", "asin_p", "asinh_p", "atan2_p",
        "atan_p", "atanh_p", "bessel_i0e_p", "bessel_i1e_p", "cbrt_p", "ceil_p", "clz_p", "complex_p", "cos_p",
        "cosh_p", "cumlogsumexp_p", "cummax_p", "cummin_p", "cumprod_p", "cumsum_p", "digamma_p", "div_p", "eq_p",
        "eq_to_p", "erf_inv_p", "erf_p", "erfc_p", "exp2_p", "exp_p", "expm1_p", "floor_p", "ge_p", "gt_p",
        "igamma_grad_a_p", "igamma_p", "igammac_p", "imag_p", "is_finite_p", "le_p", "le_to_p", "lgamma_p", "log1p_p",
        "log_p", "logistic_p", "lt_p", "lt_to_p", "max_p", "min_p", "ne_p", "neg_p", "nextafter_p", "not_p", "or_p",
        "polygamma_p", "population_count_p", "random_gamma_grad_p", "real_p", "reduce_and_p", "reduce_max_p",
        "reduce_min_p", "reduce_or_p", "reduce_prod_p", "reduce_sum_p", "reduce_xor_p", "rem_p", "rsqrt_p",
        "shift_left_p", "shift_right_arithmetic_p", "shift_right_logical_p", "sign_p", "sin_p", "sinh_p", "sqrt_p",
        "square_p", "sub_p", "tan_p", "tanh_p", "xor_p", "zeta_p",
    ),
    "arrax.lax.point_to_point": ("precv", "precv_p", "psend", "psend_p", "ragged_all_to_all", "ragged_all_to_all_p",),
    "arrax.lax.ragged_products": (
        "RaggedDotDimensionNumbers", "ragged_dot", "ragged_dot_general", "ragged_dot_general_p",
    ),
    "arrax.lax.random_bits": (
        "RandomAlgorithm", "rng_bit_generator", "rng_bit_generator_p", "rng_uniform", "rng_uniform_p",
    ),
    "arrax.lax.scaled_products": ("scaled_dot", "scaled_dot_p",),
    "arrax.lax.sharding_constraints": ("sharding_constraint_p", "with_sharding_constraint",),
    "arrax.lax.special": (
        "bessel_i0e", "bessel_i1e", "digamma", "erf", "erf_inv", "erfc", "lgamma", "polygamma", "zeta",
    ),
    "arrax.lax.stacking": ("split", "split_p", "stack", "stack_p", "tile", "tile_p", "unstack", "unstack_p",),
    "arrax.lax.tokens": (
        "after_all", "after_all_p", "create_token", "create_token_p", "infeed", "infeed_p", "outfeed", "outfeed_p",
    ),
    "arrax.lax.window_geometry": ("padtype_to_pads", "reduce_window_shape_tuple",),
    "arrax.lax.window_scatter": ("select_and_scatter_p",),
    "arrax.lax.window_selection": ("select_and_gather_add_p", "select_and_scatter_add_p",),
    "arrax.lax.windows": (
        "reduce_window", "reduce_window_max_p", "reduce_window_min_p", "reduce_window_p", "reduce_window_sum_p",
    ),
}, submodules=("linalg",))  # fmt: skip

if _typing.TYPE_CHECKING:
    from arrax.lax.late import *  # noqa: F403
else:
    __getattr__ = _find_late
