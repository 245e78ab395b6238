"""Eigenvalues and eigenvectors of matrices without symmetry."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax.core.explicit_axes import leading_axes
from arrax.core.interpreter import Primitive
from arrax.core.types import ShapedArray, typeof
from arrax.interpreters.cost_model import work_of_rows
from arrax.interpreters.lowering import builder
from arrax.lax.argminmax import argmax
from arrax.lax.arithmetic import abs_, complex_, conj, div, eq, imag, mul, real_part, reciprocal, sub
from arrax.lax.conversion import convert_element_type
from arrax.lax.filled_arrays import broadcasted_iota
from arrax.lax.linalg.kernels import (
    batch_in_front,
    check_choice,
    check_matrices,
    complex_dtype,
    factor_type,
    for_empty,
    integers,
    is_complex,
    kernel_call,
    lapack_call,
    nan_unless,
    succeeded,
)
from arrax.lax.linalg.lu_factors import lu, lu_solve
from arrax.lax.linalg.matrices import adjoint, as_columns, as_rows, diagonal, matmul, with_diagonal
from arrax.lax.operand_checks import checked_operand
from arrax.lax.reductions import reduce_sum
from arrax.xla.arrays import Array, Matrices

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value
    from arrax.interpreters.lowering.contexts import LoweringContext

eig_p = Primitive("eig", multiple_results=True, cost=work_of_rows)


class EigImplementation(enum.Enum):
    """Which library finds eigenvalues on GPUs; platforms without it use their own.

    Example: ``lax.linalg.eig(jnp.eye(2), implementation=lax.linalg.EigImplementation.LAPACK)[0]`` is ``[1, 1]``.
    """

    CUSOLVER = "cusolver"
    MAGMA = "magma"
    LAPACK = "lapack"


def _type_rule(
    aval: ShapedArray, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool, **params: Any
) -> list[ShapedArray]:
    check_matrices("eig", aval, square=True)
    dtype = complex_dtype(aval.dtype)
    vectors = [factor_type(aval, aval.shape, dtype)] * (
        bool(compute_left_eigenvectors) + bool(compute_right_eigenvectors)
    )
    return [factor_type(aval, aval.shape[:-1], dtype), *vectors]


def _results(aval: ShapedArray, outs: list[Any], left: bool, right: bool) -> list[Value]:
    """The wanted results of a kernel; of a real matrix it gives real and imaginary parts of the values apart."""
    batch, dtype = aval.shape[:-2], complex_dtype(aval.dtype)
    values_aval, vectors_aval = ShapedArray(aval.shape[:-1], dtype), ShapedArray(aval.shape, dtype)
    *values, vl, vr, info = outs
    joined = values[0] if is_complex(aval) else builder.op("complex", values_aval, *values)
    ok = succeeded(info, batch)
    wanted = [(joined, values_aval)] + [(v, vectors_aval) for v, flag in ((vl, left), (vr, right)) if flag]
    return [nan_unless(ok, batch, value, t) for value, t in wanted]


def _kernel_types(aval: ShapedArray) -> list[ShapedArray]:
    values = [ShapedArray(aval.shape[:-1], aval.dtype)] * (1 if is_complex(aval) else 2)
    return [*values, *[ShapedArray(aval.shape, complex_dtype(aval.dtype))] * 2, integers(aval.shape[:-2])]


@for_empty
def _lower_cpu(
    ctx: LoweringContext, a: Value, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool, **params: Any
) -> list[Value]:
    (aval,) = ctx.avals_in
    left, right = compute_left_eigenvectors, compute_right_eigenvectors
    attributes = {"compute_left": "V" if left else "N", "compute_right": "V" if right else "N"}
    return _results(aval, lapack_call("geev", [a], [aval], _kernel_types(aval), attributes), left, right)


@for_empty
def _lower_cuda(
    ctx: LoweringContext, a: Any, *, compute_left_eigenvectors: bool, compute_right_eigenvectors: bool, **params: Any
) -> list[Any]:
    (aval,) = ctx.avals_in
    left, right = compute_left_eigenvectors, compute_right_eigenvectors
    target = "cuhybrid_eig_comp" if is_complex(aval) else "cuhybrid_eig_real"
    attributes = {"left": bool(left), "right": bool(right)}
    outs = kernel_call(target, [a], [aval], _kernel_types(aval), attributes, texts={"magma": '"auto"'})
    return _results(aval, outs, left, right)


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, compute_left_eigenvectors: bool,
    compute_right_eigenvectors: bool, enable_eigvec_derivs: bool = False, implementation: Any = None,
) -> tuple[list[Any], list[Any]]:  # fmt: skip
    """The values' tangents, and those of the vectors: left ones are right ones of the adjoint matrix."""
    (a,), (t,) = primals, tangents
    if (compute_left_eigenvectors or compute_right_eigenvectors) and not enable_eigvec_derivs:
        raise NotImplementedError(
            "The derivatives of non-symmetric eigenvectors are not implemented: only those of eigenvalues are. Vectors "
            "have one up to their phase, see the argument enable_eigvec_derivs."
        )
    values, *vectors = eig_p.bind(
        a, compute_left_eigenvectors=compute_left_eigenvectors, compute_right_eigenvectors=True,
        enable_eigvec_derivs=True, implementation=implementation,
    )  # fmt: skip
    t = convert_element_type(t, typeof(values).dtype)
    shifts, change = _tangents(values, vectors[-1], t, compute_right_eigenvectors)
    outs, out_tangents = [values], [shifts]
    if compute_left_eigenvectors:
        outs.append(vectors[0])
        out_tangents.append(_tangents(conj(values), vectors[0], adjoint(t), True)[1])
    if compute_right_eigenvectors:
        outs.append(vectors[-1])
        out_tangents.append(change)
    return outs, out_tangents


