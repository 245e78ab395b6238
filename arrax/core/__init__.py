"""The language: types, programs, primitives, tracers. Public names, each from its file."""

from arrax.core.late_names import late_names as _late_names

__getattr__, __dir__, __all__ = _late_names(__name__, {
    "arrax.core.types": (
        "AbstractToken", "AbstractToken as Token", "AbstractValue", "ShapedArray", "is_arraylike",
        "abstract_token", "is_arraylike as valid_jaxtype", "pytype_aval_mappings",
    ),
    "arrax.core.effects": ("Effect",),
    "arrax.core.program": (
        "Atom", "ClosedJaxpr", "DropVar", "Effects", "Jaxpr", "JaxprEqn", "Literal", "ParamDict", "SourceInfo", "Var",
        "gensym", "new_jaxpr_eqn", "no_effects", "subprograms",
    ),
    "arrax.core.interpreter": ("Interpreter", "Interpreter as Trace", "Primitive", "Tracer", "is_concrete"),
    "arrax.core.errors": ("escaped_tracer_error", "ConcretizationTypeError", "InconclusiveDimensionOperation", "JaxRuntimeError"),
    "arrax.core.flat_functions": ("DebugInfo",),
    "arrax.core.checking": ("JaxprTypeError", "check_jaxpr"),
    "arrax.core.dimensions": ("is_constant_dim", "max_dim", "min_dim"),
    "arrax.lax.calls": ("CallPrimitive", "call", "core_call_p", "core_call_p as call_p"),
    "arrax.interpreters.programs": (
        "concrete_or_error", "get_aval", "get_aval as raise_to_shaped", "get_aval as typeof", "jaxpr_as_fun",
        "jaxprs_in_params", "subjaxprs",
    ),
    "arrax.interpreters.staging": ("eval_jaxpr",),
    "arrax.interpreters.trace_state": (
        "find_top_trace", "get_opaque_trace_state", "named_axes_in_scope",
        "named_axes_in_scope as unsafe_get_axis_names_DO_NOT_USE", "trace_state_clean",
    ),
    "arrax.transforms.inspection": ("ensure_compile_time_eval", "ensure_compile_time_eval as eval_context"),
})  # fmt: skip
