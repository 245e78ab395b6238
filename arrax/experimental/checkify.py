"""Run-time checks as values: ``checkify`` makes of a function with checks one that returns an error beside its result."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.lax.runtime_checks import ErrorCategory as ErrorCategory
from arrax.lax.runtime_checks import JaxRuntimeError as JaxRuntimeError
from arrax.transforms.checkify import Error as Error
from arrax.transforms.checkify import all_checks as all_checks
from arrax.transforms.checkify import automatic_checks as automatic_checks
from arrax.transforms.checkify import check as check
from arrax.transforms.checkify import check_error as check_error
from arrax.transforms.checkify import checkify as checkify
from arrax.transforms.checkify import debug_check as debug_check
from arrax.transforms.checkify import div_checks as div_checks
from arrax.transforms.checkify import float_checks as float_checks
from arrax.transforms.checkify import index_checks as index_checks
from arrax.transforms.checkify import init_error as init_error
from arrax.transforms.checkify import nan_checks as nan_checks
from arrax.transforms.checkify import user_checks as user_checks

_bound_names(__name__)
