"""Types and operations of a library's own: at once, differentiated, in programs, and as arguments of these."""

from typing import NamedTuple

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.core.types import ShapedArray
from arrax.experimental import cur_qdd
from arrax.interpreters.high_operations import HiPrimitive
from arrax.interpreters.high_types import AvalQDD, HiType, MutableHiType
from arrax.numpy_api.high_values import register_hitype


class Pair:
    def __init__(self, first, second):
        self.first, self.second = first, second


class PairType(HiType):
    def __init__(self, aval):
        self.aval = aval

    def __eq__(self, other):
        return isinstance(other, PairType) and self.aval == other.aval

    def __hash__(self):
        return hash(self.aval)

    def str_short(self, short_dtypes=False):
        return "Pair"

    def lo_ty(self):
        return [self.aval, self.aval]

    def lower_val(self, pair):
        return [pair.first, pair.second]

    def raise_val(self, first, second):
        return Pair(first, second)


register_hitype(Pair, lambda pair: PairType(arrax.typeof(pair.first)))


class Join(HiPrimitive):
    def impl(self, first, second):
        return Pair(first, second)

    def abstract_eval(self, first, second):
        return PairType(first), set()


class Cube(HiPrimitive):
    def impl(self, x):
        return x * x * x

    def abstract_eval(self, x):
        return ShapedArray(x.shape, x.dtype), set()

    def jvp(self, primals, tangents):
        (x,), (t,) = primals, tangents
        return self.bind(x), 30 * x * x * t  # ten times too much, so that one sees that the rule is used


class Box:
    """A list of arrays that changes."""

    def __init__(self, *contents):
        self.contents = list(contents)

    def cur_qdd(self):
        return BoxState(tuple(map(arrax.typeof, self.contents)))

    def get(self):
        return get.bind(self)

    def set(self, *values):
        put.bind(self, *values)


class BoxState(NamedTuple):
    avals: tuple


class BoxType(MutableHiType):
    def __eq__(self, other):
        return isinstance(other, BoxType)

    def __hash__(self):
        return hash(BoxType)

    def lo_ty_qdd(self, state):
        return [aval for each in state.avals for aval in each.lo_ty()]

    def new_from_loval(self, state, *values):
        return Box(*values)

    def read_loval(self, state, box):
        return box.get()

    def update_from_loval(self, state, box, *values):
        box.set(*values)


register_hitype(Box, lambda box: BoxType())


class New(HiPrimitive):
    def impl(self, *values):
        return Box(*values)

    def abstract_eval(self, *avals):
        return AvalQDD(BoxType(), BoxState(avals)), set()


class Get(HiPrimitive):
    multiple_results = True

    def to_lojax(self, box):
        return list(box.contents)


class Put(HiPrimitive):
    multiple_results = True

    def to_lojax(self, box, *values):
        box.contents = list(values)
        return []


new, get, put = New("new"), Get("get"), Put("put")


def add(box, x):
    box.set(*(each + x for each in box.get()))
    return box.get()[0]


def content(box):
    return [float(each) for each in box.get()]


def test_operations_make_values_and_tell_their_types():
    pair = Join("join").bind(1.0, 2.0)
    assert pair.second == 2 and arrax.typeof(pair).str_short(True) == "Pair"
    assert cur_qdd(Box(jnp.ones(2))).avals[0].shape == (2,)


def test_methods_are_derivative_rules():
    cube = Cube("cube")
    assert arrax.grad(cube.bind)(np.float32(2)) == 120 and arrax.jvp(cube.bind, (2.0,), (1.0,)) == (8, 120)
    assert arrax.grad(arrax.jit(cube.bind))(2.0) == 120  # programs show such operations by name
    assert "cube" in str(arrax.make_jaxpr(cube.bind)(2.0)) and arrax.jit(cube.bind)(2.0) == 8


def test_programs_make_and_take_values():
    join = Join("join")
    assert arrax.jit(lambda x: join.bind(x, 2 * x).second)(1.0) == 2
    pair = arrax.jit(lambda pair, x: join.bind(pair.second, pair.first + x))(Pair(1.0, 2.0), 3.0)
    assert (float(pair.first), float(pair.second)) == (2, 4)


