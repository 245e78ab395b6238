"""Operations whose rules are methods of a class: at once, in programs, differentiated in both directions, mapped."""

import dataclasses

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.core.types import ShapedArray, Zero
from arrax.interpreters.high_types import HiType
from arrax.lax.high_calls import VJPHiPrimitive
from arrax.numpy_api.high_values import register_hitype


class Product(VJPHiPrimitive):
    """x["x"] * y and x["x"] + x["n"]; its derivatives are ten (backwards) and a hundred (forwards) times too much."""

    def __init__(self, x, n, scale=1.0):
        self.in_avals = ({"x": x, "n": n}, x)
        self.out_aval = {"product": x, "sum": x}
        self.params = {"scale": scale}
        super().__init__()

    def expand(self, x, y):
        return {"product": self.scale * x["x"] * y, "sum": x["x"] + x["n"]}

    def vjp_fwd(self, nzs_in, x, y):
        assert nzs_in[0]["n"] is False
        return self(x, y), (x, y)

    def vjp_bwd_retval(self, res, ct):
        x, y = res
        assert isinstance(ct["sum"], Zero)
        return {"x": 10 * y * ct["product"], "n": None}, 10 * x["x"] * ct["product"]

    def jvp(self, primals, tangents):
        (x, y), (tx, ty) = primals, tangents
        pairs = ((tx["x"], y), (ty, x["x"]))
        t = 100 * sum(t * other for t, other in pairs if not isinstance(t, Zero))
        return self(x, y), {"product": t, "sum": tx["x"]}

    def batch_dim_rule(self, axis_data, dims):
        return {"product": 0, "sum": dims[0]["x"]}


def product(x, y=3.0, n=2):
    return Product(arrax.typeof(jnp.asarray(x)), arrax.typeof(jnp.asarray(n)))({"x": x, "n": n}, y)["product"]


class Sine(VJPHiPrimitive):
    def __init__(self):
        self.in_avals, self.out_aval, self.params = (arrax.typeof(jnp.float32(0)),), arrax.typeof(jnp.float32(0)), {}
        super().__init__()

    def expand(self, x):
        return jnp.sin(x)


def test_calls_do_what_their_class_says_and_programs_show_them_as_one_operation():
    assert product(2.0) == 6 and arrax.jit(product)(2.0) == 6
    text = str(arrax.make_jaxpr(product)(np.float32(2)))
    assert "call_hi_primitive[_prim=Product[{'scale': 1.0}]]" in text and " mul" not in text
    assert Sine() == Sine() and hash(Sine()) == hash(Sine()) and repr(Sine()) == "Sine[{}]"


DERIVATIVES = {  # what is taken: the slope of the product in x at y = 3
    "grad": (lambda: arrax.grad(product)(2.0), 30),
    "grad of jit": (lambda: arrax.grad(arrax.jit(product))(2.0), 30),
    "jit of grad": (lambda: arrax.jit(arrax.grad(product))(2.0), 30),
    "jvp": (lambda: arrax.jvp(product, (2.0,), (1.0,))[1], 300),
    "jvp of jit": (lambda: arrax.jvp(arrax.jit(product), (2.0,), (1.0,))[1], 300),
    "linearize": (lambda: arrax.linearize(product, 2.0)[1](1.0), 300),
    "checkpoint": (lambda: arrax.grad(arrax.checkpoint(product))(2.0), 30),
    "forwards over backwards": (lambda: arrax.jvp(lambda y: arrax.grad(product)(2.0, y), (3.0,), (1.0,))[1], 10),
    "backwards over forwards": (lambda: arrax.grad(lambda y: arrax.jvp(lambda x: product(x, y), (2.0,), (1.0,))[1])(3.0), 100),
    "loop": (lambda: arrax.grad(lambda x: arrax.lax.scan(lambda c, _: (product(c), None), x, length=2)[0])(2.0), 900),
}  # fmt: skip


@pytest.mark.parametrize("case", DERIVATIVES)
def test_derivatives_are_those_of_the_direction_in_which_they_are_taken(case):
    derivative, expected = DERIVATIVES[case]
    assert derivative() == expected


MAPPED = {  # of the numbers 1 and 2, by y = 3
    "vmap": (lambda x: arrax.vmap(product)(x), [3, 6]),
    "vmap of both": (lambda x: arrax.vmap(product)(x, x), [1, 4]),
    "twice": (lambda x: arrax.vmap(lambda a: arrax.vmap(lambda b: product(a, b))(x))(x), [[1, 2], [2, 4]]),
    "grad": (lambda x: arrax.grad(lambda x: arrax.vmap(product)(x).sum())(x), [30, 30]),
    "grad of what is the same for all": (lambda x: arrax.grad(lambda y: arrax.vmap(lambda x: product(x, y))(x).sum())(3.0), 30),
    "vmap of grad": (lambda x: arrax.vmap(arrax.grad(product))(x), [30, 30]),
    "jvp": (lambda x: arrax.jvp(arrax.vmap(product), (x,), (x,))[1], [300, 600]),
    "vmap of jvp": (lambda x: arrax.vmap(lambda x: arrax.jvp(product, (x,), (x,))[1])(x), [300, 600]),
    "jacfwd": (lambda x: arrax.jacfwd(product)(x[0]), 300),
}  # fmt: skip


@pytest.mark.parametrize("case", MAPPED)
def test_rules_for_batch_axes_map_the_other_rules(case):
    mapped, expected = MAPPED[case]
    np.testing.assert_array_equal(mapped(jnp.array([1.0, 2.0])), expected)


