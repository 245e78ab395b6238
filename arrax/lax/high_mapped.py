"""The operation that ``vmap`` makes of one whose rules are methods of a class, and that says where its batch axes are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from arrax.core.pytree_prefixes import flatten_axes
from arrax.core.pytrees import register_pytree_node, tree_flatten, tree_unflatten
from arrax.core.types import Zero, instantiate
from arrax.interpreters.batching import batch, example_type, move_batch_axis
from arrax.interpreters.mapped_types import unmapped_aval
from arrax.interpreters.registries import AxisData
from arrax.lax.high_primitives import VJPHiPrimitive
from arrax.lax.shape_slots import shape_slots

Dims = list[int | None]


class _Residuals:
    """What a mapped forward pass keeps: arrays, and where their batch axes are."""

    def __init__(self, arrays: Sequence[Any], known: tuple[Any, ...]) -> None:
        self.arrays, self.known = arrays, known
        self.tree, self.dims = known


register_pytree_node(
    _Residuals, lambda kept: (tuple(kept.arrays), kept.known), lambda known, arrays: _Residuals(arrays, known)
)


class VmapOf(VJPHiPrimitive):
    """An operation over a batch. Its methods are those of the operation, mapped.

    Args:
      prim: the operation. axis_data: the batch axis.
      in_dims, out_dim: where operands and results have it.
    """

    prim: VJPHiPrimitive
    axis_data: AxisData
    in_dims: tuple[Any, ...]
    out_dim: Any

    def __init__(self, prim: VJPHiPrimitive, axis_data: AxisData, in_dims: tuple[Any, ...], out_dim: Any) -> None:
        self.flat_in: Dims = flatten_axes("in_dims", prim.in_tree, in_dims)
        self.flat_out: Dims = flatten_axes(f"{prim.name}.batch_dim_rule", prim.out_tree, out_dim)
        size = axis_data.size
        self.in_avals, self.out_aval = (
            tree_unflatten(tree, [unmapped_aval(size, dim, aval) for dim, aval in zip(dims, avals, strict=True)])
            for tree, dims, avals in (
                (prim.in_tree, self.flat_in, prim.in_avals_flat),
                (prim.out_tree, self.flat_out, prim.out_avals_flat),
            )
        )
        self.params = {"prim": prim, "axis_data": axis_data, "in_dims": in_dims, "out_dim": out_dim}
        super().__init__()

    def defines(self, method: str) -> bool:
        """Whether the operation has the method."""
        return self.prim.defines(method)

    def _mapped(self, fun: Callable[..., Sequence[Any]], values: Sequence[Any], dims: Dims) -> tuple[list[Any], Dims]:
        return batch(fun, values, dims, self.axis_data)

    def _placed(self, values: Sequence[Any], found: Dims, wanted: Dims) -> list[Any]:
        return [self._place(value, own, to) for value, own, to in zip(values, found, wanted, strict=True)]

    def _place(self, value: Any, own: int | None, to: int | None) -> Any:
        """A value with its batch axis where it is wanted; summed over the batch where none is."""
        if to is None:
            return value if own is None else shape_slots.reduce_sum(value, (own,))
        return move_batch_axis(value, own, self.axis_data.size, to)

    def _out(self, values: Sequence[Any], found: Dims) -> Any:
        wrong = [
            n for n, (own, to) in enumerate(zip(found, self.flat_out, strict=True)) if to is None and own is not None
        ]
        if wrong:
            raise ValueError(
                f"{self.prim.name}.batch_dim_rule: result {wrong[0]} has no batch axis by the rule, but it depends on mapped operands"
            )
        return tree_unflatten(self.out_tree, self._placed(values, found, self.flat_out))

    def expand(self, *args: Any) -> Any:
        """The operation, mapped."""
        prim = self.prim

        def flat(*values: Any) -> list[Any]:
            return prim.leaves("expand", prim.expand(*tree_unflatten(prim.in_tree, values)))

        return self._out(*self._mapped(flat, tree_flatten(args)[0], self.flat_in))

    def vjp_fwd(self, nzs_in: Any, /, *args: Any) -> tuple[Any, Any]:
        """The forward pass, mapped."""
        prim, kept = self.prim, []
        count = len(prim.out_avals_flat)

        def flat(*values: Any) -> list[Any]:
            out, residuals = prim.vjp_fwd(nzs_in, *tree_unflatten(prim.in_tree, values))
            leaves, tree = tree_flatten(residuals)
            kept.append(tree)
            return [*prim.leaves("vjp_fwd", out), *leaves]

        values, found = self._mapped(flat, tree_flatten(args)[0], self.flat_in)
        residuals = _Residuals(values[count:], (kept[0], tuple(found[count:])))
        return self._out(values[:count], found[:count]), residuals

    def vjp_bwd(self, res: Any, outgrad: Any, /, *arg_accums: Any) -> None:
        """The backward pass, mapped; cotangents of operands without a batch axis are summed over the batch."""
        prim, cts = self.prim, tree_flatten(outgrad)[0]
        accumulators = flatten_axes(self.name, self.in_tree, arg_accums)
        given = [type(ct) is not Zero for ct in cts]
        zeros = [
            Zero(example_type(ct.aval, dim)) if type(ct) is Zero else None
            for ct, dim in zip(cts, self.flat_out, strict=True)
        ]
        there: list[bool] = []

        def flat(*values: Any) -> list[Any]:
            rest = iter(values[len(res.arrays) :])
            inner = [next(rest) if zero is None else zero for zero in zeros]
            residuals = tree_unflatten(res.tree, values[: len(res.arrays)])
            own = [
                type(each)(aval.to_tangent_aval()) for each, aval in zip(accumulators, prim.in_avals_flat, strict=True)
            ]
            prim.vjp_bwd(residuals, tree_unflatten(prim.out_tree, inner), *tree_unflatten(prim.in_tree, own))
            found = [each.freeze() for each in own]
            there[:] = [type(ct) is not Zero for ct in found]
            return [ct for ct in found if type(ct) is not Zero]

        operands = [*res.arrays, *(ct for ct, is_given in zip(cts, given, strict=True) if is_given)]
        dims = [*res.dims, *(dim for dim, is_given in zip(self.flat_out, given, strict=True) if is_given)]
        pairs = iter(zip(*self._mapped(flat, operands, dims), strict=True))
        for accumulator, is_there, to in zip(accumulators, there, self.flat_in, strict=True):
            if is_there:
                accumulator.accum(self._place(*next(pairs), to))

    def jvp(self, primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        """The rule for forward mode, mapped."""
        prim, count = self.prim, len(self.prim.out_avals_flat)
        leaves, given = tree_flatten(primals)[0], tree_flatten(tangents)[0]
        zeros = [
            Zero(aval.to_tangent_aval()) if type(t) is Zero else None
            for t, aval in zip(given, prim.in_avals_flat, strict=True)
        ]

        def flat(*values: Any) -> list[Any]:
            rest = iter(values[len(leaves) :])
            inner = [next(rest) if zero is None else zero for zero in zeros]
            outs, out_tangents = prim.forwards(values[: len(leaves)], inner)
            return [*outs, *map(instantiate, out_tangents)]

        operands = [*leaves, *(t for t in given if type(t) is not Zero)]
        dims = [*self.flat_in, *(dim for t, dim in zip(given, self.flat_in, strict=True) if type(t) is not Zero)]
        values, found = self._mapped(flat, operands, dims)
        return self._out(values[:count], found[:count]), self._out(values[count:], found[count:])

    def batch_dim_rule(self, axis_data: AxisData, dims: tuple[Any, ...], /) -> Any:
        """Where a second batch axis is, by the rule of the operation."""
        outer = flatten_axes("in_dims", self.in_tree, dims)
        inner = [
            o if o is None or i is None else o - (i + (o <= i) < o) for o, i in zip(outer, self.flat_in, strict=True)
        ]
        found = self.prim.batch_dim_rule(axis_data, tree_unflatten(self.prim.in_tree, inner))
        places = flatten_axes(f"{self.prim.name}.batch_dim_rule", self.out_tree, found)
        moved = [
            p if p is None or own is None else p + (own <= p) for p, own in zip(places, self.flat_out, strict=True)
        ]
        return tree_unflatten(self.out_tree, moved)
