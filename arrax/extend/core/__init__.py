"""The language, for libraries that extend arrax: programs, primitives, types (public names of ``arrax.core``)."""

from typing import Any

from arrax.core.checking import JaxprTypeError as JaxprTypeError
from arrax.core.checking import check_jaxpr as check_jaxpr
from arrax.core.effects import Effect as Effect
from arrax.core.errors import InconclusiveDimensionOperation as InconclusiveDimensionOperation
from arrax.core.flat_functions import DebugInfo as DebugInfo
from arrax.core.interpreter import Primitive as Primitive
from arrax.core.interpreter import TraceTag as TraceTag
from arrax.core.interpreter import set_current_trace as set_current_trace
from arrax.core.interpreter import take_current_trace as take_current_trace
from arrax.core.program import ClosedJaxpr as ClosedJaxpr
from arrax.core.program import DropVar as DropVar
from arrax.core.program import Effects as Effects
from arrax.core.program import Jaxpr as Jaxpr
from arrax.core.program import JaxprEqn as JaxprEqn
from arrax.core.program import Literal as Literal
from arrax.core.program import Var as Var
from arrax.core.program import gensym as gensym
from arrax.core.program import new_jaxpr_eqn as new_jaxpr_eqn
from arrax.core.program import no_effects as no_effects
from arrax.core.tracebacks import bound_names as _bound_names
from arrax.core.types import AbstractToken as AbstractToken
from arrax.core.types import AbstractToken as Token  # noqa: F401
from arrax.core.types import ShapedArray as ShapedArray
from arrax.core.types import is_arraylike as valid_jaxtype
from arrax.dtypes.kinds import tangent_dtype as primal_dtype_to_tangent_dtype  # noqa: F401
from arrax.extend.core import primitives as primitives
from arrax.interpreters.mapped_types import mapped_aval as mapped_aval
from arrax.interpreters.mapped_types import unmapped_aval as unmapped_aval
from arrax.interpreters.programs import concrete_or_error as concrete_or_error
from arrax.interpreters.programs import jaxpr_as_fun as jaxpr_as_fun
from arrax.interpreters.programs import jaxprs_in_params as jaxprs_in_params
from arrax.interpreters.programs import subjaxprs as subjaxprs
from arrax.interpreters.trace_state import find_top_trace as find_top_trace
from arrax.interpreters.trace_state import get_opaque_trace_state as get_opaque_trace_state
from arrax.interpreters.trace_state import has_named_axes as nonempty_axis_env_DO_NOT_USE  # noqa: F401
from arrax.interpreters.trace_state import named_axes_in_scope as unsafe_get_axis_names_DO_NOT_USE  # noqa: F401
from arrax.interpreters.trace_state import under_jit as unsafe_am_i_under_a_jit_DO_NOT_USE  # noqa: F401
from arrax.interpreters.trace_state import under_vmap as unsafe_am_i_under_a_vmap_DO_NOT_USE  # noqa: F401
from arrax.lax.calls import CallPrimitive as CallPrimitive
from arrax.lax.calls import call_impl as call_impl
from arrax.xla.arrays import Array as _Array

array_types: set[Any] = {_Array}
"""Classes whose instances are arrays."""

_bound_names(__name__)
