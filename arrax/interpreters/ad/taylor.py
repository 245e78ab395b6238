"""Taylor mode: each value carries its derivatives, up to some order, along one curve of the inputs.

A value is a curve x(t), known by x(0), x'(0), x''(0) and so on. A rule in a primitive's slot ``taylor`` says what becomes of
these. Where it has none, its derivative rule does: y'(t) = f'(x(t)) x'(t) is a program of x and x', which is run in Taylor
mode to an order less. So linear operations go through term by term, and only products and quotients need rules to be quick.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from arrax.core import errors
from arrax.core.interpreter import Interpreter, Primitive, Tracer, run_in, swap_interpreter
from arrax.core.program import ClosedJaxpr
from arrax.core.types import Zero, instantiate, typeof
from arrax.interpreters.ad.forward import PrimalTracer
from arrax.interpreters.dce import dce_jaxpr
from arrax.interpreters.staging import eval_jaxpr, stage

if TYPE_CHECKING:
    from arrax.xla.arrays import Array, ArrayLike

Terms = Sequence[Any]  # derivatives of orders 1, 2, … : arrays, or Zeros


class TaylorTracer(PrimalTracer):
    """A value and its derivatives along the curve, from the first on."""

    __slots__ = ("terms",)

    def __init__(self, interpreter: Interpreter, primal: Array, terms: Terms):
        self.interpreter, self.primal, self.terms, self.aval = interpreter, primal, terms, typeof(primal)

    def is_differentiated(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"Traced<{self.aval!r}>with<Taylor> with\n  primal = {self.primal!r}\n  terms = {self.terms!r}"


class Taylor(Interpreter):
    """Applies Taylor rules up to an order; operations on constants pass to the parent as they are."""

    __slots__ = ("order", "programs")

    def __init__(self, parent: Interpreter, order: int, programs: dict[Any, Any] | None = None) -> None:
        super().__init__(parent)
        self.order = order
        # Programs of derivatives: the interpreters of lower orders, which need the same ones, share them.
        self.programs: dict[Any, Any] = {} if programs is None else programs

    def describe(self) -> str:
        return "jet"

    def lift(self, value: Any) -> tuple[Any, Terms | None]:
        """(primal, terms), with None for terms of what is a constant to this interpreter."""
        if type(value) is TaylorTracer and value.interpreter is self:
            return value.primal, value.terms
        if isinstance(value, Tracer) and not value.interpreter.alive:
            raise errors.escaped_tracer(value)
        return value, None

    def join(self, primal: Any, terms: Terms | None) -> Any:
        """A tracer, or the primal itself where all terms are zero."""
        if terms is None or all(type(term) is Zero for term in terms):
            return primal
        return TaylorTracer(self, primal, terms)

    def process(self, primitive: Primitive, args: tuple[Any, ...], params: dict[str, Any]) -> Any:
        pairs = [self.lift(arg) for arg in args]
        primals = tuple(primal for primal, _ in pairs)
        previous = swap_interpreter(self.parent)
        try:
            if all(terms is None for _, terms in pairs):
                return self.parent.process(primitive, primals, params)
            series = [self._zeros(x) if terms is None else list(terms) for x, terms in pairs]
            if primitive.taylor is not None:
                out, terms = primitive.taylor(self.order, primals, series, **params)
            else:
                out, terms = self._by_derivative(primitive, primals, series, params)
        finally:
            swap_interpreter(previous)
        if primitive.multiple_results:
            return list(map(self.join, out, terms))
        return self.join(out, terms)

    def _zeros(self, primal: ArrayLike) -> list[Any]:
        return [Zero.of(primal)] * self.order

    def _by_derivative(
        self, primitive: Primitive, primals: tuple[Any, ...], series: list[list[Any]], params: dict[str, Any]
    ) -> tuple[Any, Any]:
        """The value, and the derivative rule along the curve, to an order less."""
        jvp = primitive.jvp
        if jvp is None:
            raise NotImplementedError(f"Differentiation rule for '{primitive.name}' not implemented")
        moving = [not all(type(term) is Zero for term in terms) for terms in series]
        lower = Taylor(self.parent, self.order - 1, self.programs)
        xs = [lower.join(x, terms[:-1]) for x, terms in zip(primals, series, strict=True)]
        dxs = [
            lower.join(instantiate(terms[0]), terms[1:]) for terms, moves in zip(series, moving, strict=True) if moves
        ]
        if primitive.closes_over:  # a rule of the user's, which may look at values
            tangents = iter(dxs)
            given = [next(tangents) if moves else Zero.of(x) for x, moves in zip(primals, moving, strict=True)]
            out, slopes = run_in(lower, lambda: jvp(tuple(xs), tuple(given), **params))
            outs = [lower.lift(each)[0] for each in (out if primitive.multiple_results else [out])]
            slopes = slopes if primitive.multiple_results else [slopes]
        else:
            found = self.parent.process(primitive, primals, params)
            outs = list(found) if primitive.multiple_results else [found]
            program, which = self._derivative(primitive, primals, moving, params)
            results = iter(run_in(lower, eval_jaxpr, program.jaxpr, program.consts, *xs, *dxs))
            slopes = [next(results) if nonzero else Zero.of(each) for nonzero, each in zip(which, outs, strict=True)]
        terms = [lower.terms_of(slope) for slope in slopes]
        return (outs, terms) if primitive.multiple_results else (outs[0], terms[0])

    def terms_of(self, slope: Any) -> list[Any]:
        """The derivatives of a curve whose first derivative is given along it."""
        if type(slope) is Zero:
            return [slope] * (self.order + 1)
        first, terms = self.lift(slope)
        return [first, *(self._zeros(first) if terms is None else terms)]

    def _derivative(
        self, primitive: Primitive, primals: tuple[Any, ...], moving: list[bool], params: dict[str, Any]
    ) -> tuple[ClosedJaxpr, list[bool]]:
        """The program from the operands, and the tangents of those that move, to the nonzero tangents of the results."""
        avals = tuple(map(typeof, primals))
        key = (primitive, avals, tuple(moving), tuple(params.items()))
        try:
            if key in self.programs:
                return self.programs[key]
        except TypeError:  # a parameter that cannot be hashed
            return _derivative_program(primitive, avals, moving, params)
        found = self.programs[key] = _derivative_program(primitive, avals, moving, params)
        return found


def _derivative_program(
    primitive: Primitive, avals: Sequence[Any], moving: Sequence[bool], params: dict[str, Any]
) -> tuple[ClosedJaxpr, list[bool]]:
    which: list[bool] = []

    def derivative(*values: Array) -> list[Any]:
        primals, rest = values[: len(avals)], iter(values[len(avals) :])
        tangents = [next(rest) if moves else Zero.of(x) for x, moves in zip(primals, moving, strict=True)]
        assert primitive.jvp is not None
        _, slopes = primitive.jvp(tuple(primals), tuple(tangents), **params)
        slopes = slopes if primitive.multiple_results else [slopes]
        which[:] = [type(slope) is not Zero and slope is not None for slope in slopes]
        return [slope for slope, nonzero in zip(slopes, which, strict=True) if nonzero]

    types = [*avals, *(aval.to_tangent_aval() for aval, moves in zip(avals, moving, strict=True) if moves)]
    jaxpr, consts = stage(derivative, types)
    lean, _ = dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars), True)
    return ClosedJaxpr(lean, consts), list(which)


def taylor(
    fun: Callable[..., Sequence[Any]], order: int, primals: Sequence[Any], series: Sequence[Terms], parent: Interpreter
) -> tuple[list[Any], list[list[Any]]]:
    """Values and derivatives of a flat function along a curve.

    Args:
      primals: where the curve is.
      series: for each argument its derivatives, up to the order; entries may be Zeros.
    Returns: the results, and for each its derivatives, whose entries may be Zeros.
    """
    interpreter = Taylor(parent, order)
    outs = run_in(interpreter, fun, *map(interpreter.join, primals, series))
    pairs = [interpreter.lift(out) for out in outs]
    return [x for x, _ in pairs], [interpreter._zeros(x) if terms is None else list(terms) for x, terms in pairs]
