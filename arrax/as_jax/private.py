"""Names of private modules that libraries look up, and where arrax has what they mean. No behaviour lives here."""

from __future__ import annotations

import functools
import importlib
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from arrax.as_jax.public_modules import PUBLIC

# Names that no public module has. module: {name: where it is}; beside each module, the libraries that need it.
_FORWARDS: dict[str, dict[str, str]] = {
    "jax._src.ad_checkpoint": {  # haliax, oryx
        "remat_p": "arrax.extend.core.primitives:remat_p",
        "saved_residuals": "arrax.ad_checkpoint:saved_residuals",
    },
    "jax._src.ad_util": {"stop_gradient_p": "arrax.lax.barriers:stop_gradient_p"},  # lineax, optimistix
    "jax._src.api_util": {  # brainstate, e3nn
        "flatten_axes": "arrax.core.pytree_prefixes:flatten_axes",
        "infer_argnums_and_argnames": "arrax.transforms.arguments:infer_argnums_and_argnames",
    },
    "jax._src.array": {"ArrayImpl": "arrax.native.runtime:ArrayImpl"},  # levanter
    "jax._src.checkify": {  # flax.nnx
        "Error": "arrax.transforms.checkify:Error",
        **{
            name: f"arrax.lax.runtime_checks:{name}"
            for name in (
                "JaxException",
                "NaNError",
                "OOBError",
                "DivisionByZeroError",
                "FailedCheckError",
                "BatchedError",
            )
        },
        "Out": "arrax.transforms.wrapped:R",
        "checkify": "arrax.transforms.checkify:checkify",
        "user_checks": "arrax.transforms.checkify:user_checks",
    },
    "jax._src.compiler": {},  # chex
    "jax._src.core": {  # brainstate, dynamiqs, flax, jax2onnx, numpyro, quax, saiunit, torchax
        "AbstractValue": "arrax.core.types:AbstractValue",
        "Primitive": "arrax.core.interpreter:Primitive",
        "Trace": "arrax.core.interpreter:Interpreter",
        "TraceTag": "arrax.core.interpreter:TraceTag",
        "Tracer": "arrax.core.interpreter:Tracer",
        "concrete_or_error": "arrax.interpreters.programs:concrete_or_error",
        "DimSize": "arrax.as_jax.stand_ins:DimSize",
        "Shape": "arrax.as_jax.stand_ins:Shape",
        "canonicalize_shape": "arrax.lax.shape_arguments:canonical_shape",
        "definitely_equal_shape": "arrax.as_jax.stand_ins:definitely_equal_shape",
        "dimension_as_value": "arrax.numpy_api.creation:asarray",
        "full_lower": "arrax.as_jax.stand_ins:full_lower",
        "JaxprEqnContext": "arrax.as_jax.stand_ins:JaxprEqnContext",
        "closed_call_p": "arrax.extend.core.primitives:closed_call_p",
        "is_constant_dim": "arrax.core:is_constant_dim",
        "trace_ctx": "arrax.as_jax.stand_ins:trace_ctx",
        "get_aval": "arrax.interpreters.programs:get_aval",
        "jaxpr_as_fun": "arrax.interpreters.programs:jaxpr_as_fun",
        "set_current_trace": "arrax.core.interpreter:set_current_trace",
        "take_current_trace": "arrax.core.interpreter:take_current_trace",
        "ShapedArray": "arrax.core.types:ShapedArray",
        "trace_state_clean": "arrax.interpreters.trace_state:trace_state_clean",
        "physical_aval": "arrax.interpreters.lowering.builder:physical_aval",
        "new_ref": "arrax.numpy_api.references:new_ref",  # aqt
        **{name: f"arrax.extend.core:{name}" for name in ("ClosedJaxpr", "Jaxpr", "Literal", "Var")},  # oryx
        "_sds_aval_mapping": "arrax.transforms.inspection:shaped_type",  # qwix
        "safe_map": "arrax.core.sequences:safe_map",
        "safe_zip": "arrax.core.sequences:safe_zip",
    },
    "jax._src.custom_api_util": {  # jaxpm
        "register_custom_decorator_type": "arrax.as_jax.stand_ins:register_decorator",
    },
    "jax._src.dispatch": {  # brainevent, equinox, jaxpm
        "apply_primitive": "arrax.interpreters.evaluation:apply_primitive",
        "prim_requires_devices_during_lowering": "arrax.as_jax.stand_ins:registered",
        "wait_for_tokens": "arrax.transforms.waiting:effects_barrier",
    },
    "jax._src.distributed": {"global_state": "arrax.xla.processes:state"},  # orbax
    "jax._src.dtypes": {  # equinox, flax, optree, tinygp
        "TypePromotionError": "arrax.dtypes:TypePromotionError",
        "DType": "numpy:dtype",
        "ExtendedDType": "arrax.numpy_api.represented_arrays:ExtendedDType",
        "extended": "arrax.dtypes:extended",
        "dtype": "arrax.dtypes:dtype",
        "finfo": "arrax.dtypes:finfo",
        "result_type": "arrax.dtypes:result_type",
        "supports_inf": "arrax.as_jax.stand_ins:supports_inf",
        "to_complex_dtype": "arrax.dtypes:to_complex_dtype",
    },
    "jax._src.effects": {"ordered_effects": "arrax.lax.effectful_callbacks:ordered_effects"}  # mpi4jax
    | {
        name: f"arrax.core.effects:{name}"
        for name in (
            "Effect",
            "control_flow_allowed_effects",
            "custom_derivatives_allowed_effects",
            "lowerable_effects",
            "remat_allowed_effects",
        )
    },
    "jax._src.flatten_util": {"ravel_pytree": "arrax.flatten_util:ravel_pytree"},  # blackjax
    "jax._src.image.scale": {"_kernels": "arrax.image.scaling:_KERNELS"},  # torchax
    "jax._src.interpreters": {},
    "jax._src.interpreters.ad": {"CustomVJPException": "arrax.core.errors:UnexpectedTracerError"},  # diffrax, jaxopt
    "jax._src.interpreters.batching": {  # brainstate, jaxoplanet
        "BatchTrace": "arrax.interpreters.batching:Batch",
        "BatchTracer": "arrax.interpreters.batching:BatchTracer",
        "is_vmappable": "arrax.interpreters.batched_types:is_vmappable",
        "make_iota": "arrax.as_jax.stand_ins:make_iota",
        "to_elt": "arrax.interpreters.batched_values:element_of",
    },
    "jax._src.interpreters.mlir": {"custom_call": "arrax.interpreters.mlir:custom_call"},  # veros
    "jax._src.interpreters.partial_eval": {"JaxprTracer": "arrax.interpreters.partial_eval:JaxprTracer"},  # scico
    "jax._src.interpreters.pxla": {},  # flax
    "jax._src.earray": {"EArray": "arrax.numpy_api.represented_arrays:EArray"},  # flax
    "jax._src.lax": {},
    "jax._src.lax.control_flow": {"scan": "arrax.lax:scan"},  # pytensor
    "jax._src.literals": {  # equinox, quax
        name: f"arrax.as_jax.stand_ins:{name}" for name in ("TypedComplex", "TypedFloat", "TypedInt", "TypedNdArray")
    },
    "jax._src.mesh": {  # haliax, jaxns, praxis
        "Mesh": "arrax.sharding:Mesh",
        "get_concrete_mesh": "arrax.xla.meshes:get_mesh",
        "thread_resources": "arrax.as_jax.stand_ins:thread_resources",
    },
    "jax._src.nn": {},
    "jax._src.nn.functions": {"glu": "arrax.nn:glu"},  # sbijax
    "jax._src.nn.initializers": {  # e3x
        "_complex_truncated_normal": "arrax.nn.initializers:_cut_complex_normal",
        "_complex_uniform": "arrax.nn.initializers:_disk_uniform",
    },
    "jax._src.numpy": {},
    "jax._src.numpy.einsum": {  # aqt, haliax
        "_default_poly_einsum_handler": "opt_einsum:contract_path",
        "_einsum": "arrax.numpy_api.einsums:einsum_of_steps",
        "_poly_einsum_handlers": "arrax.as_jax.stand_ins:poly_einsum_handlers",
    },
    "jax._src.numpy.array_methods": {  # unxt
        "_IndexUpdateHelper": "arrax.numpy_api.updates:IndexUpdater",
        "_IndexUpdateRef": "arrax.numpy_api.updates:IndexUpdate",
    },
    "jax._src.numpy.index_tricks": {  # quaxed
        "CClass": "arrax.numpy_api.index_objects:ColumnJoiner",
        "RClass": "arrax.numpy_api.index_objects:RowJoiner",
    },
    "jax._src.numpy.lax_numpy": {},  # haliax
    "jax._src.numpy.ufuncs": {"ufunc": "arrax.numpy:ufunc"},  # esquilax
    "jax._src.numpy.util": {  # numpyro, orthax, s2fft, vbjax
        "check_arraylike": "arrax.numpy_api.operands:check_arraylike",
        "promote_dtypes_complex": "arrax.as_jax.stand_ins:promote_dtypes_complex",
        "promote_dtypes_inexact": "arrax.as_jax.stand_ins:promote_dtypes_inexact",
    },
    "jax._src.numpy.vectorize": {  # desc, galax, quaxed
        f"_{name}": f"arrax.as_jax.vectorize_steps:{name}"
        for name in ("apply_excluded", "check_output_dims", "parse_gufunc_signature", "parse_input_dimensions")
    },
    "jax._src.partition_spec": {"PartitionSpec": "arrax.sharding:PartitionSpec"},  # jaxns
    "jax._src.pjit": {  # jaxns, quax
        "auto_axes": "arrax.sharding:auto_axes",
        "jit_p": "arrax.lax.calls:jit_p",
    },
    "jax._src.public_test_util": {"check_close": "arrax.transforms.derivative_checks:check_close"},  # blackjax, tinygp
    "jax._src.random": {},
    "jax._src.random.core": {"_check_prng_key": "arrax.as_jax.key_checks:check_key"},  # kauldron
    "jax._src.random.threefry2x32": {  # quax
        "threefry_random_bits": "arrax.random.threefry:random_bits",
        "threefry_seed": "arrax.random.threefry:seed",
        "threefry_split": "arrax.random.threefry:split",
    },
    "jax._src.scipy": {},
    "jax._src.scipy.linalg": {"solve_triangular": "arrax.scipy.linalg:solve_triangular"},  # jaxns
    "jax._src.scipy.special": {  # jaxns
        name: f"arrax.scipy.special:{name}" for name in ("gammaln", "logit", "logsumexp")
    },
    "jax._src.sharding": {"Sharding": "arrax.sharding:Sharding"},  # scico
    "jax._src.sharding_impls": {  # brainstate, jaxns, oryx
        "UNSPECIFIED": "arrax.xla.shardings:UNSPECIFIED",
        "UnspecifiedValue": "arrax.xla.shardings:Unspecified",
        "canonicalize_sharding": "arrax.as_jax.stand_ins:canonicalize_sharding",
    },
    "jax._src.source_info_util": {  # brainstate, jaxls, kauldron
        "Frame": "arrax.as_jax.stand_ins:Frame",
        "user_frame": "arrax.as_jax.stand_ins:user_frame",
    }
    | {name: f"arrax.extend.source_info_util:{name}" for name in ("current", "register_exclusion", "user_context")},
    "jax._src.stages": {"Lowered": "arrax.stages:Lowered"},  # jaxadi
    "jax._src.state": {},
    "jax._src.state.indexing": {"Slice": "arrax.numpy_api.reference_index:Slice"},  # haliax
    "jax._src.state.types": {"AbstractRef": "arrax.core.references:AbstractRef"},  # flax.nnx
    "jax._src.traceback_util": {  # chex, equinox, flax, jaxtyping
        "UnfilteredStackTrace": "arrax.core.tracebacks:UnfilteredStackTrace",
        "_exclude_paths": "arrax.core.calls:excluded_paths",
        "api_boundary": "arrax.core.tracebacks:boundary",
        "filter_traceback": "arrax.core.tracebacks:filter_traceback",  # brainstate
        "include_frame": "arrax.core.calls:include_frame",
        "register_exclusion": "arrax.core.calls:register_exclusion",
    },
    "jax._src.test_util": {  # a program of the documentation
        "check_grads": "arrax.test_util:check_grads",
        "check_jvp": "arrax.test_util:check_jvp",
        "check_vjp": "arrax.test_util:check_vjp",
    },
    "jax._src.tree_util": {  # flax, jaxlie, orbax
        "_registry": "arrax.core.pytree_nodes:registered_nodes",
        "flatten_one_level": "arrax.core.pytree_nodes:flatten_one_level",
        "prefix_errors": "arrax.core.pytree_prefixes:prefix_errors",
    },
    "jax._src.typing": {  # jaxns, jaxpm, lorax, qax
        "Array": "arrax.xla.arrays:Array",
        "ArrayLike": "arrax.xla.arrays:ArrayLike",
        "DTypeLike": "arrax.dtypes:DTypeLike",
        "Shape": "arrax.as_jax.stand_ins:Shape",
        "SupportsDType": "arrax.as_jax.stand_ins:SupportsDType",
    },
    "jax._src.xla_bridge": {  # chex, and programs of the documentation
        "_backends": "arrax.xla.startup:_clients",
        "get_backend": "arrax.xla.backends:get_backend",
    },
    "jax.experimental.colocated_python.func": {},  # orbax
    "jax.experimental.colocated_python.serialization": {"DeviceList": "arrax.native.runtime:DeviceList"},  # orbax
    "jax.experimental.pallas.triton": {  # jax_md, for other devices than those that arrax runs on
        "CompilerParams": "arrax.experimental.pallas.block_specs:CompilerParams",
        "load": "arrax.experimental.pallas.programs:load",
        "store": "arrax.as_jax.stand_ins:store_all",
    },
    **{  # keras, for other devices than those that arrax runs on
        f"jax.experimental.pallas.ops{inner}": {}
        for inner in (
            "",
            ".tpu",
            ".tpu.splash_attention",
            ".tpu.splash_attention.splash_attention_kernel",
            ".tpu.splash_attention.splash_attention_mask",
        )
    },
    "jax.experimental.hijax": {  # flax.nnx
        **{
            name: f"arrax.interpreters.high_types:{name}"
            for name in (
                "AvalMutableQDD",
                "AvalQDD",
                "HiType",
                "MutableHiType",
                "aval_method",
                "aval_property",
                "control_flow_allowed_effects",
            )
        },
        "HiPrimitive": "arrax.interpreters.high_operations:HiPrimitive",
        "VJPHiPrimitive": "arrax.lax.high_calls:VJPHiPrimitive",
        "register_hitype": "arrax.numpy_api.high_values:register_hitype",
        "AbstractRef": "arrax.core.references:AbstractRef",
        "TransformedRef": "arrax.numpy_api.references:TransformedRef",
        "AbstractValue": "arrax.core.types:AbstractValue",
        "ShapedArray": "arrax.core.types:ShapedArray",
        "Zero": "arrax.core.types:Zero",
        "instantiate_zeros": "arrax.interpreters.ad.rules:instantiate_zeros",
        "is_undefined_primal": "arrax.interpreters.ad.transpose:is_undefined_primal",
    },  # fmt: skip
    "jax.experimental.pallas.ops.tpu.megablox": {"gmm": "arrax.as_jax.stand_ins:gmm"},  # haliax
    "jax.experimental.sparse._base": {"JAXSparse": "arrax.experimental.sparse.base:JAXSparse"},  # pymdp
    "jax.extend.ifrt_programs": {"ifrt_programs": "arrax.native.runtime:ifrt_programs"},  # orbax
    "jax.interpreters.pxla": {"thread_resources": "arrax.as_jax.stand_ins:thread_resources"},  # orbax, praxis, tunix
}
_CHANGING = frozenset({"_backends"})  # names whose value changes: it is looked up each time


