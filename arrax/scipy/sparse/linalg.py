"""Solutions of linear systems by iteration. Public names only."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.scipy.sparse.iterative_solvers import bicgstab as bicgstab
from arrax.scipy.sparse.iterative_solvers import cg as cg
from arrax.scipy.sparse.iterative_solvers import gmres as gmres

_bound_names(__name__)
