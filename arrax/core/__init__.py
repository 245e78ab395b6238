"""The language: types, programs, primitives, tracers. The face: public names, each from its file."""

from importlib import import_module
from typing import Any

_HOMES = {
    "arrax.core.types": ("AbstractValue", "ShapedArray", "AbstractToken"),
    "arrax.core.program": (
        "Atom", "ClosedJaxpr", "DropVar", "Jaxpr", "JaxprEqn", "Literal", "SourceInfo", "Var", "no_effects",
        "subprograms",
    ),
    "arrax.core.interpreter": ("Interpreter", "Primitive", "Tracer"),
    "arrax.core.errors": ("ConcretizationTypeError", "InconclusiveDimensionOperation", "JaxRuntimeError"),
    "arrax.core.checking": ("JaxprTypeError", "check_jaxpr"),
    "arrax.interpreters.programs": ("jaxpr_as_fun", "subjaxprs", "jaxprs_in_params", "concrete_or_error", "get_aval"),
    "arrax.interpreters.staging": ("eval_jaxpr",),
}  # fmt: skip
_ALIASES = {"Trace": "Interpreter", "Token": "AbstractToken", "raise_to_shaped": "get_aval", "typeof": "get_aval"}
_PLACES = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    target = _ALIASES.get(name, name)
    home = _PLACES.get(target)
    if home is None:
        raise AttributeError(f"module 'arrax.core' has no attribute {name!r}")
    return getattr(import_module(home), target)
