"""Derivative rules of one's own (public names)."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.lax.custom_rules import custom_jvp_call_p as custom_jvp_call_p
from arrax.lax.custom_rules import custom_vjp_call_p as custom_vjp_call_p
from arrax.transforms.custom_jvp import SymbolicZero as SymbolicZero
from arrax.transforms.custom_jvp import custom_jvp as custom_jvp
from arrax.transforms.custom_jvp import zero_from_primal as zero_from_primal
from arrax.transforms.custom_vjp import CustomVJPPrimal as CustomVJPPrimal
from arrax.transforms.custom_vjp import closure_convert as closure_convert
from arrax.transforms.custom_vjp import custom_gradient as custom_gradient
from arrax.transforms.custom_vjp import custom_vjp as custom_vjp
from arrax.transforms.custom_vjp import custom_vjp_primal_tree_values as custom_vjp_primal_tree_values
from arrax.transforms.linear_calls import linear_call as linear_call

_bound_names(__name__)
