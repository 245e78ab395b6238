"""Products of matrices with their transposes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from arrax.core.interpreter import Primitive
from arrax.core.types import ShapedArray
from arrax.interpreters.ad.forward import jvp
from arrax.interpreters.cost_model import work_of_rows
from arrax.interpreters.lowering.module import lower_fun
from arrax.lax.arithmetic import add, mul, scalar
from arrax.lax.linalg.kernels import (
    batch_in_front,
    check_matrices,
    weak_as,
)
from arrax.lax.linalg.matrices import lower_triangle, matmul, transposed
from arrax.lax.operand_checks import checked_operand
from arrax.xla.arrays import Array, ArrayLike

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Tangent

symmetric_product_p = Primitive("symmetric_product", cost=work_of_rows)


def _type_rule(a: ShapedArray, c: ShapedArray, *, alpha: float, beta: float) -> ShapedArray:
    check_matrices("symmetric_product", a, half=True)
    *batch, rows, _ = a.shape
    if c.shape != (*batch, rows, rows) or c.dtype != a.dtype:
        raise ValueError(
            f"symmetric_product requires matrices of shapes (..., n, k) and (..., n, n), got {a.str_short(False)} and "
            f"{c.str_short(False)}"
        )
    return weak_as(c, a)


def _product(a: Array, c: Array, *, alpha: float, beta: float) -> Array:
    product = mul(matmul(a, transposed(a)), scalar(alpha, a))
    return add(product, mul(c, scalar(beta, c))) if beta != 0 else product


def _jvp(primals: Sequence[ArrayLike], tangents: Sequence[Tangent], **params: Any) -> tuple[Any, Any]:
    outs, out_tangents = jvp(lambda a, c: [_product(a, c, **params)], primals, tangents)
    return outs[0], out_tangents[0]


symmetric_product_p.type_rule = _type_rule
symmetric_product_p.lower[None] = lower_fun(_product, multiple_results=False)
symmetric_product_p.jvp = _jvp
batch_in_front(symmetric_product_p)


def symmetric_product(
    a_matrix: ArrayLike, c_matrix: ArrayLike, *, alpha: float = 1.0, beta: float = 0.0, symmetrize_output: bool = False
) -> Array:
    """``alpha A A^T + beta C``.

    Args:
      a_matrix: array of shape ``(..., n, k)``.
      c_matrix: array of shape ``(..., n, n)``, of symmetric matrices.
      symmetrize_output: take the result's upper triangle from the lower one.
    Returns: array of shape ``(..., n, n)``.
    Raises:
      ValueError: shapes or dtypes that don't fit.
    Example: ``lax.linalg.symmetric_product(jnp.ones((2, 3)), jnp.zeros((2, 2)))`` is threes. Source: BLAS ``syrk``.
    """
    a, c = checked_operand("symmetric_product", a_matrix), checked_operand("symmetric_product", c_matrix)
    out = symmetric_product_p.bind(a, c, alpha=float(alpha), beta=float(beta))
    if not symmetrize_output:
        return out
    return add(lower_triangle(out), transposed(lower_triangle(out, -1)))
