"""Minima of functions. Public names only."""

from arrax.scipy.optimize.minimization import OptimizeResults as OptimizeResults
from arrax.scipy.optimize.minimization import minimize as minimize
