"""Types and operations of a library's own: at once, differentiated, and refused in programs."""

import numpy as np
import pytest

import arrax
from arrax.core.types import ShapedArray
from arrax.experimental import cur_qdd
from arrax.interpreters.high_types import HiPrimitive, HiType, register_hitype


class Pair:
    def __init__(self, first, second):
        self.first, self.second = first, second

    def cur_qdd(self):
        return self.second


class PairType(HiType):
    def str_short(self, short_dtypes=False):
        return "Pair"


register_hitype(Pair, lambda pair: PairType())


class Join(HiPrimitive):
    def impl(self, first, second):
        return Pair(first, second)

    def abstract_eval(self, first, second):
        return PairType(), set()


class Cube(HiPrimitive):
    def impl(self, x):
        return x * x * x

    def abstract_eval(self, x):
        return ShapedArray(x.shape, x.dtype), set()

    def jvp(self, primals, tangents):
        (x,), (t,) = primals, tangents
        return self.bind(x), 3 * x * x * t


def test_operations_make_values_and_tell_their_types():
    pair = Join("join").bind(1.0, 2.0)
    assert pair.second == 2 and arrax.typeof(pair).str_short(True) == "Pair" and cur_qdd(pair) == 2


def test_methods_are_derivative_rules():
    cube = Cube("cube")
    assert arrax.grad(cube.bind)(np.float32(2)) == 12 and arrax.jvp(cube.bind, (2.0,), (1.0,)) == (8, 12)


def test_programs_refuse_them():
    with pytest.raises(NotImplementedError, match="join: an operation on values of types of its own"):
        arrax.jit(lambda x: Join("join").bind(x, x).first)(1.0)