class _Forwards(ModuleType):
    """A module whose names are looked up where arrax has them."""

    def __init__(self, name: str, places: dict[str, str]) -> None:
        super().__init__(name, f"Names of arrax under a private path ({name}).")
        self.__path__: list[str] = []
        self.__spec__ = ModuleSpec(name, None, is_package=True)
        self._places = places

    def __getattr__(self, name: str) -> Any:
        place = self.__dict__["_places"].get(name)
        if place is None and (module := private_module(f"{self.__name__}.{name}")) is not None:
            return module
        if place is None and not name.startswith("_"):
            place = next((f"{public}:{name}" for public in PUBLIC.get(self.__name__, ()) if _has(public, name)), None)
        if place is None:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        module, _, attribute = place.partition(":")
        value = getattr(importlib.import_module(module), attribute)
        if name not in _CHANGING:
            setattr(self, name, value)
        return value


def _has(module: str, name: str) -> bool:
    return hasattr(importlib.import_module(module), name)


@functools.cache
def private_module(name: str) -> ModuleType | None:
    """The module of forwards for a private module, or None where no library needs one."""
    places = _FORWARDS.get(name, {} if name in PUBLIC else None)
    return None if places is None else _Forwards(name, places)


def attribute_of_private_package(name: str) -> ModuleType:
    """A module as an attribute of the private package: libraries use it without importing it first."""
    try:
        return importlib.import_module(f"jax._src.{name}")
    except ModuleNotFoundError:
        raise AttributeError(f"module 'jax._src' has no attribute {name!r}: arrax has none of this name yet") from None
