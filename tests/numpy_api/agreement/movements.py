"""Random expressions that move elements: shapes, joining, indexing, updates, padding, sorting, searching, sets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import arrax.numpy as jnp
from tests.numpy_api.agreement.expressions import (
    ALL,
    FLOATS,
    INTEGERS,
    REAL,
    Draw,
    Expression,
    call,
    describe,
    found,
    listed,
)  # fmt: skip


def rearrangement(draw: Draw) -> Expression:
    array = draw.array(shape=draw.shape(1))
    ndim, axis = array.ndim, draw.axis(array.ndim)
    order = tuple(draw.choices.sample(range(ndim), ndim))
    pair = draw.array(shape=draw.shape(2, 3))
    name, operand, more, options = draw.pick([
        ("transpose", array, (order,), {}), ("moveaxis", array, (axis, draw.axis(ndim)), {}),
        ("swapaxes", array, (axis, draw.axis(ndim)), {}), ("rollaxis", array, (axis,), {}), ("ravel", array, (), {}),
        ("reshape", array, ((-1, 1) if array.size else array.shape,), {"order": draw.pick("CF")}),
        ("expand_dims", array, (draw.pick([0, -1, (0, -1), ndim]),), {}), ("atleast_1d", draw.array(), (), {}),
        ("atleast_2d", draw.array(), (), {}), ("atleast_3d", draw.array(), (), {}), ("squeeze", array, (), {}),
        ("flip", array, (draw.axes(ndim),), {}), ("fliplr", pair, (), {}), ("flipud", array, (), {}),
        ("rot90", pair, (draw.integer(-2, 4),), {}), ("roll", array, (draw.integer(-5, 5),), {"axis": draw.pick([None, axis])}),
        ("tile", array, (draw.pick([2, (1, 2), (2, 1, 1, 2), (0,)]),), {}),
        ("repeat", array, (draw.integer(0, 3),), {"axis": draw.pick([None, axis])}),
        ("broadcast_to", array, ((2, *array.shape),), {}), ("tril", pair, (draw.integer(-2, 2),), {}),
        ("triu", pair, (draw.integer(-2, 2),), {}), ("diagonal", pair, (draw.integer(-1, 1), 0, 1), {}),
        ("diag", draw.array(shape=draw.shape(1, 2)), (draw.integer(-2, 2),), {}), ("diagflat", array, (draw.integer(-1, 1),), {}),
        ("trace", pair, (draw.integer(-1, 1),), {}), ("permute_dims", array, (order,), {}),
        ("matrix_transpose", pair, (), {}), ("delete", array, (draw.pick([0, slice(0, 2), np.array([0])]) if 0 not in array.shape else slice(0),), {"axis": axis}),
        ("insert", array, (0, 2), {"axis": draw.pick([None, axis])}), ("resize", array, (draw.shape(1),), {}),
        ("split", np.repeat(array, 2, axis), (2, axis), {}), ("array_split", array, (3, axis), {}),
        ("unstack", array, (), {"axis": axis}), ("trim_zeros", draw.array(INTEGERS, (6,), 0, 2), (), {}),
        ("copy", array, (), {}), ("nan_to_num", draw.special(draw.array(FLOATS)), (), {"nan": 1.5, "posinf": 9}),
        ("round", draw.array(FLOATS), (draw.integer(-1, 1),), {}), ("clip", array.real, (-1 if array.dtype.kind in "if" else 1, 3), {}),
    ])  # fmt: skip
    return replace(call(name, [operand], *more, **options), traceable=name != "trim_zeros", looseness=4)


def joining(draw: Draw) -> Expression:
    shape = draw.shape(1)
    arrays = [draw.array(shape=shape) for _ in range(draw.integer(1, 3))]
    axis = draw.axis(len(shape))
    name = draw.pick(
        "concatenate stack hstack vstack dstack column_stack append block meshgrid broadcast_arrays concat".split()
    )
    if name == "append":
        return listed(
            f"append axis={axis}", lambda xp, xs: xp.append(xs[0], xs[-1], axis=axis), [arrays[0], arrays[-1]]
        )
    if name == "meshgrid":
        indexing = draw.pick(["ij", "xy"])
        lines = [draw.array(shape=(draw.integer(0, 3),)) for _ in range(draw.integer(1, 3))]
        return listed(f"meshgrid {indexing}", lambda xp, xs: xp.meshgrid(*xs, indexing=indexing), lines, promote=False)
    if name == "broadcast_arrays":
        others = [draw.array(shape=draw.broadcast(shape)), arrays[0]]
        return listed(name, lambda xp, xs: xp.broadcast_arrays(*xs), others, promote=False)
    options = {"axis": axis} if name in ("concatenate", "stack", "concat") else {}
    return listed(f"{name} {options}", lambda xp, xs: found(xp, name)(xs, **options), arrays)


def padding(draw: Draw) -> Expression:
    array = draw.array((*INTEGERS, *FLOATS), draw.shape(1, 3, empty=0))
    mode = draw.pick("constant edge linear_ramp maximum mean median minimum reflect symmetric wrap empty".split()[:-1])
    widths = draw.pick([1, (1, 2), [(draw.integer(0, 3), draw.integer(0, 3)) for _ in array.shape]])
    options: dict[str, Any] = {}
    if mode in ("mean", "median", "linear_ramp"):
        array = array.astype("float32")
    if mode == "constant" and draw.chance():
        options["constant_values"] = draw.pick([1, (1, 2)])
    if mode in ("reflect", "symmetric") and draw.chance(0.3):
        options["reflect_type"] = "odd"
    if mode in ("maximum", "minimum", "mean") and draw.chance():
        options["stat_length"] = draw.pick([1, 2])
    return replace(call("pad", [array], widths, mode=mode, **options), looseness=4)


def random_index(draw: Draw, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """An index that NumPy accepts: integers, slices, new axes, an ellipsis, arrays that broadcast."""
    parts: list[Any] = []
    common = draw.shape(0, 2, empty=0)
    for size in shape[: draw.integer(0, len(shape))]:
        choice = draw.pick(["slice", "slice", "integer", "array"])
        bounds = [draw.pick([None, draw.integer(-size - 1, size + 1)]) for _ in range(2)]
        if choice == "slice" or not size:
            parts.append(slice(*bounds, draw.pick([None, 1, 2, -1, -2])))
        elif choice == "integer":
            parts.append(draw.integer(-size, size - 1))
        else:
            parts.append(draw.numbers.integers(-size, size, draw.broadcast(common)))
        if draw.chance(0.15):
            parts.append(None)
    if draw.chance(0.3):
        parts.insert(draw.integer(0, len(parts)), Ellipsis)
        if len([part for part in parts if part is not None and part is not Ellipsis]) < len(shape):
            parts = [part for n, part in enumerate(parts) if part is not Ellipsis or n in (0, len(parts) - 1)]
            parts = parts if parts and parts[0] is not Ellipsis else parts[1:]
    return tuple(parts)


def indexing(draw: Draw) -> Expression:
    array = draw.array(shape=draw.shape(0, 4))
    if draw.chance(0.1) and array.ndim:
        mask = draw.numbers.random(array.shape[: draw.integer(1, array.ndim)]) < 0.5
        return Expression(describe("mask", [array, mask]), (array,), lambda x: x[mask], lambda x: x[mask])
    index = random_index(draw, array.shape)
    if draw.chance():
        return Expression(describe("index", [array, index]), (array,), lambda x: x[index], lambda x: x[index])
    name = draw.pick(["take", "take_along_axis", "choose", "compress", "select", "where", "extract", "piecewise"])
    array = draw.array(shape=draw.shape(1, 3, empty=0))
    axis = draw.axis(array.ndim)
    if name == "take":
        picks = draw.numbers.integers(-array.shape[axis], array.shape[axis], draw.shape()).astype("int32")
        return replace(call(name, [array, picks], axis=axis), fixed=(1,))
    if name == "take_along_axis":
        picks = np.argsort(draw.numbers.random(array.shape), axis).astype("int32")
        return replace(call(name, [array, picks], axis=axis), fixed=(1,))
    if name == "choose":
        picks, mode = draw.array(["int32"], (3,)), draw.pick(["clip", "wrap"])
        return listed(
            f"choose {mode} {picks}",
            lambda xp, xs: xp.choose(picks, xs, mode=mode),
            [array[..., :1], array[..., :1] + 0],
        )
    if name == "compress":
        mask = draw.numbers.random(array.shape[axis]) < 0.5
        return Expression(describe(name, [mask, array, axis]), (array,), lambda x: jnp.compress(mask, x, axis=axis),
                          lambda x: np.compress(mask, x, axis=axis))  # fmt: skip
    if name == "extract":
        mask = draw.numbers.random(array.shape) < 0.5
        return Expression(describe(name, [mask, array]), (array,), lambda x: jnp.extract(mask, x),
                          lambda x: np.extract(mask, x), traceable=False)  # fmt: skip
    mask, other = draw.array(["bool"], draw.broadcast(array.shape)), draw.array(shape=draw.broadcast(array.shape))
    if name == "where":
        return listed("where", lambda xp, xs: xp.where(mask, *xs), [array, other])
    if name == "select":
        return listed("select", lambda xp, xs: xp.select([mask, ~mask], xs, 0), [array, other + 0])
    return Expression(describe(name, [array, mask]), (array,), lambda x: jnp.piecewise(x, [x > 1, x < 0], [2, -1, 0]),
                      lambda x: np.piecewise(x, [x > 1, x < 0], [2, -1, 0]))  # fmt: skip


def update(draw: Draw) -> Expression:
    array = draw.array((*INTEGERS, *FLOATS), draw.shape(1, 3))
    index = random_index(draw, array.shape)
    shape = array[index].shape
    value = draw.array([array.dtype.name], draw.broadcast(shape), 1, 4)
    names = {
        "set": None,
        "add": np.add,
        "subtract": np.subtract,
        "multiply": np.multiply,
        "min": np.minimum,
        "max": np.maximum,
    }
    name = draw.pick(list(names))
    if name == "set" and any(isinstance(part, np.ndarray) for part in index):
        value = (
            value.ravel()[:1].reshape(())[()] if value.size else np.zeros((), array.dtype)
        )  # whose order is not defined

    def theirs(x: np.ndarray, v: np.ndarray) -> np.ndarray:
        x = x.copy()
        if name == "set":
            x[index] = v
        else:
            names[name].at(x, index, v)
        return x

    return Expression(describe(f"at.{name}", [array, index, value]), (array, value),
                      lambda x, v: getattr(jnp.asarray(x).at[index], name)(v), theirs, looseness=8)  # fmt: skip


def sorting(draw: Draw) -> Expression:
    array = draw.special(draw.array(ALL, draw.shape(1)))
    axis = draw.axis(array.ndim)
    name = draw.pick("sort argsort lexsort partition argpartition sort_complex searchsorted".split())
    if name in ("sort", "argsort"):
        return call(name, [array], axis=draw.pick([None, axis]), theirs={"kind": "stable"})
    if name == "lexsort":
        keys = [draw.array(REAL, array.shape) for _ in range(2)]
        return listed(f"lexsort axis={axis}", lambda xp, xs: xp.lexsort(xs, axis=axis), keys, promote=False)
    if name == "sort_complex":
        array = draw.array(("float32", "float64", "complex64"), draw.shape(1, 2))
        return replace(call(name, [array], gives=np.result_type(array, np.complex64)), looseness=4)
    if name == "searchsorted":
        side = draw.pick(["left", "right"])
        return replace(call(name, [np.sort(draw.array(["int32"], (4,))), draw.array(["int32"])], side=side), fixed=(0,))
    array = draw.array((*INTEGERS, *FLOATS), draw.shape(1, 3, empty=0))
    axis = draw.axis(array.ndim)
    place = draw.integer(0, array.shape[axis] - 1)

    def placed(xp: Any, xs: list[Any]) -> Any:  # the other elements may stand in any order
        parted = found(xp, name)(xs[0], place, axis=axis)
        parted = xp.take_along_axis(xs[0], parted, axis) if name == "argpartition" else parted
        return xp.take(parted, np.int32(place), axis=axis), xp.sort(parted, axis=axis)

    return listed(f"{name} {place} axis={axis}", placed, [array])


def searching(draw: Draw) -> Expression:
    array = draw.array(ALL, draw.shape(1))
    name = draw.pick("nonzero flatnonzero argwhere array_equal array_equiv allclose isin packbits unpackbits unravel_index "
                     "ravel_multi_index tril_indices triu_indices".split())  # fmt: skip
    if name in ("nonzero", "flatnonzero", "argwhere"):
        return replace(call(name, [array]), traceable=False)
    if name in ("array_equal", "array_equiv", "allclose"):
        return call(name, [array, array if draw.chance() else draw.array([array.dtype.name], array.shape)])
    if name == "isin":
        return call(name, [array, draw.array([array.dtype.name], draw.shape(0, 2))], invert=draw.chance())
    if name in ("packbits", "unpackbits"):
        bits = draw.array(["bool", "uint8"] if name == "packbits" else ["uint8"], draw.shape(1))
        return call(name, [bits], axis=draw.pick([None, draw.axis(bits.ndim)]), bitorder=draw.pick(["big", "little"]))
    if name == "unravel_index":
        return replace(call(name, [draw.array(["int32"], draw.shape(), 0, 6)], (2, 3), gives="int32"), fixed=(0,))
    if name == "ravel_multi_index":
        indices = [draw.array(["int32"], (4,), 0, 6) for _ in range(2)]
        mode = draw.pick(["clip", "wrap"])
        expression = listed(f"{name} {mode}", lambda xp, xs: xp.ravel_multi_index(xs, (3, 4), mode=mode), indices)
        return replace(expression, dtype="int32")
    return call(name, [], draw.integer(0, 4), draw.integer(-1, 1))


def sets(draw: Draw) -> Expression:
    kinds = draw.pick([INTEGERS, REAL])
    first, second = draw.special(draw.array(kinds, draw.shape(1, 2))), draw.array(kinds, draw.shape(1, 2))
    name = draw.pick(
        "unique union1d intersect1d setdiff1d setxor1d unique_values unique_counts unique_all unique_inverse".split()
    )
    if name == "unique":
        names = ["return_index", "return_inverse", "return_counts"]
        options = {name: True for name in names if draw.chance(0.3)}
        axis = draw.pick([None, draw.axis(first.ndim)]) if kinds is INTEGERS else None
        return replace(call(name, [first], axis=axis, **options), traceable=False)
    if name.startswith("unique"):
        theirs = (
            (lambda x: np.sort(np.unique_values(x))) if name == "unique_values" else found(np, name)
        )  # in any order
        return replace(call(name, [first]), theirs=theirs, traceable=False)
    return replace(call(name, [first, second], promote=name != "setdiff1d"), traceable=False)


def composition(draw: Draw) -> Expression:
    """Several calls on integers, whose results are exact."""
    array, other = draw.array(["int32"], (3, 4)), draw.array(["int32"], (3, 4), 1, 4)
    steps = [
        draw.pick([
            lambda xp, x, y: x + y, lambda xp, x, y: x * y, lambda xp, x, y: x - 2 * y, lambda xp, x, y: xp.maximum(x, y),
            lambda xp, x, y: xp.cumsum(x, axis=1, dtype="int32"), lambda xp, x, y: xp.sort(x, axis=0), lambda xp, x, y: xp.flip(x, 1),
            lambda xp, x, y: xp.roll(x, 1, 0), lambda xp, x, y: xp.where(x > y, x, -x), lambda xp, x, y: x // y, lambda xp, x, y: x % y,
            lambda xp, x, y: x.T.reshape(3, 4), lambda xp, x, y: x ^ y, lambda xp, x, y: xp.take_along_axis(x, y % 3, 0),
            lambda xp, x, y: x - xp.max(x, axis=0, keepdims=True), lambda xp, x, y: x[::-1] + x[:, ::-1], lambda xp, x, y: x << 1,
        ])
        for _ in range(draw.integer(2, 6))
    ]  # fmt: skip

    def run(xp: Any, xs: list[Any]) -> Any:
        x, y = xp.asarray(xs[0]), xp.asarray(xs[1])
        for step in steps:
            x = step(xp, x, y)
        return x

    return listed("composition", run, [array, other])


FAMILIES = {
    f.__name__: f
    for f in (
        rearrangement, joining, padding, indexing, update, sorting, searching, sets, composition,
    )
}  # fmt: skip
