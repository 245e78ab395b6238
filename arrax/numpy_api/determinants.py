"""Determinants, and the signs and logarithms of large ones (NumPy reference, routines.linalg)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from arrax import dtypes
from arrax.core.lengths import is_symbolic
from arrax.core.types import typeof
from arrax.lax import arithmetic, filled_arrays, linalg, selection, shapes, static_slicing
from arrax.lax.control_flow.conditionals import cond
from arrax.lax.conversion import convert
from arrax.lax.cumulative import cumprod
from arrax.lax.exponential import log
from arrax.lax.linalg import matrices as parts
from arrax.lax.linalg.lu_factors import lu_solve
from arrax.lax.operand_checks import kind_of
from arrax.lax.reductions import reduce_max, reduce_min, reduce_prod, reduce_sum
from arrax.numpy_api.api import api
from arrax.numpy_api.linear_algebra import as_matrices
from arrax.transforms.custom_jvp import custom_jvp
from arrax.xla.arrays import Array, ArrayLike


class SlogdetResult(NamedTuple):
    """Sign (or phase) and logarithm of the magnitude of determinants.

    Example: ``jnp.linalg.slogdet(jnp.eye(2)).sign`` is 1.0.
    """

    sign: Array
    logabsdet: Array


def _parity(pivots: Array) -> Array:
    """1 where a permutation is odd, else 0."""
    axis = typeof(pivots).ndim - 1
    indices = filled_arrays.broadcasted_iota(np.int32, typeof(pivots).shape, axis)
    moved = convert(arithmetic.ne(pivots, indices), np.int32)
    count = reduce_sum(moved, (axis,))
    return arithmetic.rem(count, filled_arrays.full_like(count, 2))


@api()
def det(a: ArrayLike) -> Array:
    """Determinants.

    Args:
      a: array of shape ``(..., n, n)``.
    Returns: array of shape ``(...)``.
    Raises:
      ValueError: matrices that are not square.
    Example: ``jnp.linalg.det(2 * jnp.eye(2))`` is 4. Source: ``numpy.linalg.det``.
    """
    a = as_matrices("det", a, square=True)
    size = typeof(a).shape[-1]
    if not is_symbolic(size) and size <= 3:  # polynomials, with derivatives for singular matrices too
        return _small_determinant(a, size)
    return _det_by_lu(a)


def _product_of_pivots(factors: Array, pivots: Array) -> Array:
    product = reduce_prod(parts.diagonal(factors), (typeof(factors).ndim - 2,))
    odd = arithmetic.eq(_parity(pivots), np.int32(1))
    return selection.select(odd, arithmetic.neg(product), product)


@custom_jvp
def _det_by_lu(a: Array) -> Array:
    factors, pivots, _ = linalg.lu(a)
    return _product_of_pivots(factors, pivots)


@_det_by_lu.defjvp
def _det_jvp(primals: tuple[ArrayLike, ...], tangents: tuple[ArrayLike, ...]) -> tuple[Any, Any]:
    """The sum of the tangent's elements, each times its cofactor. Singular matrices have cofactors, but no inverse."""
    (a,), (t,) = primals, tangents
    factors, pivots, order = linalg.lu(a)
    value = _product_of_pivots(factors, pivots)
    magnitudes = arithmetic.abs_(parts.diagonal(factors))
    axes = tuple(range(typeof(magnitudes).ndim))
    limit = arithmetic.mul(reduce_max(magnitudes, axes), arithmetic.scalar(_eps(magnitudes), magnitudes))
    regular = arithmetic.gt(reduce_min(magnitudes, axes), limit)

    def by_factors(a: Array, t: Array) -> Array:
        solved = lu_solve(factors, order, t)
        trace = reduce_sum(parts.diagonal(solved), (typeof(a).ndim - 2,))
        return arithmetic.mul(value, trace)

    def by_singular_values(a: Array, t: Array) -> Array:
        left, values, right = linalg.svd(a)
        inner = parts.diagonal(parts.matmul(parts.adjoint(left), parts.matmul(t, parts.adjoint(right))))
        others = convert(_products_of_others(values), typeof(a).dtype)
        total = reduce_sum(arithmetic.mul(inner, others), (typeof(a).ndim - 2,))
        return arithmetic.mul(total, _det_by_lu(parts.matmul(left, right)))

    return value, cond(regular, by_factors, by_singular_values, a, t)


def _eps(x: Array) -> float:
    return float(dtypes.finfo(typeof(x).dtype).eps)


def _products_of_others(values: Array) -> Array:
    """For each number of vectors, the product of all the others."""
    axis = typeof(values).ndim - 1
    below = cumprod(_moved(values, 1), axis)
    above = cumprod(_moved(values, -1), axis, reverse=True)
    return arithmetic.mul(below, above)


def _moved(values: Array, by: int) -> Array:
    """Vectors moved by one place, a one coming in."""
    one = arithmetic.scalar(1, values)
    return static_slicing.pad(values, one, [(0, 0, 0)] * (typeof(values).ndim - 1) + [(by, -by, 0)])


