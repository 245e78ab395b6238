"""The operations that programs record sparse functions by, under their own names."""

from __future__ import annotations

from typing import Any

from arrax.experimental.sparse.base import JAXSparse
from arrax.experimental.sparse.recorded import primitive_of, recorded
from arrax.xla.arrays import Array, ArrayLike


@recorded("todense", 1)
def _dense(arr: JAXSparse) -> Array:
    return arr.todense()


def todense(arr: Any) -> ArrayLike:
    """The dense array of a sparse one; a dense one as it is.

    Args:
      arr: array or sparse array.
    Example: ``todense(arrax.experimental.sparse.BCOO.fromdense(jnp.eye(3)))`` is ``jnp.eye(3)``.
    """
    return _dense(arr) if isinstance(arr, JAXSparse) else arr


# fmt: off
bcoo_dot_general_p         = primitive_of("bcoo_dot_general")
bcoo_dot_general_sampled_p = primitive_of("bcoo_dot_general_sampled")
bcoo_extract_p             = primitive_of("bcoo_extract")
bcoo_fromdense_p           = primitive_of("bcoo_fromdense")
bcoo_sort_indices_p        = primitive_of("bcoo_sort_indices")
bcoo_spdot_general_p       = primitive_of("bcoo_spdot_general")
bcoo_sum_duplicates_p      = primitive_of("bcoo_sum_duplicates")
bcoo_todense_p             = primitive_of("bcoo_todense")
bcoo_transpose_p           = primitive_of("bcoo_transpose")
bcsr_dot_general_p         = primitive_of("bcsr_dot_general")
bcsr_extract_p             = primitive_of("bcsr_extract")
bcsr_fromdense_p           = primitive_of("bcsr_fromdense")
bcsr_todense_p             = primitive_of("bcsr_todense")
coo_fromdense_p            = primitive_of("coo_fromdense")
coo_matmat_p               = primitive_of("coo_matmat")
coo_matvec_p               = primitive_of("coo_matvec")
coo_todense_p              = primitive_of("coo_todense")
csr_fromdense_p            = primitive_of("csr_fromdense")
csr_matmat_p               = primitive_of("csr_matmat")
csr_matvec_p               = primitive_of("csr_matvec")
csr_todense_p              = primitive_of("csr_todense")
todense_p                  = primitive_of("todense")
# fmt: on
