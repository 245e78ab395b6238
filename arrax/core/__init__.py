"""The language: types, programs, primitives, tracers. Public names, each from its file."""

from arrax.core.late_names import late_names as _late_names

__getattr__, __dir__, __all__ = _late_names(__name__, {
    "arrax.core.types": ("AbstractValue", "ShapedArray", "AbstractToken", "is_arraylike", "pytype_aval_mappings"),
    "arrax.core.program": (
        "Atom", "ClosedJaxpr", "DropVar", "Effects", "Jaxpr", "JaxprEqn", "Literal", "SourceInfo", "Var", "gensym",
        "new_jaxpr_eqn", "no_effects", "subprograms",
    ),
    "arrax.core.interpreter": ("Interpreter", "Primitive", "Tracer", "is_concrete"),
    "arrax.core.errors": ("escaped_tracer_error", "ConcretizationTypeError", "InconclusiveDimensionOperation", "JaxRuntimeError"),
    "arrax.core.flat_functions": ("DebugInfo",),
    "arrax.core.checking": ("JaxprTypeError", "check_jaxpr"),
    "arrax.core.dimensions": ("is_constant_dim", "max_dim", "min_dim"),
    "arrax.lax.calls": ("CallPrimitive", "call", "core_call_p"),
    "arrax.interpreters.programs": ("jaxpr_as_fun", "subjaxprs", "jaxprs_in_params", "concrete_or_error", "get_aval"),
    "arrax.interpreters.staging": ("eval_jaxpr",),
    "arrax.interpreters.trace_state": (
        "find_top_trace", "get_opaque_trace_state", "named_axes_in_scope", "trace_state_clean",
    ),
    "arrax.transforms.inspection": ("ensure_compile_time_eval",),
}, aliases={
    "Trace": "Interpreter", "call_p": "core_call_p", "Token": "AbstractToken", "raise_to_shaped": "get_aval", "typeof": "get_aval",
    "valid_jaxtype": "is_arraylike", "eval_context": "ensure_compile_time_eval",
    "unsafe_get_axis_names_DO_NOT_USE": "named_axes_in_scope",
})  # fmt: skip
