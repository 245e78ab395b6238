"""Extended dtypes with rules of libraries: conversions, what moves elements, sums of gradients, and values outside of programs."""

import dataclasses
import functools
import pickle
from typing import Any

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import dtypes, lax
from arrax.core import ShapedArray
from arrax.dtypes import ExtendedDType
from arrax.experimental import EArray, primal_tangent_dtype

X = np.arange(6, dtype=np.float32).reshape(2, 3)


class LargestRules:
    """Numbers whose gradients are the largest of the terms, not their sum."""

    @staticmethod
    def physical_element_aval(dtype):
        return ShapedArray((), dtype.number)

    @staticmethod
    def convert_from(dtype, other):
        return dtype.number == other

    @staticmethod
    def convert_to(other, dtype):
        return dtype.number == other

    @staticmethod
    def tangent_dtype(dtype):
        return dtype

    @staticmethod
    def add(dtype, x, y):
        pair = [lax.convert_element_type(each, dtype.number) for each in (x, y)]
        return lax.convert_element_type(lax.max(*pair), dtype)

    @staticmethod
    def zero(dtype):
        return lax.convert_element_type(np.array(-np.inf, dtype.number), dtype)

    @staticmethod
    def full(shape, value, dtype):
        return lax.convert_element_type(lax.full(shape, value, dtype.number), dtype)


class largest(dtypes.extended):
    pass


@dataclasses.dataclass(frozen=True)
class Largest(ExtendedDType):
    number: Any
    _rules: type = LargestRules
    type: type = largest

    def __repr__(self):
        return f"largest{np.dtype(self.number).itemsize * 8}"

    name = property(__repr__)


LARGEST = Largest(np.dtype(np.float32))
SHORT = primal_tangent_dtype("int8", "float32")


def raw(values):
    return np.asarray(lax.convert_element_type(values, np.float32))


def extended(values=X):
    return lax.convert_element_type(values, LARGEST)


# fmt: off
MOVES = {  # what moves elements, of arrax's arrays and of NumPy's
    "reshape": lambda np, x: x.reshape(3, 2), "transpose": lambda np, x: x.T, "row": lambda np, x: x[1],
    "slice": lambda np, x: x[:, 1:], "indices": lambda np, x: x[np.array([1, 0, 1])], "stack": lambda np, x: np.stack([x, x]),
    "concatenate": lambda np, x: np.concatenate([x, x], 1), "broadcast": lambda np, x: np.broadcast_to(x, (2, 2, 3)),
    "where": lambda np, x: np.where(np.array([True, False, True]), x, x[::-1]), "squeeze": lambda np, x: x[:1].squeeze(0),
    "repeat": lambda np, x: np.repeat(x, 2, 0),
}
# fmt: on


@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_elements_move_as_those_of_numpy(move):
    assert LARGEST.kind == "V"  # which tells code that asks for kinds that these are no numbers
    wanted = move(np, X)
    for function in (functools.partial(move, jnp), arrax.jit(functools.partial(move, jnp))):
        found = function(extended())
        assert found.dtype == LARGEST and found.shape == wanted.shape
        np.testing.assert_array_equal(raw(found), wanted)


def test_updates_padding_and_filling_move_elements():
    x = extended()
    np.testing.assert_array_equal(raw(x.at[0].set(x[1])), X[[1, 1]])
    np.testing.assert_array_equal(raw(lax.dynamic_slice(x, (0, 1), (2, 2))), X[:, 1:])
    np.testing.assert_array_equal(raw(lax.dynamic_update_slice(x, x[:1], (1, 0))), X[[0, 0]])
    np.testing.assert_array_equal(raw(lax.pad(x, x[0, 2], [(1, 0, 0), (0, 0, 0)])), np.r_[[[2.0] * 3], X])
    np.testing.assert_array_equal(raw(jnp.full((2,), 3.0, LARGEST)), [3, 3])
    np.testing.assert_array_equal(raw(jnp.zeros_like(x)), 0 * X)
    np.testing.assert_array_equal(x == x, X == X)
    assert raw(lax.scan(lambda c, row: (row, c), x[0], x)[1]).tolist() == X[[0, 0]].tolist()


