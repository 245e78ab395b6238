"""Forms that matrices take in another orthonormal basis: Hessenberg, Schur, and tridiagonal for Hermitian ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from arrax import dtypes
from arrax.core.interpreter import Primitive
from arrax.core.types import ShapedArray
from arrax.interpreters.cost_model import work_of_rows
from arrax.lax.linalg.kernels import (
    batch_in_front,
    check_matrices,
    factor_type,
    for_empty,
    integers,
    is_complex,
    kernel_call,
    lapack_call,
    nan_unless,
    solver_name,
    succeeded,
)
from arrax.lax.operand_checks import checked_operand
from arrax.xla.arrays import Array, Matrices

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value
    from arrax.interpreters.lowering.contexts import LoweringContext

hessenberg_p = Primitive("hessenberg", multiple_results=True, cost=work_of_rows)
schur_p = Primitive("schur", multiple_results=True, cost=work_of_rows)
tridiagonal_p = Primitive("tridiagonal", multiple_results=True, cost=work_of_rows)


def _finish(aval: ShapedArray, outs: list[Any], avals: list[ShapedArray], info: Value) -> list[Value]:
    batch = aval.shape[:-2]
    ok = succeeded(info, batch)
    return [nan_unless(ok, batch, out, t) for out, t in zip(outs, avals, strict=True)]


# ---- Hessenberg -----------------------------------------------------------------------------------------------------


def _hessenberg_type(aval: ShapedArray) -> list[ShapedArray]:
    check_matrices("hessenberg", aval, square=True)
    if aval.shape[-1] == 0:
        raise ValueError("hessenberg requires matrices of at least one row")
    return [aval, factor_type(aval, (*aval.shape[:-2], aval.shape[-1] - 1))]


@for_empty
def _hessenberg_cpu(ctx: Any, a: Value) -> list[Value]:
    (aval,) = ctx.avals_in
    outs = [*ctx.avals_out, integers(aval.shape[:-2])]
    form, taus, info = lapack_call("gehrd", [a], [aval], outs, {"low": 1, "high": aval.shape[-1]}, {0: 0})
    return _finish(aval, [form, taus], ctx.avals_out, info)


hessenberg_p.type_rule = _hessenberg_type
hessenberg_p.lower["cpu"] = _hessenberg_cpu
batch_in_front(hessenberg_p)


def hessenberg(a: Matrices) -> list[Array]:
    """The upper Hessenberg form of matrices, by reflections (CPU only).

    Args:
      a: array of shape ``(..., n, n)``.
    Returns: ``[a, taus]``: the form on and above the first subdiagonal, the reflections' vectors below it (the form of
      ``householder_product``, one row lower), and their n - 1 factors.
    Raises:
      ValueError: matrices that are not square, or empty.
    Example: ``lax.linalg.hessenberg(jnp.eye(3))[1].shape`` is ``(2,)``. Source: LAPACK ``gehrd``.
    """
    return hessenberg_p.bind(checked_operand("hessenberg", a))


# ---- Schur ----------------------------------------------------------------------------------------------------------


def _schur_type(aval: ShapedArray, *, compute_schur_vectors: bool, **params: Any) -> list[ShapedArray]:
    check_matrices("schur", aval, square=True)
    return [aval] * (2 if compute_schur_vectors else 1)


@for_empty
def _schur_cpu(ctx: LoweringContext, a: Value, *, compute_schur_vectors: bool, **params: Any) -> list[Value]:
    (aval,) = ctx.avals_in
    batch = aval.shape[:-2]
    values = [ShapedArray(aval.shape[:-1], aval.dtype)] * (1 if is_complex(aval) else 2)
    outs = [aval, aval, *values, integers(batch), integers(batch)]
    attributes = {"mode": "V" if compute_schur_vectors else "N", "sort": "N"}
    form, vectors, *_, info = lapack_call("gees", [a], [aval], outs, attributes, {0: 0})
    return _finish(aval, [form, vectors][: len(ctx.avals_out)], list(ctx.avals_out), info)


schur_p.type_rule = _schur_type
schur_p.lower["cpu"] = _schur_cpu
batch_in_front(schur_p)


def schur(
    x: Matrices, *, compute_schur_vectors: bool = True, sort_eig_vals: bool = False,
    select_callable: Callable[..., Any] | None = None,
) -> list[Array]:  # fmt: skip
    """The Schur form ``x = Z T Z^H`` of matrices (CPU only).

    Args:
      x: array of shape ``(..., n, n)``.
      compute_schur_vectors: whether Z is wanted.
      sort_eig_vals, select_callable: not supported.
    Returns: ``[T, Z]``, or a list of T alone. T is upper triangular; for real ``x``, pairs of complex eigenvalues are
      blocks of two rows.
    Raises:
      ValueError: matrices that are not square.
      NotImplementedError: a wish to sort.
    Example: ``lax.linalg.schur(jnp.eye(2))[0]`` is ``jnp.eye(2)``. Source: LAPACK ``gees``.
    """
    if sort_eig_vals or select_callable is not None:
        raise NotImplementedError("schur cannot sort eigenvalues: leave out sort_eig_vals and select_callable")
    return schur_p.bind(
        checked_operand("schur", x), compute_schur_vectors=bool(compute_schur_vectors), sort_eig_vals=False,
        select_callable=None,
    )  # fmt: skip


# ---- tridiagonal ----------------------------------------------------------------------------------------------------


def _tridiagonal_type(aval: ShapedArray, *, lower: bool) -> list[ShapedArray]:
    check_matrices("tridiagonal", aval, square=True)
    if aval.shape[-1] == 0:
        raise ValueError("tridiagonal requires matrices of at least one row")
    *batch, size = aval.shape[:-1]
    real = dtypes.real_dtype(aval.dtype)
    diagonals = [factor_type(aval, (*batch, size), real), factor_type(aval, (*batch, size - 1), real)]
    return [aval, *diagonals, factor_type(aval, (*batch, size - 1))]


@for_empty
def _tridiagonal_cpu(ctx: LoweringContext, a: Value, *, lower: bool) -> list[Any]:
    (aval,) = ctx.avals_in
    routine = "hetrd" if is_complex(aval) else "sytrd"
    outs = [*ctx.avals_out, integers(aval.shape[:-2])]
    *results, info = lapack_call(routine, [a], [aval], outs, {"uplo": "L" if lower else "U"}, {0: 0})
    return _finish(aval, results, list(ctx.avals_out), info)


@for_empty
def _tridiagonal_gpu(ctx: LoweringContext, a: Any, *, lower: bool) -> list[Any]:
    (aval,) = ctx.avals_in
    outs = [*ctx.avals_out, integers(aval.shape[:-2])]
    *results, info = kernel_call(solver_name(ctx, "sytrd"), [a], [aval], outs, {"lower": bool(lower)}, {0: 0})
    return _finish(aval, results, list(ctx.avals_out), info)


tridiagonal_p.type_rule = _tridiagonal_type
tridiagonal_p.lower["cpu"] = _tridiagonal_cpu
tridiagonal_p.lower["gpu"] = _tridiagonal_gpu
batch_in_front(tridiagonal_p)


def tridiagonal(a: Matrices, *, lower: bool = True) -> list[Array]:
    """The tridiagonal form of Hermitian matrices, by reflections (CPU and GPU).

    Args:
      a: array of shape ``(..., n, n)``.
      lower: which triangle counts.
    Returns: ``[a, d, e, taus]``: the reflections' vectors beside the form; the form's diagonal, of length n; the one
      beside it, of length n - 1; and the factors of the reflections.
    Raises:
      ValueError: matrices that are not square, or empty.
    Example: ``lax.linalg.tridiagonal(jnp.eye(3))[1]`` is ones. Source: LAPACK ``sytrd``.
    """
    return tridiagonal_p.bind(checked_operand("tridiagonal", a), lower=bool(lower))