def test_programs_change_arguments_and_are_traced_once_for_a_state():
    traces = []

    @arrax.jit
    def f(box, x):
        traces.append(1)
        return add(box, x), box

    box, other = Box(1.0), Box(10.0)
    assert [float(f(each, 2.0)[0]) for each in (box, other, box)] == [3, 12, 5] and len(traces) == 1
    assert content(box) == [5] and content(other) == [12] and f(box, 0.0)[1] is box
    f(Box(1.0, 2.0), 1.0)
    assert len(traces) == 2


def test_programs_change_the_structure_of_arguments():
    box = Box()
    arrax.jit(lambda box, x: box.set(x, 2 * x))(box, 3.0)
    assert content(box) == [3, 6]


def test_one_object_that_is_passed_twice_stays_one():
    box = Box(1.0)

    def f(box, other):
        assert box is other
        box.set(5.0)
        return other.get()[0]

    assert arrax.jit(f)(box, box) == 5 and content(box) == [5]


def test_calls_change_what_they_close_over():
    box = Box(1.0)
    f = arrax.jit(lambda x: add(box, x))
    assert f(2.0) == 3 and f(2.0) == 5 and content(box) == [5]
    box.set(10.0)
    assert f(1.0) == 11 and cur_qdd(box).avals[0].shape == ()
    with pytest.raises(NotImplementedError, match="put: a value that a traced function closes over must keep its str"):
        box.set(jnp.ones(2))
    assert content(box) == [11]


LOOPS = {
    "scan": lambda box: arrax.lax.scan(lambda c, x: (c, add(box, x)), 0, jnp.ones(3)),
    "while": lambda box: arrax.lax.while_loop(lambda c: c < 3, lambda c: c + add(box, 1.0) * 0 + 1, 0.0),
    "cond": lambda box: arrax.lax.cond(jnp.array(True), lambda: add(box, 3.0), lambda: add(box, 1.0)),
    "jit": lambda box: arrax.jit(lambda x: add(box, x))(3.0),
}


@pytest.mark.parametrize("loop", LOOPS)
def test_loops_and_branches_change_what_they_close_over(loop):
    box = Box(1.0)
    LOOPS[loop](box)
    assert content(box) == [4]

    @arrax.jit
    def inside(x):
        made = new.bind(x)
        LOOPS[loop](made)
        return made.get()[0]

    @arrax.jit
    def of_argument(box):
        LOOPS[loop](box)

    assert inside(2.0) == 5 and inside(3.0) == 6
    of_argument(box)
    assert content(box) == [7]


def test_derivatives_pass_by_values_that_change():
    box = Box(1.0)

    def loss(x):
        box.set(arrax.lax.stop_gradient(3 * x))
        return x**2 * box.get()[0]

    assert arrax.jit(arrax.grad(loss))(2.0) == 24 and content(box) == [6]


def test_types_of_results_are_told_without_a_call():
    box = Box(1.0)
    assert arrax.eval_shape(add, box, jnp.ones(3)).shape == (3,) and content(box) == [1]


def swapped(pair, x):
    return Join("join").bind(pair.second, pair.first + x)


PASSED = {
    "cond": lambda pair, x: arrax.lax.cond(x > 0, swapped, lambda pair, x: pair, pair, x),
    "switch": lambda pair, x: arrax.lax.switch(1, [lambda pair, x: pair, swapped], pair, x),
    "scan": lambda pair, x: arrax.lax.scan(lambda pair, x: (swapped(pair, x), pair), pair, x[None])[0],
    "while": lambda pair, x: arrax.lax.while_loop(lambda pair: pair.first < 2, lambda pair: swapped(pair, x), pair),
    "fori": lambda pair, x: arrax.lax.fori_loop(0, 1, lambda i, pair: swapped(pair, x), pair),
}


@pytest.mark.parametrize("construct", PASSED)
def test_control_flow_takes_and_returns_values(construct):
    pair, x = Pair(jnp.float32(1), jnp.float32(2)), jnp.float32(3)
    got = PASSED[construct](pair, x)
    assert (float(got.first), float(got.second)) == (2, 4)

    def second(first):
        return PASSED[construct](Pair(first, 2 * first), 3 * first).second

    assert arrax.jit(arrax.jacfwd(second))(jnp.float32(1)) == 4


