"""Derivative rules of one's own (public face)."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.lax.custom_rules import custom_jvp_call_p as custom_jvp_call_p
from arrax.transforms.custom_jvp import SymbolicZero as SymbolicZero
from arrax.transforms.custom_jvp import custom_jvp as custom_jvp
from arrax.transforms.custom_vjp import CustomVJPPrimal as CustomVJPPrimal
from arrax.transforms.custom_vjp import closure_convert as closure_convert
from arrax.transforms.custom_vjp import custom_gradient as custom_gradient
from arrax.transforms.custom_vjp import custom_vjp as custom_vjp

_bound_names(__name__)
