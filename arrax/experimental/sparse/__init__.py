"""Sparse arrays (public names)."""

from arrax.core.late_names import late_names as _late_names
from arrax.experimental.sparse import operators as _operators  # noqa: F401  (gives the classes their operators)
from arrax.experimental.sparse.base import CuSparseEfficiencyWarning as CuSparseEfficiencyWarning
from arrax.experimental.sparse.base import JAXSparse as JAXSparse
from arrax.experimental.sparse.base import SparseEfficiencyError as SparseEfficiencyError
from arrax.experimental.sparse.base import SparseEfficiencyWarning as SparseEfficiencyWarning
from arrax.experimental.sparse.compressed import BCSR as BCSR
from arrax.experimental.sparse.compressed import bcsr_broadcast_in_dim as bcsr_broadcast_in_dim
from arrax.experimental.sparse.compressed import bcsr_concatenate as bcsr_concatenate
from arrax.experimental.sparse.compressed import bcsr_dot_general as bcsr_dot_general
from arrax.experimental.sparse.compressed import bcsr_extract as bcsr_extract
from arrax.experimental.sparse.compressed import bcsr_fromdense as bcsr_fromdense
from arrax.experimental.sparse.compressed import bcsr_sum_duplicates as bcsr_sum_duplicates
from arrax.experimental.sparse.compressed import bcsr_todense as bcsr_todense
from arrax.experimental.sparse.convolutions import bcoo_conv_general_dilated as bcoo_conv_general_dilated
from arrax.experimental.sparse.coordinates import BCOO as BCOO
from arrax.experimental.sparse.coordinates import bcoo_extract as bcoo_extract
from arrax.experimental.sparse.coordinates import bcoo_fromdense as bcoo_fromdense
from arrax.experimental.sparse.coordinates import bcoo_sort_indices as bcoo_sort_indices
from arrax.experimental.sparse.coordinates import bcoo_sum_duplicates as bcoo_sum_duplicates
from arrax.experimental.sparse.coordinates import bcoo_todense as bcoo_todense
from arrax.experimental.sparse.creation import empty as empty
from arrax.experimental.sparse.creation import eye as eye
from arrax.experimental.sparse.creation import random_bcoo as random_bcoo
from arrax.experimental.sparse.gathers import bcoo_gather as bcoo_gather
from arrax.experimental.sparse.gradients import grad as grad
from arrax.experimental.sparse.gradients import jacfwd as jacfwd
from arrax.experimental.sparse.gradients import jacobian as jacobian
from arrax.experimental.sparse.gradients import jacrev as jacrev
from arrax.experimental.sparse.gradients import value_and_grad as value_and_grad
from arrax.experimental.sparse.layouts import bcoo_update_layout as bcoo_update_layout
from arrax.experimental.sparse.matrices import COO as COO
from arrax.experimental.sparse.matrices import CSC as CSC
from arrax.experimental.sparse.matrices import CSR as CSR
from arrax.experimental.sparse.matrices import coo_fromdense as coo_fromdense
from arrax.experimental.sparse.matrices import coo_matmat as coo_matmat
from arrax.experimental.sparse.matrices import coo_matvec as coo_matvec
from arrax.experimental.sparse.matrices import coo_todense as coo_todense
from arrax.experimental.sparse.matrices import csr_fromdense as csr_fromdense
from arrax.experimental.sparse.matrices import csr_matmat as csr_matmat
from arrax.experimental.sparse.matrices import csr_matvec as csr_matvec
from arrax.experimental.sparse.matrices import csr_todense as csr_todense
from arrax.experimental.sparse.parts import bcoo_dynamic_slice as bcoo_dynamic_slice
from arrax.experimental.sparse.parts import bcoo_reduce_sum as bcoo_reduce_sum
from arrax.experimental.sparse.parts import bcoo_slice as bcoo_slice
from arrax.experimental.sparse.products import bcoo_dot_general as bcoo_dot_general
from arrax.experimental.sparse.products import bcoo_dot_general_sampled as bcoo_dot_general_sampled
from arrax.experimental.sparse.products import bcoo_multiply_dense as bcoo_multiply_dense
from arrax.experimental.sparse.products import bcoo_multiply_sparse as bcoo_multiply_sparse
from arrax.experimental.sparse.shapes import bcoo_broadcast_in_dim as bcoo_broadcast_in_dim
from arrax.experimental.sparse.shapes import bcoo_concatenate as bcoo_concatenate
from arrax.experimental.sparse.shapes import bcoo_reshape as bcoo_reshape
from arrax.experimental.sparse.shapes import bcoo_rev as bcoo_rev
from arrax.experimental.sparse.shapes import bcoo_squeeze as bcoo_squeeze
from arrax.experimental.sparse.shapes import bcoo_transpose as bcoo_transpose
from arrax.experimental.sparse.sparsification import sparsify as sparsify

__getattr__, __dir__, __all__ = _late_names(
    __name__,
    {
        "arrax.experimental.sparse.primitives": (
            "bcoo_dot_general_p", "bcoo_dot_general_sampled_p", "bcoo_extract_p", "bcoo_fromdense_p", "bcoo_sort_indices_p",
            "bcoo_spdot_general_p", "bcoo_sum_duplicates_p", "bcoo_todense_p", "bcoo_transpose_p", "bcsr_dot_general_p",
            "bcsr_extract_p", "bcsr_fromdense_p", "bcsr_todense_p", "coo_fromdense_p", "coo_matmat_p", "coo_matvec_p",
            "coo_todense_p", "csr_fromdense_p", "csr_matmat_p", "csr_matvec_p", "csr_todense_p", "todense", "todense_p",
        ),
    },
    submodules=("linalg",),
)  # fmt: skip
