"""Minima of functions. Public names only."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.scipy.optimize.minimization import OptimizeResults as OptimizeResults
from arrax.scipy.optimize.minimization import minimize as minimize

_bound_names(__name__)