def test_rules_of_a_batch_and_of_accumulated_cotangents_are_used():
    class Mine(Sine):
        def batch(self, axis_data, args, dims):
            return jnp.full(axis_data.size, 7.0), dims[0]

        def vjp_fwd(self, nzs_in, x):
            return self(x), None

        def vjp_bwd(self, res, ct, x):
            x.accum(ct)
            x.accum(3 * ct)
            x.accum(None)

    assert arrax.vmap(Mine())(jnp.ones(2, np.float32)).tolist() == [7, 7]
    assert arrax.grad(Mine())(np.float32(1)) == 4 and arrax.vmap(arrax.grad(Mine()))(jnp.ones(1)).item() == 4
    with pytest.raises(NotImplementedError, match="forward-mode differentiation of Mine needs the method jvp"):
        arrax.jvp(Mine(), (np.float32(1),), (np.float32(1),))


def test_linear_operations_have_transposes_and_linearized_forms():
    class Triple(Sine):
        def expand(self, x):
            return 3 * x

        def lin(self, nzs_in, x):
            return self(x), 50

        def linearized(self, residuals, t):
            return residuals * self(t)

        def transpose(self, ct, x):
            x.accum(5 * ct)

    assert arrax.linear_transpose(Triple(), np.float32(1))(np.float32(1)) == (5,)
    assert arrax.jvp(Triple(), (np.float32(1),), (np.float32(1),)) == (3, 150)
    assert arrax.grad(Triple())(np.float32(1)) == 250


REFUSED = {
    "differentiation of Sine needs the method vjp_fwd, or jvp": lambda: arrax.grad(Sine())(1.0),
    "vmap of Sine needs the method batch or batch_dim_rule": lambda: arrax.vmap(Sine())(jnp.ones(2)),
    "in_avals has the structure": lambda: Sine()(1.0, 2.0),
    "Half.__init__ must set out_aval before": lambda: type("Half", (VJPHiPrimitive,), {"in_avals": ()})(),
    "Sine.expand: a result is f32\\[2\\], but out_aval says f32\\[\\]": lambda: arrax.jit(Sine())(jnp.ones(2)),
    "Sine.expand: out_aval has the structure": lambda: type("Sine", (Sine,), {"expand": lambda self, x: (x, x)})()(1.0),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_missing_or_wrong_is_named(message):
    with pytest.raises((NotImplementedError, TypeError, AttributeError), match=message):
        REFUSED[message]()


def test_cotangents_of_other_shapes_are_refused():
    class Wrong(Sine):
        def vjp_fwd(self, nzs_in, x):
            return self(x), None

        def vjp_bwd_retval(self, res, ct):
            return (jnp.ones(3),)

    with pytest.raises(
        ValueError, match=r"Wrong.vjp_bwd_retval: a cotangent has the shape \(3,\), but its operand has \(\)"
    ):
        arrax.grad(Wrong())(1.0)


class Tenths:
    """Numbers as integers of tenths."""

    def __init__(self, tenths):
        self.tenths = tenths


@dataclasses.dataclass(frozen=True)
class TenthsType(HiType):
    shape: tuple

    def lo_ty(self):
        return [ShapedArray(self.shape, np.dtype(np.int8))]

    def lower_val(self, value):
        return [value.tenths]

    def raise_val(self, tenths):
        return Tenths(tenths)

    def to_tangent_aval(self):
        return ShapedArray(self.shape, np.dtype(np.float32))


register_hitype(Tenths, lambda value: TenthsType(value.tenths.shape))


class Rounded(VJPHiPrimitive):
    """From numbers to tenths or back; the derivative is that of a function that does not round."""

    def __init__(self, aval):
        to = TenthsType(aval.shape) if isinstance(aval, ShapedArray) else aval.to_tangent_aval()
        self.in_avals, self.out_aval, self.params = (aval,), to, {}
        super().__init__()

    def expand(self, x):
        if isinstance(x, Tenths):
            return x.tenths.astype(np.float32) / 10
        return Tenths(jnp.round(10 * x).astype(np.int8))

    def vjp_fwd(self, nzs_in, x):
        return self(x), None

    def vjp_bwd_retval(self, res, ct):
        return (ct,)


def rounded(x):
    tenths = Rounded(arrax.typeof(x))(x)
    return Rounded(arrax.typeof(tenths))(tenths)


def test_values_of_types_of_a_library_s_own_are_differentiated_by_the_rules():
    x = jnp.array([0.26, 0.5])
    np.testing.assert_array_equal(rounded(x), np.array([3, 5], np.float32) / 10)
    np.testing.assert_array_equal(arrax.jit(rounded)(x), rounded(x))

    def loss(x):
        return (arrax.jit(rounded)(x) * jnp.arange(1.0, 3)).sum()

    for slope in (arrax.grad(loss), arrax.jit(arrax.grad(loss))):  # by way of a program and within one
        np.testing.assert_array_equal(slope(x), [1, 2])
    out, pullback = arrax.vjp(lambda t: Rounded(arrax.typeof(t))(t), Tenths(jnp.array([5], np.int8)))
    assert out.tolist() == [0.5] and pullback(out)[0].tolist() == [0.5]


def test_programs_that_do_not_hold_the_rules_are_not_differentiated():
    def loop(x):
        return arrax.lax.scan(lambda c, _: (rounded(c), None), x, length=2)[0].sum()

    assert loop(jnp.array([0.26])) == np.float32(0.3)
    with pytest.raises(
        NotImplementedError, match="Rounded: a program in which it has operands or results of types of a lib"
    ):
        arrax.grad(loop)(jnp.array([0.26]))
