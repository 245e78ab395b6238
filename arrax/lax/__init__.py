"""The strict layer of operations. Public names only."""

import typing as _typing

from arrax.core.late_names import late_names

_find_late, __dir__, __all__ = late_names(__name__, {
    "arrax.lax.accuracy": ("AccuracyMode", "Tolerance",),
    "arrax.lax.all_gathers": ("all_gather", "all_gather_invariant",),
    "arrax.lax.argminmax": ("argmax", "argmin",),
    "arrax.lax.arithmetic": (
        "abs_ as abs", "add", "ceil", "complex_ as complex", "conj", "conj_p", "div", "eq", "floor", "ge", "gt",
        "imag", "integer_pow", "integer_pow_p", "is_finite", "le", "lt", "max_ as max", "min_ as min", "mul", "mul_p",
        "ne", "neg", "real_part as real", "reciprocal", "rem", "sign", "square", "sub",
    ),
    "arrax.lax.associative_scans": ("associative_scan",),
    "arrax.lax.axis_contractions": ("pdot", "xeinsum",),
    "arrax.lax.axis_order": ("rev", "rev_p", "transpose", "transpose_p",),
    "arrax.lax.barriers": (
        "dce_sink", "dce_sink_p", "dtype", "empty", "optimization_barrier", "optimization_barrier_p",
        "shape_as_value", "stage", "stage_p", "stop_gradient", "stop_gradient_p", "tie_in",
    ),
    "arrax.lax.bitcast": ("bitcast_convert_type", "bitcast_convert_type_p",),
    "arrax.lax.bitwise": (
        "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "clz", "nextafter", "population_count",
        "shift_left", "shift_right_arithmetic", "shift_right_logical",
    ),
    "arrax.lax.calls": ("core_call_p", "jit_p",),
    "arrax.lax.collective_gathers": ("all_gather_p", "all_to_all_p", "reduce_scatter_p",),
    "arrax.lax.collective_rules": (
        "axis_index_p", "pbroadcast_p", "pmax_p", "pmin_p", "ppermute_p", "psum_p",
    ),
    "arrax.lax.collectives": (
        "all_to_all", "axis_index", "axis_size", "pbroadcast", "pcast", "pmax", "pmean", "pmin",
        "ppermute", "pshuffle", "psum", "psum_scatter", "pswapaxes",
    ),
    "arrax.lax.composites": ("composite", "composite_p",),
    "arrax.lax.concatenation": ("concatenate", "concatenate_p", "split", "split_p",),
    "arrax.lax.contractions": ("DotDimensionNumbers", "batch_matmul", "dot", "dot_general", "dot_general_p",),
    "arrax.lax.control_flow.conditional_rules": ("cond_p", "platform_index_p",),
    "arrax.lax.control_flow.conditionals": ("cond", "platform_dependent", "switch",),
    "arrax.lax.control_flow.loop_rules": ("while_p",),
    "arrax.lax.control_flow.loops": ("fori_loop", "while_loop",),
    "arrax.lax.control_flow.mapping": ("map",),
    "arrax.lax.control_flow.scan_rules": ("scan_p",),
    "arrax.lax.control_flow.scans": ("scan",),
    "arrax.lax.control_flow.solves": ("custom_linear_solve", "custom_root", "linear_solve_p", "root_p",),
    "arrax.lax.conversion": ("convert_element_type", "convert_element_type_p",),
    "arrax.lax.convolution": (
        "conv", "conv_general_dilated", "conv_general_dilated_local", "conv_general_dilated_patches",
        "conv_transpose", "conv_with_general_padding",
    ),
    "arrax.lax.convolution_geometry": (
        "ConvDimensionNumbers", "ConvGeneralDilatedDimensionNumbers", "conv_dimension_numbers",
        "conv_general_permutations", "conv_general_shape_tuple", "conv_shape_tuple", "conv_transpose_shape_tuple",
    ),
    "arrax.lax.convolution_rules": ("conv_general_dilated_p",),
    "arrax.lax.counting": ("count_p",),
    "arrax.lax.cumulative": ("cumlogsumexp", "cummax", "cummin", "cumprod", "cumsum",),
    "arrax.lax.custom_linear_calls": ("custom_linear_p",),
    "arrax.lax.custom_rules": ("custom_jvp_call_p", "custom_vjp_call_p",),
    "arrax.lax.exponential": (
        "cbrt", "exp", "exp2", "expm1", "log", "log1p", "logistic", "pow", "pow_p", "rsqrt", "sqrt",
    ),
    "arrax.lax.filled_arrays": ("broadcasted_iota", "full", "full_like", "iota", "iota_p", "zeros_like_array",),
    "arrax.lax.fourier_transforms": ("FftType", "fft", "fft_p",),
    "arrax.lax.gathers": ("GatherDimensionNumbers", "GatherScatterMode", "gather", "gather_p",),
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
    "arrax.lax.order_statistics": ("order_statistics_p", "partition_p",),
    "arrax.lax.placement": ("copy_p", "device_put_p",),
    "arrax.lax.point_to_point": ("precv", "precv_p", "psend", "psend_p", "ragged_all_to_all", "ragged_all_to_all_p",),
    "arrax.lax.precision": ("DotAlgorithm", "DotAlgorithmPreset", "Precision", "PrecisionLike",),
    "arrax.lax.ragged_products": (
        "RaggedDotDimensionNumbers", "ragged_dot", "ragged_dot_general", "ragged_dot_general_p",
    ),
    "arrax.lax.random_bits": (
        "RandomAlgorithm", "rng_bit_generator", "rng_bit_generator_p", "rng_uniform", "rng_uniform_p",
    ),
    "arrax.lax.recurrence": ("linear_recurrence_p",),
    "arrax.lax.reductions": (
        "reduce", "reduce_and", "reduce_max", "reduce_min", "reduce_or", "reduce_p", "reduce_prod", "reduce_sum",
        "reduce_xor",
    ),
    "arrax.lax.remat": ("name_p", "remat_p",),
    "arrax.lax.rounding": ("RoundingMethod", "reduce_precision", "reduce_precision_p", "round", "round_p",),
    "arrax.lax.scaled_products": ("scaled_dot", "scaled_dot_p",),
    "arrax.lax.scatters": (
        "scatter", "scatter_add", "scatter_add_p", "scatter_apply", "scatter_max", "scatter_max_p", "scatter_min",
        "scatter_min_p", "scatter_mul", "scatter_mul_p", "scatter_p", "scatter_sub", "scatter_sub_p",
    ),
    "arrax.lax.scatter_lowering": ("ScatterDimensionNumbers",),
    "arrax.lax.selection": ("clamp", "clamp_p", "select", "select_n", "select_n_p",),
    "arrax.lax.shapes": (
        "broadcast", "broadcast_in_dim", "broadcast_in_dim_p", "broadcast_like", "broadcast_shapes",
        "broadcast_to_rank", "collapse", "expand_dims", "reshape", "reshape_p", "squeeze", "squeeze_p",
    ),
    "arrax.lax.sharding_constraints": ("sharding_constraint_p", "with_sharding_constraint",),
    "arrax.lax.slicing": ("dynamic_slice", "dynamic_slice_p", "dynamic_update_slice", "dynamic_update_slice_p",),
    "arrax.lax.slicing_along_axes": (
        "dynamic_index_in_dim", "dynamic_slice_in_dim", "dynamic_update_index_in_dim", "dynamic_update_slice_in_dim",
        "index_in_dim", "index_take",
    ),
    "arrax.lax.sorting": (
        "approx_max_k", "approx_min_k", "approx_top_k_p", "sort", "sort_key_val", "sort_p", "top_k", "top_k_p",
    ),
    "arrax.lax.special": (
        "bessel_i0e", "bessel_i1e", "digamma", "erf", "erf_inv", "erfc", "lgamma", "polygamma", "zeta",
    ),
    "arrax.lax.stacking": ("stack", "stack_p", "tile", "tile_p", "unstack", "unstack_p",),
    "arrax.lax.static_slicing": ("pad", "pad_p", "slice_ as slice", "slice_in_dim", "slice_p",),
    "arrax.lax.tokens": (
        "after_all", "after_all_p", "create_token", "create_token_p", "infeed", "infeed_p", "outfeed", "outfeed_p",
    ),
    "arrax.lax.trigonometric": (
        "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "sin", "sinh", "tan", "tanh",
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
