"""Checks of derivatives for tests (public names)."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.transforms.derivative_checks import check_grads as check_grads
from arrax.transforms.derivative_checks import check_jvp as check_jvp
from arrax.transforms.derivative_checks import check_vjp as check_vjp

_bound_names(__name__)
