"""Eigenvalues and eigenvectors of Hermitian matrices."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from arrax import dtypes
from arrax.core.explicit_axes import leading_axes
from arrax.core.interpreter import Primitive
from arrax.core.program import DropVar, JaxprEqn
from arrax.core.types import ShapedArray, typeof
from arrax.interpreters.cost_model import work_of_rows
from arrax.lax.arithmetic import mul, real_part, reciprocal, sub
from arrax.lax.conversion import convert_element_type
from arrax.lax.linalg.kernels import (
    batch_in_front,
    check_choice,
    check_matrices,
    check_square,
    factor_type,
    for_empty,
    integers,
    is_complex,
    kernel_call,
    lapack_call,
    nan_unless,
    plain_call,
    solver_name,
    succeeded,
)
from arrax.lax.linalg.matrices import adjoint, as_columns, as_rows, diagonal, matmul, part, symmetrized, with_diagonal
from arrax.lax.operand_checks import checked_operand
from arrax.lax.static_slicing import slice_in_dim
from arrax.xla.arrays import Array, ArrayLike, Matrices

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Tangent, Value
    from arrax.interpreters.lowering.contexts import LoweringContext

eigh_p = Primitive("eigh", multiple_results=True, cost=work_of_rows)


class EighImplementation(enum.Enum):
    """Which algorithm finds the eigenvectors; platforms without it use their own.

    Example: ``lax.linalg.eigh(jnp.eye(2), implementation=lax.linalg.EighImplementation.QR)[1]`` is ``[1, 1]``.
    """

    QR = "qr"
    JACOBI = "jacobi"
    QDWH = "qdwh"


def _type_rule(aval: ShapedArray, *, subset_by_index: Any, **params: Any) -> list[ShapedArray]:
    check_matrices("eigh", aval, square=True)
    *batch, size = aval.shape[:-1]
    count = size if subset_by_index is None else subset_by_index[1] - subset_by_index[0]
    return [factor_type(aval, (*batch, size, count)), factor_type(aval, (*batch, count), dtypes.real_dtype(aval.dtype))]


def _finish(ctx: LoweringContext, aval: ShapedArray, vectors: Value, values: Value, info: Value) -> list[Value]:
    batch = aval.shape[:-2]
    ok = succeeded(info, batch)
    return [nan_unless(ok, batch, out, t) for out, t in zip((vectors, values), ctx.avals_out, strict=True)]


@for_empty
def _lower_cpu(ctx: LoweringContext, a: Value, *, lower: bool, vectors: bool = True, **params: Any) -> list[Value]:
    (aval,) = ctx.avals_in
    routine = "heevd" if is_complex(aval) else "syevd"
    outs = [*ctx.avals_out, integers(aval.shape[:-2])]
    attributes = {"mode": "V" if vectors else "N", "uplo": "L" if lower else "U"}
    return _finish(ctx, aval, *lapack_call(routine, [a], [aval], outs, attributes, {0: 0}))


@for_empty
def _lower_gpu(ctx: LoweringContext, a: Any, *, lower: bool, **params: Any) -> list[Any]:
    (aval,) = ctx.avals_in
    outs = [*ctx.avals_out, integers(aval.shape[:-2])]
    texts = {"algorithm": "0 : ui8"}
    return _finish(
        ctx, aval, *kernel_call(solver_name(ctx, "syevd"), [a], [aval], outs, {"lower": bool(lower)}, {0: 0}, texts)
    )


@for_empty
def _lower(ctx: LoweringContext, a: Any, *, lower: bool, sort_eigenvalues: bool, **params: Any) -> list[Any]:
    return plain_call("Eigh", [a], ctx.avals_out, f"{int(lower)},{int(sort_eigenvalues)},100,1e-6")


def _jvp(
    primals: Sequence[ArrayLike], tangents: Sequence[Tangent], *, subset_by_index: Any, **params: Any
) -> tuple[list[Any], list[Any]]:
    """With C = V^H A' V: the values' tangents are its diagonal; V' = V times C over the differences of values."""
    (a,), (t,) = primals, tangents
    if subset_by_index is not None:
        raise NotImplementedError("the derivative of eigh with subset_by_index is not defined")
    vectors, values = eigh_p.bind(a, subset_by_index=None, **{**params, "vectors": True})
    inner = matmul(adjoint(vectors), matmul(t, vectors))
    inner_aval = typeof(inner)
    magnitudes = ShapedArray(inner_aval.shape, typeof(values).dtype)
    gaps = sub(as_rows(values, magnitudes), as_columns(values, magnitudes))
    weights = with_diagonal(reciprocal(with_diagonal(gaps, 1)), 0)
    change = matmul(vectors, mul(inner, convert_element_type(weights, inner_aval.dtype)))
    shifts = diagonal(inner)
    return [vectors, values], [change, real_part(shifts) if is_complex(inner_aval) else shifts]


def _without_vectors(used: Sequence[bool], eqn: JaxprEqn) -> JaxprEqn:
    """Values alone take half the time; what then stands in the vectors' place means nothing."""
    outs = [var if use else DropVar(var.aval) for var, use in zip(eqn.outvars, used, strict=True)]
    return eqn.replace(outvars=outs, params={**eqn.params, "vectors": used[0]})


eigh_p.type_rule, eigh_p.divides = _type_rule, leading_axes(2)
eigh_p.hidden_params = frozenset({"vectors"})
eigh_p.dce = _without_vectors
eigh_p.lower["cpu"] = _lower_cpu
eigh_p.lower["gpu"] = _lower_gpu
eigh_p.lower[None] = _lower
eigh_p.jvp = _jvp
batch_in_front(eigh_p)


Switch = bool
IndexRange = tuple[int, int] | None  # first, and one past the last


def eigh(
    x: Matrices, *, lower: Switch = True, symmetrize_input: Switch = True, sort_eigenvalues: Switch = True,
    subset_by_index: IndexRange = None, implementation: EighImplementation | None = None,
) -> tuple[Array, Array]:  # fmt: skip
    """Eigenvectors and eigenvalues of Hermitian matrices.

    Args:
      x: array of shape ``(..., n, n)``.
      lower: which triangle counts, where the input is not symmetrized.
      symmetrize_input: take the Hermitian part.
      sort_eigenvalues: in ascending order (always so on CPU and GPU).
      subset_by_index: ``(start, stop)``: only these of the ascending eigenvalues.
      implementation: which algorithm; platforms without it use their own.
    Returns: ``(v, w)``: the vectors as columns, and the values; NaN where the algorithm failed.
    Raises:
      ValueError: matrices that are not square, a subset out of bounds.
      TypeError: a dtype without decomposition, as that of integers that are not symmetrized; another implementation.
    Example: ``lax.linalg.eigh(jnp.diag(jnp.array([2., 1.])))[1]`` is ``[1, 2]``. Source: LAPACK ``syevd``.
    """
    x = checked_operand("eigh", x)
    check_square("eigh", typeof(x))
    check_choice("eigh", "implementation", implementation, EighImplementation)
    size = typeof(x).shape[-1]
    x = symmetrized(x) if symmetrize_input else x
    vectors, values = eigh_p.bind(
        x, lower=bool(lower), sort_eigenvalues=bool(sort_eigenvalues), subset_by_index=None, algorithm=implementation
    )
    if subset_by_index is None:
        return vectors, values
    start, stop = subset_by_index
    if not 0 <= start < stop <= size:
        raise ValueError(f"eigh: subset_by_index {subset_by_index} is out of bounds for {size} eigenvalues")
    return part(vectors, columns=(start, stop)), slice_in_dim(values, start, stop, axis=-1)
