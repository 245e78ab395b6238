"""Linear algebra. Public names only."""

from arrax.core.late_names import late_names

__getattr__, __dir__, __all__ = late_names(__name__, {
    "arrax.scipy.linalg.decompositions": (
        "cho_factor", "cholesky", "eigh", "hessenberg", "lu", "lu_factor", "polar", "qr", "qr_multiply", "rsf2csf", "schur",
        "svd",
    ),
    "arrax.scipy.linalg.matrix_functions": ("expm", "expm_frechet", "funm", "sqrtm"),
    "arrax.scipy.linalg.special_matrices": (
        "block_diag", "circulant", "companion", "convolution_matrix", "dft", "fiedler", "fiedler_companion", "hadamard",
        "hankel", "helmert", "hilbert", "invhilbert", "invpascal", "leslie", "pascal", "toeplitz",
    ),
    "arrax.scipy.linalg.systems": (
        "cho_solve", "det", "inv", "lu_solve", "solve", "solve_sylvester", "solve_triangular",
    ),
    "arrax.scipy.linalg.tridiagonal_eigenvalues": ("eigh_tridiagonal",),
})  # fmt: skip
