"""Linear algebra. Public names only."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.numpy_api.determinants import SlogdetResult as SlogdetResult
from arrax.numpy_api.determinants import det as det
from arrax.numpy_api.determinants import slogdet as slogdet
from arrax.numpy_api.linear_algebra import EighResult as EighResult
from arrax.numpy_api.linear_algebra import EigResult as EigResult
from arrax.numpy_api.linear_algebra import QRResult as QRResult
from arrax.numpy_api.linear_algebra import SVDResult as SVDResult
from arrax.numpy_api.linear_algebra import cholesky as cholesky
from arrax.numpy_api.linear_algebra import eig as eig
from arrax.numpy_api.linear_algebra import eigh as eigh
from arrax.numpy_api.linear_algebra import eigvals as eigvals
from arrax.numpy_api.linear_algebra import eigvalsh as eigvalsh
from arrax.numpy_api.linear_algebra import qr as qr
from arrax.numpy_api.linear_algebra import svd as svd
from arrax.numpy_api.linear_algebra import svdvals as svdvals
from arrax.numpy_api.linear_systems import inv as inv
from arrax.numpy_api.linear_systems import lstsq as lstsq
from arrax.numpy_api.linear_systems import pinv as pinv
from arrax.numpy_api.linear_systems import solve as solve
from arrax.numpy_api.matrix_products import cross as cross
from arrax.numpy_api.matrix_products import diagonal as diagonal
from arrax.numpy_api.matrix_products import matmul as matmul
from arrax.numpy_api.matrix_products import matrix_power as matrix_power
from arrax.numpy_api.matrix_products import matrix_transpose as matrix_transpose
from arrax.numpy_api.matrix_products import multi_dot as multi_dot
from arrax.numpy_api.matrix_products import outer as outer
from arrax.numpy_api.matrix_products import tensordot as tensordot
from arrax.numpy_api.matrix_products import tensorinv as tensorinv
from arrax.numpy_api.matrix_products import tensorsolve as tensorsolve
from arrax.numpy_api.matrix_products import trace as trace
from arrax.numpy_api.matrix_products import vecdot as vecdot
from arrax.numpy_api.norms import cond as cond
from arrax.numpy_api.norms import matrix_norm as matrix_norm
from arrax.numpy_api.norms import matrix_rank as matrix_rank
from arrax.numpy_api.norms import norm as norm
from arrax.numpy_api.norms import vector_norm as vector_norm

_bound_names(__name__)