def test_conversions_are_those_that_the_rules_allow():
    assert (
        extended().dtype is LARGEST
        and dtypes.issubdtype(LARGEST, largest)
        and dtypes.issubdtype(LARGEST, dtypes.extended)
    )
    np.testing.assert_array_equal(arrax.vmap(lambda row: lax.convert_element_type(row, np.float32))(extended()), X)
    with pytest.raises(
        ValueError, match="values of dtype int32 are not converted to largest32, which is stored as float32"
    ):
        lax.convert_element_type(jnp.arange(3), LARGEST)
    with pytest.raises(
        ValueError, match="values of dtype largest32, which are stored as float32, are not converted to int32"
    ):
        lax.convert_element_type(extended(), np.int32)
    with pytest.raises(ValueError, match="Cannot convert_element_type from key<fry>"):
        lax.convert_element_type(arrax.random.key(0), np.uint32)
    with pytest.raises(TypeError, match="add does not accept dtype largest32"):
        extended() + extended()


def test_gradients_are_summed_by_the_rules():
    @arrax.custom_vjp
    def use(x, scale, slope):
        return x

    use.defvjp(lambda x, scale, slope: (x, slope), lambda slope, g: (g, lax.convert_element_type(slope, LARGEST), 0.0))

    def several(x, scale):
        scale = lax.convert_element_type(scale, LARGEST)
        for slope in (3.0, 7.0, 5.0):
            x = use(x, scale, slope)
        return x

    for function in (arrax.grad(several, 1), arrax.jit(arrax.grad(several, 1))):
        assert function(1.0, 2.0) == 7

    def loop(x, scale):
        scale = lax.convert_element_type(scale, LARGEST)
        return lax.scan(lambda x, slope: (use(x, scale, slope), None), x, jnp.array([3.0, 7.0, 5.0]))[0]

    assert arrax.grad(loop, 1)(1.0, 2.0) == 7
    assert raw(arrax.grad(lambda s: use(1.0, s, 4.0))(extended(2.0))) == 4
    out, tangent = arrax.jvp(lambda s: s.reshape(3, 2), (extended(),), (extended(-X),))
    np.testing.assert_array_equal(raw(tangent), -X.reshape(3, 2))


def test_values_may_have_tangents_of_another_dtype():
    @arrax.custom_vjp
    def numbers(w):
        return lax.convert_element_type(w, np.int8).astype(np.float32)

    numbers.defvjp(lambda w: (numbers(w), None), lambda _, g: (3 * g,))
    w = lax.convert_element_type(np.arange(3, dtype=np.int8), SHORT)
    value, slope = arrax.jit(arrax.value_and_grad(lambda w: (numbers(w) * numbers(w)).sum()))(w)
    assert value == 5 and slope.dtype == np.float32
    np.testing.assert_array_equal(slope, 6 * np.arange(3))
    assert w.aval.to_tangent_aval() == ShapedArray((3,), np.float32)
    flows_nothing = arrax.grad(lambda w: lax.convert_element_type(w, np.int8).astype(np.float32).sum())(w)
    np.testing.assert_array_equal(flows_nothing, np.zeros(3))
    bfloat = primal_tangent_dtype(jnp.bfloat16, np.float32)

    def through(x):  # to the dtype and back: the slope takes the dtype of tangents in between
        return lax.convert_element_type(lax.convert_element_type(x, bfloat), jnp.bfloat16).astype(np.float32)

    assert arrax.grad(through)(jnp.bfloat16(2)).dtype == jnp.bfloat16


def test_dtypes_of_the_same_parts_are_equal():
    assert SHORT == primal_tangent_dtype(np.int8, np.float32) and hash(SHORT) == hash(pickle.loads(pickle.dumps(SHORT)))
    assert SHORT != primal_tangent_dtype("int8", "float32", name="mine") and SHORT != LARGEST
    assert (
        repr(SHORT) == "PrimalTangentDType{i8/f32}" and repr(primal_tangent_dtype("int8", "bfloat16", "mine")) == "mine"
    )


def test_arrays_outside_of_programs():
    x = extended()
    assert type(x) is EArray and x.nbytes == 24 and x.itemsize == 4 and len(x) == 2 and x.ndim == 2 and x.size == 6
    assert x.devices() == {arrax.devices()[0]} and not x.is_deleted() and x.block_until_ready() is x
    assert raw(arrax.device_put(x, arrax.devices()[0])).tolist() == X.tolist()
    assert "largest32" in repr(x) and arrax.tree.leaves((x,)) == [x]
    again = arrax.jit(lambda x: x)
    assert raw(again(again(x))).tolist() == X.tolist()
    with pytest.raises(TypeError, match="have no form in NumPy"):
        np.asarray(x)
    with pytest.raises(TypeError, match="stored in an array of float32 of shape"):
        EArray(ShapedArray((2,), LARGEST), jnp.ones(3))
