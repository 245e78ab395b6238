"""Arrays with their axes in another order, on the CPU: by copies of the runtime, which go block by block.

The compiler's own loop writes one element after the other, each from another row. It takes up to six times as long as a copy,
and 30 ms to compile, where a copy needs no code. What computes on a transposed array reads it in its own loop; so this is for
arrays that must lie in memory: operands of libraries and of loops, results of programs, and operands of products whose axes
are not in an order that the library takes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from arrax.core.interpreter import Primitive
from arrax.core.lengths import is_symbolic
from arrax.core.program import Atom, JaxprEqn, Var
from arrax.core.types import ShapedArray, typeof
from arrax.interpreters.platform_forms import Around, Form, Rule
from arrax.lax.axis_order import transpose, transpose_p
from arrax.lax.calls import call_apart
from arrax.lax.cpu import thresholds
from arrax.lax.cpu.loops import is_reshape
from arrax.lax.cpu.regrouping import needs_memory, reshaped_apart
from arrax.lax.shapes import reshape_p
from arrax.lax.whole_bytes import NARROW

if TYPE_CHECKING:
    from arrax.xla.arrays import Array


def transpose_form(product: Primitive) -> Rule:
    """The form of ``transpose``.

    Args:
      product: the primitive of products of matrices, whose operands the library takes in several orders.
    """

    def rule(eqn: JaxprEqn, around: Around) -> Form | None:
        permutation = eqn.params["permutation"]
        if around.nested and len(around.jaxpr.eqns) == 1:
            return None  # a copy already
        maker = around.maker(eqn.invars[0])
        if maker is not None and maker.primitive is product and len(permutation) == 2:
            return None  # the compiler multiplies the other way round
        if not around.one_device or not is_copied_by_blocks(eqn.invars[0].aval, permutation):
            return None
        if not _lies_in_memory(eqn.outvars[0], around, product):
            return None
        params = (("shape", eqn.invars[0].aval.shape), ("permutation", permutation))
        return Form(_transposed, params, [_before_reshape(eqn.invars[0], around)])

    return rule


def _transposed(x: Array, *, shape: tuple[int, ...], permutation: tuple[int, ...]) -> list[Any]:
    return [_copied(x, shape, permutation)]


def _copied(x: Array, shape: tuple[int, ...], permutation: tuple[int, ...]) -> Array:
    """An array of a shape, transposed: in functions of their own these are matters of the layout, so that a copy is left."""

    def transposed(x: Array) -> list[Any]:
        return [transpose(x, permutation)]

    return call_apart(transposed, x if typeof(x).shape == shape else reshaped_apart(x, shape))[0]


def _before_reshape(x: Atom, around: Around) -> Atom:
    """An array as it was made: the compiler would make it once more in its new shape, arrays that a loop updates, too."""
    maker = around.maker(x)
    return maker.invars[0] if maker is not None and maker.primitive is reshape_p else x


def is_copied_by_blocks(aval: ShapedArray, permutation: Sequence[int]) -> bool:
    """Whether the copy is faster: of long enough rows, or where the axes that are last before and after are long enough."""
    if any(map(is_symbolic, aval.shape)) or not isinstance(aval.dtype, np.dtype) or aval.dtype.name in NARROW:
        return False
    long = _long(range(aval.ndim), aval)
    runs: list[list[int]] = []  # of axes that stay side by side
    for axis in _long(permutation, aval):
        if runs and long.index(axis) == long.index(runs[-1][-1]) + 1:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    if len(runs) < 2 or not aval.size:
        return False
    lengths = {run[-1]: math.prod(aval.shape[axis] for axis in run) for run in runs}
    before, after = lengths[long[-1]], lengths[runs[-1][-1]]
    if runs[-1][-1] == long[-1]:
        return after * aval.dtype.itemsize >= thresholds.TRANSPOSE_MIN_ROW_BYTES
    return min(before, after) >= thresholds.TRANSPOSE_MIN_LENGTH


def _lies_in_memory(var: Var, around: Around, product: Primitive) -> bool:
    """Whether a transposed array is a result, or an operand of a loop, or of a library that needs it in this order.

    Products have a form of their own.
    """
    if var in around.jaxpr.outvars:
        return True
    for eqn in around.users.get(var, ()):
        if is_reshape(eqn):
            (out,) = eqn.outvars
            if out in around.jaxpr.outvars or any(map(needs_memory, around.users.get(out, ()))):
                return True
        elif eqn.primitive is not product and needs_memory(eqn):
            return True
    return False


def in_order_form(eqn: JaxprEqn, around: Around) -> Form | None:
    """The form of products of operands whose axes do not lie as the library takes them: those of the batch first."""
    if not around.one_device:
        return None
    contracted, batch = eqn.params["dimension_numbers"]
    same_places = contracted[0] == contracted[1] and batch[0] == batch[1]
    if same_places and eqn.outvars[0].aval.ndim == len(batch[0]):
        return None  # sums of what lies at the same place, which the compiler makes of it
    sides = [_side(x, summed, shared, around) for x, summed, shared in zip(eqn.invars, contracted, batch, strict=True)]
    copies = tuple(side.copy for side in sides)
    if not any(copies):
        return None
    numbers = tuple(side.contracted for side in sides), tuple(side.batch for side in sides)
    params = {**eqn.params, "dimension_numbers": numbers}
    fixed = (("primitive", eqn.primitive), ("params", tuple(params.items())), ("copies", copies))
    return Form(_of_copies, fixed, [side.source for side in sides])


_Copy = tuple[tuple[int, ...], tuple[int, ...]]  # of an array in a shape, with its axes in an order


class _Side(NamedTuple):
    """An operand of a product.

    Attributes:
      source: of which it is a copy, or itself.
      copy: None where it is no copy.
      contracted, batch: its axes.
    """

    source: Atom
    copy: _Copy | None
    contracted: tuple[int, ...]
    batch: tuple[int, ...]


def _side(x: Atom, contracted: Sequence[int], batch: Sequence[int], around: Around) -> _Side:
    """An operand in order; itself where it lies so already, or where the compiler's loop is as fast."""
    as_it_is = _Side(x, None, tuple(contracted), tuple(batch))
    free = [axis for axis in range(x.aval.ndim) if axis not in contracted and axis not in batch]
    orders = [*batch, *free, *contracted], [*batch, *contracted, *free]
    made_of = list(_before_transpositions(x, around))
    accepted = [places for _, places in made_of if _lie_in(orders, places, x.aval)]
    source, places = made_of[-1]
    if places in accepted:
        return as_it_is  # the compiler takes the transpositions into the product
    usable = [own for own in accepted if [own[axis] for axis in free] == sorted(own[axis] for axis in free)]
    if usable:
        positions = usable[-1]
    else:
        last = max((axis for axis in range(x.aval.ndim) if x.aval.shape[axis] > 1), key=places.__getitem__)
        positions = _inverse(orders[0] if last in contracted else orders[1])
    permutation = tuple(places[axis] for axis in _inverse(positions))
    if source.aval.size < thresholds.TRANSPOSE_MIN_FACTOR or not is_copied_by_blocks(source.aval, permutation):
        return as_it_is
    axes = (tuple(positions[axis] for axis in own) for own in (contracted, batch))
    return _Side(_before_reshape(source, around), (source.aval.shape, permutation), *axes)


def _before_transpositions(x: Atom, around: Around) -> Iterator[tuple[Atom, tuple[int, ...]]]:
    """An array, then what it is a transposition of, and so on; with the place of each of its axes there."""
    places = tuple(range(x.aval.ndim))
    yield x, places
    while (maker := around.maker(x)) is not None and maker.primitive is transpose_p:
        (x,) = maker.invars
        places = tuple(maker.params["permutation"][place] for place in places)
        yield x, places


def _lie_in(orders: Sequence[Sequence[int]], places: Sequence[int], aval: ShapedArray) -> bool:
    """Whether axes lie in one of some orders in memory."""
    return _long(_inverse(places), aval) in [_long(order, aval) for order in orders]


def _inverse(permutation: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(range(len(permutation)), key=permutation.__getitem__))


def _long(axes: Sequence[int], aval: ShapedArray) -> list[int]:
    return [axis for axis in axes if aval.shape[axis] > 1]


def _of_copies(
    *operands: Array, primitive: Primitive, params: tuple[tuple[str, Any], ...], copies: Sequence[_Copy | None]
) -> list[Any]:
    sides = zip(operands, copies, strict=True)
    return [primitive.bind(*(x if copy is None else _copied(x, *copy) for x, copy in sides), **dict(params))]
