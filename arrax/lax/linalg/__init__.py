"""Decompositions of matrices and what is made of them. Public names only."""

from arrax.core.tracebacks import bound_names as _bound_names
from arrax.lax.linalg.cholesky_factors import cholesky as cholesky
from arrax.lax.linalg.cholesky_factors import cholesky_p as cholesky_p
from arrax.lax.linalg.cholesky_factors import cholesky_update as cholesky_update
from arrax.lax.linalg.cholesky_factors import cholesky_update_p as cholesky_update_p
from arrax.lax.linalg.eigenvalues import EigImplementation as EigImplementation
from arrax.lax.linalg.eigenvalues import eig as eig
from arrax.lax.linalg.eigenvalues import eig_p as eig_p
from arrax.lax.linalg.lu_factors import lu as lu
from arrax.lax.linalg.lu_factors import lu_p as lu_p
from arrax.lax.linalg.lu_factors import lu_pivots_to_permutation as lu_pivots_to_permutation
from arrax.lax.linalg.lu_factors import lu_pivots_to_permutation_p as lu_pivots_to_permutation_p
from arrax.lax.linalg.polar_factors import qdwh as qdwh
from arrax.lax.linalg.qr_factors import geqrf as geqrf
from arrax.lax.linalg.qr_factors import householder_product as householder_product
from arrax.lax.linalg.qr_factors import householder_product_p as householder_product_p
from arrax.lax.linalg.qr_factors import ormqr as ormqr
from arrax.lax.linalg.qr_factors import ormqr_p as ormqr_p
from arrax.lax.linalg.qr_factors import qr as qr
from arrax.lax.linalg.qr_factors import qr_p as qr_p
from arrax.lax.linalg.similar_forms import hessenberg as hessenberg
from arrax.lax.linalg.similar_forms import hessenberg_p as hessenberg_p
from arrax.lax.linalg.similar_forms import schur as schur
from arrax.lax.linalg.similar_forms import schur_p as schur_p
from arrax.lax.linalg.similar_forms import tridiagonal as tridiagonal
from arrax.lax.linalg.similar_forms import tridiagonal_p as tridiagonal_p
from arrax.lax.linalg.singular_values import SvdAlgorithm as SvdAlgorithm
from arrax.lax.linalg.singular_values import svd as svd
from arrax.lax.linalg.singular_values import svd_p as svd_p
from arrax.lax.linalg.symmetric_eigenvalues import EighImplementation as EighImplementation
from arrax.lax.linalg.symmetric_eigenvalues import eigh as eigh
from arrax.lax.linalg.symmetric_eigenvalues import eigh_p as eigh_p
from arrax.lax.linalg.symmetric_products import symmetric_product as symmetric_product
from arrax.lax.linalg.symmetric_products import symmetric_product_p as symmetric_product_p
from arrax.lax.linalg.triangular_systems import triangular_solve as triangular_solve
from arrax.lax.linalg.triangular_systems import triangular_solve_p as triangular_solve_p
from arrax.lax.linalg.tridiagonal_systems import tridiagonal_solve as tridiagonal_solve
from arrax.lax.linalg.tridiagonal_systems import tridiagonal_solve_p as tridiagonal_solve_p

_bound_names(__name__)