def test_values_are_scanned_over_and_stacked():
    pairs = Pair(jnp.arange(3.0), jnp.ones(3))
    last, seen = arrax.lax.scan(lambda c, pair: (c + pair.first, swapped(pair, c)), 0.0, pairs)
    assert last == 3 and seen.second.tolist() == [0, 1, 3] and seen.first.tolist() == [1, 1, 1]
    with arrax.disable_jit():
        seen = arrax.lax.scan(lambda c, pair: (c + pair.first, swapped(pair, c)), 0.0, pairs)[1]
    assert seen.second.tolist() == [0, 1, 3]


def test_control_flow_changes_the_values_that_it_takes():
    def f(box, x):
        arrax.lax.cond(x > 0, lambda box: add(box, x), lambda box: x, box)
        same, _ = arrax.lax.scan(lambda box, x: (box, add(box, x)), box, x * jnp.ones(2))
        assert same is box
        return arrax.lax.fori_loop(0, 2, lambda i, box: (add(box, x), box)[1], box)

    box = Box(1.0)
    assert f(box, jnp.float32(2)) is box and content(box) == [11]
    assert arrax.jit(f)(box, jnp.float32(1)) is box and content(box) == [16]


def test_branches_return_values_that_change_and_were_made_there():
    made = arrax.lax.cond(jnp.array(True), lambda x: new.bind(x), lambda x: new.bind(-x), 2.0)
    add(made, 1.0)
    assert content(made) == [3]
    assert arrax.jit(lambda x: add(arrax.lax.cond(x > 0, new.bind, lambda x: new.bind(-x), x), 1.0))(-3.0) == 4


def test_stages_of_compiling_take_values_and_change_them():
    box = Box(jnp.ones(2))
    lowered = arrax.jit(lambda box, x: (add(box, x), box)).lower(box, 2.0)
    ((types, x), _), out = lowered.in_avals, lowered.out_info
    assert [aval.shape for aval in types] == [(2,)] and x.shape == () and out[0].shape == (2,) and out[1] == BoxType()
    compiled = lowered.compile()
    got, same = compiled(box, 2.0)
    assert got.tolist() == [3, 3] and same is box and compiled(box, 1.0)[0].tolist() == [4, 4]
    assert content(Box(*box.get()[0])) == [4, 4]
    with pytest.raises(TypeError, match="was compiled for other values of types of a library's own"):
        compiled(Box(1.0), 2.0)


def test_programs_of_arrays_are_told_for_functions_of_values():
    box = Box(1.0)
    program, shape = arrax.make_jaxpr(add, return_shape=True)(box, jnp.ones(2))
    assert [aval.shape for aval in program.in_avals] == [(), (2,)] and shape.shape == (2,) and content(box) == [1]
    assert arrax.jit(add).trace(box, jnp.ones(2)).jaxpr.in_avals == program.in_avals


def test_what_takes_no_such_arguments_says_so():
    box = Box(1.0)
    with pytest.raises(NotImplementedError, match="export: 'add' takes arguments of types of a library's own"):
        arrax.export.export(arrax.jit(add))(box, 1.0)
    with pytest.raises(NotImplementedError, match="in_shardings and out_shardings cannot be given where arguments"):
        arrax.jit(add, out_shardings=arrax.sharding.SingleDeviceSharding(arrax.devices()[0]))(box, 1.0)


def test_values_stand_beside_shardings_that_are_all_left_open():
    box = Box(1.0)
    jitted = arrax.jit(lambda box, x: (add(box, x), [x]), in_shardings=(None, None), out_shardings=(None, [None]))
    assert [jitted(box, 2.0)[0].tolist() for _ in range(2)] == [3, 5] and content(box) == [5]


def test_operations_without_a_rule_are_refused_in_programs():
    class Nothing(HiPrimitive):
        def abstract_eval(self, x):
            return PairType(x), set()

    with pytest.raises(NotImplementedError, match="nothing: an operation on values of types of its own.*to_lojax"):
        arrax.jit(lambda x: Nothing("nothing").bind(x))(1.0)


def test_references_of_the_library_itself_stay_what_they_are():
    ref, box = arrax.new_ref(1.0), Box(1.0)
    held = Box(ref)

    @arrax.jit
    def f(x):
        held.get()[0][...] += add(box, x)

    f(2.0)
    assert ref[...] == 4 and held.get() == [ref] and content(box) == [3]