def _tangents(values: Array, vectors: Array, t: Array, of_vectors: bool) -> tuple[Any, Any]:
    """With C = V^-1 A' V: the values' tangents are its diagonal; V' = V times C over the differences of values.

    That is V' up to a multiple of each vector, which the library's choice of vectors settles: they keep length 1, and the
    component of the largest size stays real.
    """
    factors, _, order = lu(vectors)
    inner = lu_solve(factors, order, matmul(t, vectors))
    shifts = diagonal(inner)
    if not of_vectors:
        return shifts, None
    gaps = with_diagonal(sub(as_rows(values, inner), as_columns(values, inner)), 1)
    change = matmul(vectors, mul(inner, with_diagonal(reciprocal(gaps), 0)))
    rows = typeof(vectors).ndim - 2
    largest = argmax(abs_(vectors), rows, np.int32)
    number = broadcasted_iota(np.int32, typeof(vectors).shape, rows)
    mask = convert_element_type(eq(number, as_rows(largest, number)), typeof(real_part(vectors)).dtype)

    def component(x: Array) -> Array:
        return reduce_sum(mul(mask, x), (rows,))

    along = real_part(reduce_sum(mul(conj(vectors), change), (rows,)))
    turn = div(component(imag(change)), component(real_part(vectors)))
    return shifts, sub(change, mul(vectors, as_rows(complex_(along, turn), vectors)))


eig_p.type_rule, eig_p.divides = _type_rule, leading_axes(2)
eig_p.lower["cpu"] = _lower_cpu
eig_p.lower["cuda"] = _lower_cuda
eig_p.jvp = _jvp
batch_in_front(eig_p)


Switch = bool


def eig(
    x: Matrices, *, compute_left_eigenvectors: Switch = True, compute_right_eigenvectors: Switch = True,
    enable_eigvec_derivs: Switch = False, implementation: EigImplementation | None = None,
    use_magma: bool | None = None,
) -> list[Array]:  # fmt: skip
    """Eigenvalues and eigenvectors of any square matrices (not on TPU).

    Args:
      x: array of shape ``(..., n, n)``.
      compute_left_eigenvectors: whether the vectors u of ``u^H A = w u^H`` are wanted.
      compute_right_eigenvectors: whether the vectors v of ``A v = w v`` are wanted.
      enable_eigvec_derivs: allow derivatives of vectors: those of the vectors as they are given here, of length 1 and with a
        real component of the largest size. Where values are equal there are none.
      implementation, use_magma: accepted; say which library is used on GPUs.
    Returns: list of the complex values, and the wanted vectors as columns (left ones first); NaN where the algorithm failed.
    Raises:
      ValueError: matrices that are not square.
      TypeError: a dtype without decomposition, another implementation.
      NotImplementedError: derivatives of vectors.
    Example: ``lax.linalg.eig(x, compute_left_eigenvectors=False)``. Source: LAPACK ``geev``.
    """
    check_choice("eig", "implementation", implementation, EigImplementation)
    return eig_p.bind(
        checked_operand("eig", x), compute_left_eigenvectors=bool(compute_left_eigenvectors),
        compute_right_eigenvectors=bool(compute_right_eigenvectors), enable_eigvec_derivs=bool(enable_eigvec_derivs),
        implementation=implementation,
    )  # fmt: skip
