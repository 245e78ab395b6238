"""``VJPHiPrimitive``: an operation of a library's own, whose rules are methods of a class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from arrax.core.interpreter import Primitive
from arrax.core.pytree_prefixes import flatten_axes
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.types import Zero, type_of_any
from arrax.interpreters.ad.transpose import add_cotangents

if TYPE_CHECKING:
    from arrax.core.types import AbstractValue
    from arrax.interpreters.registries import AxisData

high_call_p = Primitive("call_hi_primitive", multiple_results=True)


class Accumulator:
    """Where a rule puts what it adds to the cotangent of an operand.

    Attributes:
      aval: the type of the cotangent.
    """

    def __init__(self, aval: Any) -> None:
        self.aval = aval
        self.sum: Any = Zero(aval)

    def accum(self, x: Any) -> None:
        """Add to the cotangent; None and symbolic zeros add nothing."""
        if x is not None:
            self.sum = add_cotangents(self.sum, x)

    def freeze(self) -> Any:
        """The cotangent, a symbolic zero where nothing was added."""
        return self.sum


class NullAccumulator(Accumulator):
    """The accumulator of an operand whose cotangent nobody asks for."""

    def accum(self, x: Any) -> None:
        """Add nothing."""


class VJPHiPrimitive:
    """An operation that programs show as one, with rules for transformations that are methods of a subclass.

    A subclass sets ``in_avals`` (a tuple of pytrees of types, one per operand), ``out_aval`` (a pytree of types) and ``params``
    (a dict, whose entries become attributes) before it calls ``super().__init__()``. ``expand`` says what it computes. The
    other methods are needed only by transformations that are used:

    - ``vjp_fwd(nzs_in, *args) -> (out, residuals)`` with ``vjp_bwd_retval(residuals, out_ct) -> cotangents``, one per operand and
      None for zeros, or ``vjp_bwd(residuals, out_ct, *accumulators)``, which calls ``accum`` of each: reverse mode. ``nzs_in`` says
      of each operand whether it has a tangent.
    - ``jvp(primals, tangents) -> (out, out_tangent)``, or ``lin(nzs_in, *args) -> (out, residuals)`` with
      ``linearized(residuals, *tangents) -> out_tangent``: forward mode.
    - ``batch(axis_data, args, in_dims) -> (out, out_dims)``, or ``batch_dim_rule(axis_data, in_dims) -> out_dims``, by which the other
      methods are mapped: ``vmap``.
    - ``transpose(out_ct, *accumulators)``, of an operation that is linear in some operands; in the place of the others are values.

    Tangents and cotangents may be symbolic zeros.
    """

    in_avals: tuple[Any, ...]
    out_aval: Any
    params: dict[str, Any]
    effects: frozenset[Any] = frozenset()

    def __init__(self) -> None:
        for attribute in ("in_avals", "out_aval", "params"):
            if not hasattr(self, attribute):
                raise AttributeError(
                    f"{self.name}.__init__ must set {attribute} before it calls that of VJPHiPrimitive"
                )
        self.__dict__.update(self.params)
        self.in_avals_flat, self.in_tree = tree_flatten(tuple(self.in_avals))
        self.out_avals_flat, self.out_tree = tree_flatten(self.out_aval)

    @property
    def name(self) -> str:
        """The name of the class."""
        return type(self).__name__

    def __call__(self, *args: Any) -> Any:
        leaves, tree = tree_flatten(args)
        if tree != self.in_tree:
            raise TypeError(f"{self.name}: in_avals has the structure {self.in_tree}, but the operands have {tree}")
        if self.defines("check"):
            self.check(*tree_unflatten(tree, map(type_of_any, leaves)))
        return tree_unflatten(self.out_tree, high_call_p.bind(*leaves, _prim=self))

    def __eq__(self, other: object) -> bool:
        if self is other or type(self) is not type(other):
            return self is other
        assert isinstance(other, VJPHiPrimitive)
        try:
            return self._described() == other._described() and bool(self.params == other.params)
        except ValueError:  # arrays among the parameters
            return False

    def __hash__(self) -> int:
        return hash((type(self), self._described()))

    def _described(self) -> tuple[Any, ...]:
        return (*self.in_avals_flat, self.in_tree, *self.out_avals_flat, self.out_tree)

    def __repr__(self) -> str:
        return f"{self.name}[{self.params}]"

    # ---- what subclasses define ----

    def check(self, *arg_tys: Any) -> None:
        """Refuse operands of other types than the operation takes."""

    def expand(self, *args: Any) -> Any:
        """What the operation computes, by other operations."""
        raise NotImplementedError(f"{self.name} must define the method expand, which says what it computes")

    def vjp_fwd(self, nzs_in: Any, /, *args: Any) -> tuple[Any, Any]:
        """The result, and what the backward pass needs."""
        raise self.missing("reverse-mode differentiation", "vjp_fwd")

    def vjp_bwd(self, res: Any, outgrad: Any, /, *arg_accums: Any) -> None:
        """Add to the cotangents of the operands what those of the result give."""
        if not self.defines("vjp_bwd_retval"):
            raise self.missing("reverse-mode differentiation", "vjp_bwd_retval")
        found = flatten_axes(f"{self.name}.vjp_bwd_retval", self.in_tree, self.vjp_bwd_retval(res, outgrad))
        accumulators = flatten_axes(self.name, self.in_tree, arg_accums)
        for ct, accumulator in zip(found, accumulators, strict=True):
            if ct is not None and type(ct) is not Zero and not isinstance(accumulator, NullAccumulator):
                self._check_cotangent(ct, accumulator.aval)
                accumulator.accum(ct)

    def vjp_bwd_retval(self, res: Any, outgrad: Any, /) -> tuple[Any, ...]:
        """The cotangents of the operands."""
        raise self.missing("reverse-mode differentiation", "vjp_bwd_retval")

    def jvp(self, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        """The result and its tangent."""
        raise self.missing("forward-mode differentiation", "jvp")

    def lin(self, nzs_in: Any, *primals: Any) -> tuple[Any, Any]:
        """The result, and what its tangent needs."""
        raise self.missing("linearization", "lin")

    def linearized(self, residuals: Any, *tangents: Any) -> Any:
        """The tangent of the result."""
        raise self.missing("linearization", "linearized")

    def batch(self, axis_data: AxisData, args: tuple[Any, ...], dims: tuple[Any, ...]) -> tuple[Any, Any]:
        """The result over a batch, and where in it the batch axis is."""
        raise self.missing("vmap", "batch or batch_dim_rule")

    def batch_dim_rule(self, axis_data: AxisData, dims: tuple[Any, ...], /) -> Any:
        """Where in the result over a batch the batch axis is."""
        raise self.missing("vmap", "batch or batch_dim_rule")

    def transpose(self, out_ct: Any, *maybe_accums: Any) -> None:
        """Add to the cotangents of linear operands what those of the result give."""
        raise self.missing("transposition", "transpose")

    # ---- what the rules of programs ask ----

    def defines(self, method: str) -> bool:
        """Whether the subclass has a method of its own."""
        return getattr(type(self), method) is not getattr(VJPHiPrimitive, method)

    @property
    def differentiates_forwards(self) -> bool:
        """Whether there are rules for forward mode."""
        return self.defines("jvp") or self.defines("lin")

    def missing(self, transformation: str, method: str) -> NotImplementedError:
        """The error of a transformation without its rule."""
        return NotImplementedError(
            f"{transformation} of {self.name} needs the method {method}, which the class does not define"
        )

    def forwards(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Leaves of the result and of its tangent, by the rules for forward mode."""
        args, own = (tree_unflatten(self.in_tree, each) for each in (primals, tangents))
        if self.defines("jvp") or not self.defines("lin"):
            out, out_tangent = self.jvp(args, own)
            return self.leaves("jvp", out), self.leaves("jvp", out_tangent)
        out, residuals = self.lin(self.nonzeros(tangents), *args)
        return self.leaves("lin", out), self.leaves("linearized", self.linearized(residuals, *own))

    def nonzeros(self, tangents: Sequence[Any]) -> Any:
        """For each operand, whether it has a tangent, in the structure of the operands."""
        return tree_unflatten(self.in_tree, [type(t) is not Zero for t in tangents])

    def leaves(self, method: str, out: Any) -> list[Any]:
        """The leaves of what a method returned in the place of the result, or of its tangent."""
        leaves, tree = tree_flatten(out)
        if tree != self.out_tree:
            raise TypeError(
                f"{self.name}.{method}: out_aval has the structure {self.out_tree}, but the method returned {tree}"
            )
        return leaves

    def _check_cotangent(self, ct: Any, aval: AbstractValue) -> None:
        shape, found = getattr(aval, "shape", None), getattr(type_of_any(ct), "shape", None)
        if shape != found:
            raise ValueError(
                f"{self.name}.vjp_bwd_retval: a cotangent has the shape {found}, but its operand has {shape}"
            )