def _entry(a: Array, i: int, j: int) -> Array:
    return shapes.squeeze(parts.part(a, (i, i + 1), (j, j + 1)), (-2, -1))


def _small_determinant(a: Array, size: int) -> Array:
    if size == 0:
        return filled_arrays.full_like(a, 1, shape=typeof(a).shape[:-2])
    if size == 1:
        return _entry(a, 0, 0)
    terms = []
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)) if size == 3 else ((0, 1, 1),):
        if size == 2:
            first = arithmetic.mul(_entry(a, 0, 0), _entry(a, 1, 1))
            return arithmetic.sub(first, arithmetic.mul(_entry(a, 0, 1), _entry(a, 1, 0)))
        inner = arithmetic.sub(
            arithmetic.mul(_entry(a, 1, j), _entry(a, 2, k)), arithmetic.mul(_entry(a, 1, k), _entry(a, 2, j))
        )
        terms.append(arithmetic.mul(_entry(a, 0, i), inner))
    return arithmetic.add(arithmetic.add(terms[0], terms[1]), terms[2])


@api(static=("method",))
def slogdet(a: ArrayLike, *, method: str | None = None) -> SlogdetResult:
    """Signs and logarithms of the magnitudes of determinants.

    Args:
      a: array of shape ``(..., n, n)``.
      method: ``"lu"`` (by default) or ``"qr"``: by which factors.
    Returns: named tuple ``(sign, logabsdet)`` of shape ``(...)``; 0 and minus infinity for singular matrices.
    Raises:
      ValueError: another method, or matrices that are not square.
    Example: ``jnp.linalg.slogdet(2 * jnp.eye(2)).sign`` is 1. Source: ``numpy.linalg.slogdet``.
    """
    a = as_matrices("slogdet", a, square=True)
    if method not in (None, "lu", "qr"):
        raise ValueError(f"Unrecognized method {method!r}. Supported methods are 'lu' and 'qr'.")
    return _slogdet_by_qr(a) if method == "qr" else _slogdet_by_lu(a)


def _signs_of(diagonal: Array) -> tuple[Any, Any]:
    axis = (typeof(diagonal).ndim - 1,)
    return reduce_prod(arithmetic.sign(diagonal), axis), reduce_sum(log(arithmetic.abs_(diagonal)), axis)


def _of_factors(factors: Array, pivots: Array) -> SlogdetResult:
    sign, logarithm = _signs_of(parts.diagonal(factors))
    odd = arithmetic.eq(_parity(pivots), np.int32(1))
    return SlogdetResult(selection.select(odd, arithmetic.neg(sign), sign), logarithm)


def _change(value: SlogdetResult, factors: Array, order: Array, t: Array) -> SlogdetResult:
    """The tangent of a logarithm is the trace of ``a^-1 t``, of which the imaginary part turns the phase."""
    trace = reduce_sum(parts.diagonal(lu_solve(factors, order, t)), (typeof(factors).ndim - 2,))
    if kind_of(typeof(trace).dtype) != "complex":
        return SlogdetResult(filled_arrays.full_like(value.sign, 0), trace)
    turn = arithmetic.complex_(filled_arrays.full_like(value.logabsdet, 0), arithmetic.imag(trace))
    return SlogdetResult(arithmetic.mul(value.sign, turn), arithmetic.real_part(trace))


@custom_jvp
def _slogdet_by_lu(a: Array) -> SlogdetResult:
    factors, pivots, _ = linalg.lu(a)
    return _of_factors(factors, pivots)


@_slogdet_by_lu.defjvp
def _jvp_by_lu(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[SlogdetResult, SlogdetResult]:
    factors, pivots, order = linalg.lu(primals[0])
    # The next derivative asks how phases turn, which ``sign`` does not say.
    turns = kind_of(typeof(factors).dtype) == "complex"
    value = _slogdet_by_lu(primals[0]) if turns else _of_factors(factors, pivots)
    return value, _change(value, factors, order, tangents[0])


@custom_jvp
def _slogdet_by_qr(a: Array) -> SlogdetResult:
    """Each reflection with a factor has determinant ``-tau / conj(tau)``."""
    reflected, taus = linalg.geqrf(a)
    sign, logarithm = _signs_of(parts.diagonal(reflected))
    none = arithmetic.eq(taus, filled_arrays.full_like(taus, 0))
    one = filled_arrays.full_like(taus, 1)
    if kind_of(typeof(a).dtype) == "complex":
        safe = selection.select(none, one, taus)
        turn = arithmetic.neg(arithmetic.div(safe, arithmetic.conj(safe)))
    else:
        turn = arithmetic.neg(one)
    turned = reduce_prod(selection.select(none, one, turn), (typeof(taus).ndim - 1,))
    return SlogdetResult(arithmetic.mul(sign, turned), logarithm)


@_slogdet_by_qr.defjvp
def _jvp_by_qr(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[SlogdetResult, SlogdetResult]:
    value, (factors, _, order) = _slogdet_by_qr(primals[0]), linalg.lu(primals[0])
    return value, _change(value, factors, order, tangents[0])
