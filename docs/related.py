"""What a reader of one public name may look for as well: the "see also" lines of the reference.

``FAMILIES`` has, for each module, lines of names that belong together: each of a line sees the others. A name that other
modules have too, such as ``arrax.numpy.sin`` and ``arrax.lax.sin``, sees those as well.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator, Mapping, Sequence

# Modules whose names of one spelling are the same idea, on different layers.
LAYERS = (
    "arrax.numpy", "arrax.numpy.linalg", "arrax.lax", "arrax.lax.linalg", "arrax.nn", "arrax.scipy.linalg", "arrax.scipy.special",
    "arrax.scipy.fft", "arrax.scipy.signal", "arrax.scipy.stats",
)  # fmt: skip
FAMILIES: Mapping[str, str] = {
    "arrax.experimental.pallas": """
        pallas_call kernel core_map BlockSpec GridSpec
        BlockSpec Blocked Element Squeezed squeezed no_block_spec Buffered
        program_id num_programs
        load store ds dslice dynamic_slice Slice
        when loop
        run_scoped with_scoped run_state MemoryRef MemorySpace empty_like empty empty_ref_like
        semaphore_signal semaphore_wait semaphore_read DeviceIdType
        CompilerParams CostEstimate estimate_cost
        cdiv align_to next_power_of_2 strides_from_shape
        multiple_of reciprocal broadcast_to
        debug_print delay
    """,
    "arrax.experimental.pallas.tpu": """
        PrefetchScalarGridSpec CompilerParams GridDimensionSemantics InterpretParams
        async_copy make_async_copy sync_copy AsyncCopyDescriptor SemaphoreType emit_pipeline
        load store touch bitcast roll
        create_tensorcore_mesh
        MemorySpace VMEM SMEM HBM
    """,
    "arrax": """
        jit make_jaxpr eval_shape disable_jit ensure_compile_time_eval
        new_ref empty_ref free_ref freeze Ref
        grad value_and_grad jacfwd jacrev jacobian hessian
        jvp linearize linear_transpose vjp fwd_and_bwd
        checkpoint remat checkpoint_policies
        custom_jvp custom_vjp custom_gradient closure_convert
        vmap pmap shard_map smap
        device_put device_get device_put_replicated device_put_sharded block_until_ready
        devices local_devices device_count local_device_count default_backend default_device
        process_index process_count process_indices
        make_array_from_callback make_array_from_process_local_data make_array_from_single_device_arrays
        make_mesh set_mesh reshard NamedSharding P
        debug_nans debug_infs debug_key_reuse enable_checks
        check_tracer_leaks checking_leaks no_tracing
        log_compiles explain_cache_misses clear_caches
        named_call named_scope
        transfer_guard transfer_guard_device_to_device transfer_guard_device_to_host transfer_guard_host_to_device array_garbage_collection_guard
        typeof ShapeDtypeStruct eval_shape
        default_prng_impl enable_custom_prng legacy_prng_key threefry_partitionable
        numpy_dtype_promotion numpy_rank_promotion enable_x64
        live_arrays print_environment_info
        effects_barrier block_until_ready
    """,
    "arrax.ad_checkpoint": "checkpoint checkpoint_name checkpoint_policies print_saved_residuals saved_residuals",
    "arrax.custom_batching": "custom_vmap sequential_vmap",
    "arrax.custom_derivatives": "custom_jvp custom_vjp custom_gradient closure_convert SymbolicZero zero_from_primal",
    "arrax.debug": """
        print log callback breakpoint
        explain recompiles
        draw watch progress
        visualize_array_sharding visualize_sharding inspect_array_sharding
        Explanation explain
        Recompilations RecompilationError RecompilationWarning recompiles
        Picture draw
        Watched Sample watch
        DebugEffect OrderedDebugEffect print
    """,
    "arrax.profiler": """
        trace start_trace stop_trace ProfileOptions
        start_server stop_server
        TraceAnnotation StepTraceAnnotation annotate_function
        device_memory_profile save_device_memory_profile
        ProfileData ProfilePlane ProfileEvent
    """,
    "arrax.monitoring": """
        record_event register_event_listener unregister_event_listener clear_event_listeners
        record_event_duration_secs register_event_duration_secs_listener unregister_event_duration_listener
        record_event_time_span register_event_time_span_listener unregister_event_time_span_listener
        record_scalar register_scalar_listener unregister_scalar_listener
    """,
    "arrax.test_util": "check_grads check_jvp check_vjp",
    "arrax.stages": "Wrapped Traced Lowered Compiled",
    "arrax.numpy": """
        abs absolute fabs sign positive negative
        acos arccos cos asin arcsin sin
        atan arctan tan atan2 arctan2
        acosh arccosh cosh asinh arcsinh sinh atanh arctanh tanh
        add subtract multiply divide true_divide
        floor_divide divmod mod remainder fmod
        power pow float_power square sqrt cbrt reciprocal
        exp exp2 expm1 log log2 log10 log1p
        logaddexp logaddexp2 exp log
        max min amax amin maximum minimum nanmax nanmin
        maximum minimum fmax fmin clip
        argmax argmin nanargmax nanargmin argsort
        all any count_nonzero
        allclose isclose array_equal array_equiv
        equal not_equal greater greater_equal less less_equal
        logical_and logical_or logical_not logical_xor
        bitwise_and bitwise_or bitwise_xor bitwise_not bitwise_invert invert
        left_shift right_shift bitwise_left_shift bitwise_right_shift bitwise_count
        packbits unpackbits
        sum prod mean cumsum nansum
        cumsum cumprod cumulative_sum cumulative_prod nancumsum nancumprod
        nansum nanprod nanmean nanmedian nanstd nanvar
        mean median average std var ptp
        percentile quantile median nanpercentile nanquantile
        sort argsort lexsort partition argpartition searchsorted sort_complex
        histogram histogram2d histogramdd histogram_bin_edges bincount digitize
        corrcoef cov correlate convolve
        concatenate concat stack vstack hstack dstack column_stack block append
        split array_split vsplit hsplit dsplit unstack
        reshape ravel squeeze expand_dims resize
        transpose permute_dims matrix_transpose swapaxes moveaxis rollaxis
        atleast_1d atleast_2d atleast_3d
        broadcast_to broadcast_arrays broadcast_shapes
        flip fliplr flipud rot90 roll
        repeat tile pad
        insert delete append trim_zeros
        array asarray copy astype from_dlpack
        zeros ones full empty
        zeros_like ones_like full_like empty_like
        eye identity diag diagonal diagflat tri
        fill_diagonal diag_indices diag_indices_from
        tri tril triu tril_indices triu_indices tril_indices_from triu_indices_from mask_indices
        arange linspace logspace geomspace
        meshgrid indices ix_ fromfunction
        frombuffer fromfile fromiter fromstring fromfunction
        load save savez
        where select choose piecewise
        nonzero flatnonzero argwhere where extract
        take take_along_axis put put_along_axis place compress
        ravel_multi_index unravel_index
        unique unique_all unique_counts unique_inverse unique_values
        union1d intersect1d setdiff1d setxor1d isin
        dot vdot matmul matvec vecmat vecdot inner outer tensordot einsum
        einsum einsum_path
        kron cross trace
        diff ediff1d gradient trapezoid
        floor ceil trunc rint round around fix
        real imag conj conjugate angle
        isreal isrealobj iscomplex iscomplexobj isscalar
        isnan isinf isfinite isneginf isposinf nan_to_num
        signbit copysign sign heaviside
        frexp ldexp modf nextafter spacing
        gcd lcm
        deg2rad rad2deg degrees radians
        hypot angle unwrap
        sinc i0
        bartlett blackman hamming hanning kaiser
        poly polyadd polysub polymul polydiv polyval polyfit polyder polyint roots
        interp polyfit
        vander tri
        vectorize apply_along_axis apply_over_axes frompyfunc ufunc
        shape size ndim
        dtype finfo iinfo result_type promote_types can_cast issubdtype isdtype
        array_repr array_str printoptions get_printoptions set_printoptions
        float16 bfloat16 float32 float64
        single double csingle cdouble
        float8_e3m4 float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu
        float4_e2m1fn float6_e2m3fn float6_e3m2fn
        int1 int2 int4 uint1 uint2 uint4
        generic number integer signedinteger unsignedinteger inexact floating complexfloating character flexible issubdtype
        int_ uint float_ complex_ bool_
        complex64 complex128
        int8 int16 int32 int64
        uint8 uint16 uint32 uint64
    """,
    "arrax.numpy.linalg": """
        cholesky qr svd eigh eig
        svd svdvals matrix_rank cond pinv
        eig eigh eigvals eigvalsh
        det slogdet trace
        solve lstsq inv pinv tensorsolve tensorinv
        norm matrix_norm vector_norm
        matmul multi_dot matrix_power outer tensordot vecdot
        diagonal trace matrix_transpose
        EigResult EighResult QRResult SVDResult SlogdetResult
    """,
    "arrax.numpy.fft": """
        fft ifft fft2 ifft2 fftn ifftn
        rfft irfft rfft2 irfft2 rfftn irfftn
        hfft ihfft
        fftfreq rfftfreq fftshift ifftshift
    """,
    "arrax.lax": """
        scan fori_loop while_loop map associative_scan
        cond switch select select_n platform_dependent
        add sub mul div rem neg
        eq ne lt le gt ge
        max min clamp
        exp exp2 expm1 log log1p logistic
        sin cos tan asin acos atan atan2
        sinh cosh tanh asinh acosh atanh
        sqrt rsqrt cbrt square pow integer_pow reciprocal
        floor ceil round sign abs
        bitwise_and bitwise_or bitwise_xor bitwise_not
        shift_left shift_right_arithmetic shift_right_logical
        clz population_count mulhi
        complex real imag conj
        erf erfc erf_inv
        lgamma digamma polygamma zeta
        igamma igammac igamma_grad_a random_gamma_grad betainc
        bessel_i0e bessel_i1e
        convert_element_type bitcast_convert_type reduce_precision
        broadcast broadcast_in_dim broadcast_like broadcast_to_rank broadcast_shapes
        reshape collapse expand_dims squeeze transpose rev
        slice slice_in_dim dynamic_slice dynamic_slice_in_dim dynamic_index_in_dim index_in_dim index_take gather
        dynamic_update_slice dynamic_update_slice_in_dim dynamic_update_index_in_dim scatter
        gather scatter scatter_add scatter_sub scatter_mul scatter_min scatter_max scatter_apply
        concatenate stack unstack split pad tile
        full full_like iota broadcasted_iota empty
        sort sort_key_val top_k argmax argmin
        approx_max_k approx_min_k top_k
        reduce reduce_sum reduce_prod reduce_max reduce_min reduce_and reduce_or reduce_xor
        reduce_window reduce_window_shape_tuple
        cumsum cumprod cummax cummin cumlogsumexp
        dot dot_general batch_matmul ragged_dot ragged_dot_general scaled_dot
        conv conv_general_dilated conv_with_general_padding conv_transpose conv_general_dilated_local conv_general_dilated_patches
        conv_dimension_numbers ConvDimensionNumbers conv_shape_tuple conv_general_shape_tuple conv_transpose_shape_tuple conv_general_permutations padtype_to_pads
        psum pmean pmax pmin psum_scatter
        all_gather all_gather_invariant all_to_all ppermute pshuffle pswapaxes ragged_all_to_all
        axis_index axis_size pbroadcast pcast
        pdot xeinsum
        psend precv
        custom_linear_solve custom_root
        stop_gradient optimization_barrier stage tie_in
        infeed outfeed create_token after_all
        rng_bit_generator rng_uniform RandomAlgorithm
        GatherDimensionNumbers ScatterDimensionNumbers GatherScatterMode
        Precision DotAlgorithm DotAlgorithmPreset
        AccuracyMode Tolerance
        is_finite nextafter
        composite custom_linear_solve
        RoundingMethod round
        DotDimensionNumbers dot_general RaggedDotDimensionNumbers ragged_dot_general
    """,
    "arrax.lax.linalg": """
        cholesky cholesky_update symmetric_product
        eig eigh schur hessenberg
        svd qdwh qr
        qr geqrf householder_product ormqr
        lu lu_pivots_to_permutation triangular_solve
        tridiagonal tridiagonal_solve
        EigImplementation EighImplementation SvdAlgorithm
    """,
    "arrax.dtypes": """
        can_cast promote_types result_type issubdtype isdtype
        canonicalize_dtype dtype finfo iinfo
        bfloat16 extended prng_key ExtendedDType is_extended
        is_bool is_complex is_float is_inexact is_integer is_extended
        to_complex_dtype to_dtype to_inexact_dtype to_numeric_dtype
        lattice_result_type python_scalar_dtype result_type_of scalar_type_of result_type
        is_weakly_typed value_pair
        DTypeLike OptionalDType to_dtype
        real_dtype to_complex_dtype
        short_name itemsize_bits
        TypePromotionError promote_types
        check_user_dtype canonicalize_dtype
    """,
    "arrax.ops": "segment_sum segment_prod segment_min segment_max",
    "arrax.image": "resize scale_and_translate ResizeMethod",
    "arrax.dlpack": "from_dlpack to_dlpack is_supported_dtype",
    "arrax.tree": """
        flatten unflatten leaves structure flatten_with_path leaves_with_path
        map map_with_path
        reduce reduce_associative all
        transpose broadcast static
    """,
    "arrax.tree_util": """
        tree_flatten tree_unflatten tree_leaves tree_structure
        tree_flatten_with_path tree_leaves_with_path tree_map_with_path keystr
        tree_map tree_reduce tree_reduce_associative tree_all tree_transpose tree_broadcast
        register_pytree_node register_pytree_node_class register_pytree_with_keys register_pytree_with_keys_class register_dataclass register_static
        DictKey FlattenedIndexKey GetAttrKey SequenceKey keystr
        treedef_children treedef_is_leaf treedef_tuple PyTreeDef
        all_leaves tree_leaves
        Partial register_static
        flatten_one_level flatten_one_level_with_keys tree_flatten
        build_tree tree_unflatten
    """,
    "arrax.random": """
        key PRNGKey split fold_in clone
        key_data wrap_key_data key_impl key_dtype
        uniform normal truncated_normal bits
        randint choice permutation
        normal multivariate_normal lognormal generalized_normal
        gamma loggamma chisquare dirichlet beta f t
        exponential laplace logistic gumbel weibull_min pareto rayleigh maxwell double_sided_maxwell wald triangular cauchy
        bernoulli binomial multinomial categorical rademacher
        poisson geometric binomial
        ball orthogonal
    """,
    "arrax.nn": """
        relu relu6 leaky_relu elu selu celu gelu silu swish mish
        sigmoid hard_sigmoid log_sigmoid sparse_sigmoid
        softplus squareplus sparse_plus
        tanh hard_tanh soft_sign
        hard_silu hard_swish silu
        softmax log_softmax logsumexp logmeanexp
        log1mexp log_sigmoid
        standardize softmax
        glu sigmoid
        one_hot softmax
        dot_product_attention softmax
        scaled_matmul scaled_dot_general get_scaled_dot_general_config
    """,
    "arrax.nn.initializers": """
        zeros ones constant
        uniform normal truncated_normal
        variance_scaling glorot_uniform glorot_normal he_uniform he_normal lecun_uniform lecun_normal
        xavier_uniform xavier_normal kaiming_uniform kaiming_normal
        orthogonal delta_orthogonal
    """,
    "arrax.example_libraries.optimizers": """
        sgd momentum nesterov adagrad rmsprop rmsprop_momentum adam adamax sm3
        constant exponential_decay inverse_time_decay polynomial_decay piecewise_constant make_schedule
        clip_grads l2_norm
        pack_optimizer_state unpack_optimizer_state OptimizerState
        optimizer Optimizer
    """,
    "arrax.example_libraries.schedules": """
        constant exponential_decay inverse_time_decay polynomial_decay piecewise_constant make_schedule
    """,
    "arrax.example_libraries.stax": """
        serial parallel shape_dependent
        Dense Conv Conv1DTranspose ConvTranspose GeneralConv GeneralConvTranspose
        AvgPool MaxPool SumPool
        BatchNorm Dropout
        FanInConcat FanInSum FanOut
        Relu LeakyRelu Elu Selu Gelu Sigmoid Softplus Tanh Exp LogSoftmax Softmax
        Flatten Identity
        relu leaky_relu elu selu gelu sigmoid softplus softmax log_softmax standardize elementwise
        zeros ones normal glorot glorot_normal randn
    """,
    "arrax.scipy.fft": "dct idct dctn idctn",
    "arrax.scipy.linalg": """
        cholesky cho_factor cho_solve
        lu lu_factor lu_solve
        qr qr_multiply polar
        eigh eigh_tridiagonal schur rsf2csf hessenberg
        svd polar
        solve solve_triangular cho_solve lu_solve solve_sylvester
        expm expm_frechet sqrtm funm
        det inv
        toeplitz hankel circulant hadamard convolution_matrix
        companion fiedler fiedler_companion leslie helmert
        hilbert invhilbert pascal invpascal
        block_diag dft
    """,
    "arrax.scipy.signal": """
        convolve convolve2d fftconvolve correlate correlate2d
        stft istft welch csd
        detrend welch
    """,
    "arrax.scipy.special": """
        gamma gammaln loggamma gammasgn multigammaln digamma polygamma factorial poch
        gammainc gammaincc gamma
        beta betaln betainc
        erf erfc erfcx erfinv dawsn wofz
        expi exp1 expn sici
        ndtr log_ndtr ndtri
        i0 i0e i1 i1e bessel_jn
        expit logit log_softmax softmax logsumexp
        entr rel_entr kl_div xlogy xlog1py
        boxcox boxcox1p
        hyp1f1 hyp2f1
        zeta bernoulli polygamma
        lpmn lpmn_values sph_harm sph_harm_y
        comb factorial poch
        fresnel spence owens_t
    """,
    "arrax.scipy.stats": "gaussian_kde mode rankdata sem",
    "arrax.scipy.sparse.linalg": "cg bicgstab gmres",
    "arrax.scipy.spatial.transform": "Rotation Slerp",
    "arrax.scipy.optimize": "minimize OptimizeResults",
    "arrax.sharding": """
        Mesh AbstractMesh make_mesh AxisType
        NamedSharding PartitionSpec SingleDeviceSharding PositionalSharding GSPMDSharding PmapSharding Sharding
        get_mesh set_mesh use_mesh get_abstract_mesh use_abstract_mesh
        auto_axes explicit_axes reshard
    """,
    "arrax.distributed": "initialize shutdown is_initialized",
    "arrax.experimental.rnn": """
        lstm lstm_ref init_lstm_weight get_num_params_in_lstm unpack_lstm_weights swap_lstm_gates
    """,
    "arrax.experimental.checkify": """
        checkify check check_error debug_check Error ErrorCategory
    """,
    "arrax.experimental.multihost_utils": """
        assert_equal broadcast_one_to_all process_allgather sync_global_devices
        host_local_array_to_global_array global_array_to_host_local_array
        live_devices reached_preemption_sync_point
    """,
    "arrax.experimental.mesh_utils": "create_device_mesh create_hybrid_device_mesh",
    "arrax.experimental.host_callback": "id_tap id_print call barrier_wait",
    "arrax.experimental.maps": "xmap SerialLoop",
    "arrax.experimental.sparse": """
        BCOO BCSR COO CSR CSC JAXSparse
        bcoo_fromdense bcoo_todense bcsr_fromdense bcsr_todense
        bcoo_dot_general bcoo_dot_general_sampled bcsr_dot_general
        bcoo_slice bcoo_dynamic_slice bcoo_gather
        bcoo_reshape bcoo_squeeze bcoo_transpose bcoo_rev bcoo_broadcast_in_dim bcoo_concatenate
        bcoo_multiply_dense bcoo_multiply_sparse bcoo_reduce_sum
        bcoo_sort_indices bcoo_sum_duplicates bcoo_update_layout bcoo_extract
        bcsr_broadcast_in_dim bcsr_concatenate bcsr_extract bcsr_sum_duplicates
        coo_fromdense coo_todense coo_matvec coo_matmat
        csr_fromdense csr_todense csr_matvec csr_matmat
        empty eye todense random_bcoo
        sparsify grad value_and_grad jacfwd jacrev jacobian
    """,
    "arrax.core": """
        Jaxpr ClosedJaxpr JaxprEqn Var DropVar Literal
        AbstractValue ShapedArray AbstractToken typeof get_aval raise_to_shaped
        Trace Tracer Primitive Interpreter
        eval_jaxpr jaxpr_as_fun check_jaxpr
        subjaxprs jaxprs_in_params subprograms
        find_top_trace get_opaque_trace_state trace_state_clean
        gensym new_jaxpr_eqn Var JaxprEqn
        unsafe_get_axis_names_DO_NOT_USE named_axes_in_scope
        concrete_or_error is_concrete ConcretizationTypeError
        eval_context ensure_compile_time_eval
        is_constant_dim max_dim min_dim
        is_arraylike valid_jaxtype
    """,
    "arrax.extend.core": """
        Jaxpr ClosedJaxpr JaxprEqn Var DropVar Literal
        AbstractToken mapped_aval unmapped_aval
        find_top_trace get_opaque_trace_state TraceTag take_current_trace set_current_trace
        jaxpr_as_fun check_jaxpr subjaxprs jaxprs_in_params
    """,
    "arrax.extend.linear_util": """
        wrap_init WrappedFun transformation transformation_with_aux merge_linear_aux cache StoreException
    """,
    "arrax.extend.random": "define_prng_impl random_seed seed_with_impl threefry_2x32",
    "arrax.experimental.sparse.linalg": "spsolve lobpcg_standard",
}
# Names that belong to families of other modules.
ELSEWHERE: Mapping[str, str] = {
    "arrax.scipy.special.logsumexp": "arrax.nn.logsumexp arrax.numpy.logaddexp arrax.lax.cumlogsumexp",
    "arrax.nn.logsumexp": "arrax.scipy.special.logsumexp arrax.numpy.logaddexp",
    "arrax.scipy.special.expit": "arrax.nn.sigmoid arrax.lax.logistic",
    "arrax.nn.sigmoid": "arrax.scipy.special.expit arrax.lax.logistic",
    "arrax.lax.logistic": "arrax.nn.sigmoid arrax.scipy.special.expit",
    "arrax.scipy.integrate.trapezoid": "arrax.numpy.trapezoid arrax.experimental.ode.odeint",
    "arrax.experimental.ode.odeint": "arrax.scipy.integrate.trapezoid arrax.lax.scan",
    "arrax.scipy.ndimage.map_coordinates": "arrax.scipy.interpolate.RegularGridInterpolator arrax.image.scale_and_translate",
    "arrax.scipy.interpolate.RegularGridInterpolator": "arrax.scipy.ndimage.map_coordinates arrax.numpy.interp",
    "arrax.numpy.interp": "arrax.scipy.interpolate.RegularGridInterpolator",
    "arrax.flatten_util.ravel_pytree": "arrax.tree_util.tree_flatten arrax.numpy.ravel",
    "arrax.tree_util.tree_flatten": "arrax.flatten_util.ravel_pytree",
    "arrax.pure_callback": "arrax.debug.callback arrax.experimental.io_callback",
    "arrax.experimental.io_callback": "arrax.pure_callback arrax.debug.callback",
    "arrax.debug.callback": "arrax.pure_callback arrax.experimental.io_callback",
    "arrax.experimental.pjit.pjit": "arrax.jit",
    "arrax.shard_map": "arrax.lax.psum arrax.lax.all_gather arrax.sharding.Mesh",
    "arrax.lax.scan": "arrax.checkpoint arrax.vmap",
    "arrax.ops.segment_sum": "arrax.numpy.bincount",
    "arrax.numpy.bincount": "arrax.ops.segment_sum",
    "arrax.scipy.linalg.expm": "arrax.numpy.linalg.matrix_power",
    "arrax.image.resize": "arrax.scipy.ndimage.map_coordinates",
    "arrax.eval_shape": "arrax.ShapeDtypeStruct",
    "arrax.make_jaxpr": "arrax.debug.draw arrax.debug.explain",
    "arrax.make_user_context": "arrax.jit arrax.clear_caches",
    "arrax.scipy.cluster.vq.vq": "arrax.numpy.argmin",
    "arrax.experimental.colocated_python.colocated_python": "arrax.pure_callback",
    "arrax.collect_profile.main": "arrax.profiler.start_server arrax.profiler.trace",
}
MOST = 10  # longer lines are not read
SMALL = 15  # the names of a module of no more names, which has no families, belong together


@functools.cache
def _families() -> dict[str, list[str]]:
    """By full name, what stands beside it in a line."""
    found: dict[str, list[str]] = {}
    for module, lines in FAMILIES.items():
        for line in lines.strip().splitlines():
            names = [f"{module}.{name}" for name in line.split()]
            for name in names:
                found.setdefault(name, []).extend(other for other in names if other != name)
    for name, others in ELSEWHERE.items():
        found.setdefault(name, []).extend(others.split())
    return found


def _layers(place: str) -> Iterator[str]:
    """The same name in other layers."""
    module, _, name = place.rpartition(".")
    if module in LAYERS:
        yield from (f"{other}.{name}" for other in LAYERS if other != module)


def exists(place: str) -> bool:
    """Whether a full name is one of arrax's."""
    module, _, name = place.rpartition(".")
    try:
        return hasattr(importlib.import_module(module), name)
    except ImportError:
        return False


def see_also(place: str, neighbours: Sequence[str] = ()) -> list[str]:
    """The full names that the entry of a full name sends the reader to, nearest first.

    Args:
      place: the full name.
      neighbours: the full names of all that is in its module.
    """
    all_of_it = neighbours if len(neighbours) <= SMALL and place.rpartition(".")[0] not in FAMILIES else ()
    found = [*_layers(place), *_families().get(place, ()), *all_of_it]
    return [other for other in dict.fromkeys(found) if other != place and exists(other)][:MOST]


def named() -> set[str]:
    """All full names that the tables have."""
    return {*_families(), *(other for others in _families().values() for other in others)}
