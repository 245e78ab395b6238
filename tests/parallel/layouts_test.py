"""Orders of axes in memory: results have those that are asked for, and whoever takes such an array sees the same values."""

import copy
import pickle

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.experimental.layout import Format, Layout, with_layout_constraint
from arrax.sharding import ManualAxisType, Mesh, NamedSharding, SingleDeviceSharding
from arrax.sharding import PartitionSpec as P

VALUES = np.arange(32, dtype=np.float32).reshape(8, 4)
COLUMNS = Layout((1, 0))


def one(number=0):
    return SingleDeviceSharding(arrax.devices()[number])


def over(*spec):
    return NamedSharding(Mesh(np.array(arrax.devices()).reshape(4, 2), ("x", "y")), P(*spec))


def order(array):
    return array.format.layout.major_to_minor


def by_columns(sharding=None):
    return arrax.device_put(VALUES, Format(COLUMNS, sharding or one()))


# fmt: off
USES = {  # of an array, and what NumPy makes of its values
    "an operation": (lambda x: x + 1, lambda x: x + 1), "two arrays": (lambda x: x + VALUES, lambda x: x + x),
    "a product": (lambda x: x @ x.T, lambda x: x @ x.T), "a row": (lambda x: x[1], lambda x: x[1]),
    "a column": (lambda x: x[:, 1], lambda x: x[:, 1]), "the transposed": (lambda x: x.T, lambda x: x.T),
    "a sum": (lambda x: x.sum(0), lambda x: x.sum(0)), "an update": (lambda x: x.at[0].set(1), lambda x: np.r_[np.ones((1, 4)), x[1:]]),
    "a stack": (lambda x: jnp.stack([x, x]), lambda x: np.stack([x, x])), "jit": (arrax.jit(lambda x: x * 2), lambda x: x * 2),
    "scan": (lambda x: lax.scan(lambda c, r: (c + r, c), jnp.zeros(4), x)[0], lambda x: x.sum(0)),
    "vmap": (arrax.vmap(jnp.sum), lambda x: x.sum(1)), "grad": (arrax.grad(lambda x: (x**2).sum()), lambda x: 2 * x),
    "a callback": (lambda x: arrax.pure_callback(lambda x: np.asarray(x) * 2, x, x), lambda x: 2 * x),
    "a copy": (copy.deepcopy, lambda x: x), "a pickle": (lambda x: pickle.loads(pickle.dumps(x)), lambda x: x),
    "another device": (lambda x: arrax.device_put(x, arrax.devices()[3]), lambda x: x),
    "many devices": (lambda x: arrax.device_put(x, over("y", "x")), lambda x: x),
    "dlpack": (np.from_dlpack, lambda x: x), "the host": (arrax.device_get, lambda x: x),
    "donation": (lambda x: arrax.jit(lambda x: x * 2, donate_argnums=0)(x), lambda x: 2 * x),
    "a map over devices": (lambda x: arrax.pmap(lambda r: r * 2)(arrax.device_put(x, one(1))), lambda x: 2 * x),
}
# fmt: on


@pytest.mark.parametrize("use", USES)
def test_values_do_not_depend_on_the_order_in_memory(use):
    function, expected = USES[use]
    for _ in range(2):  # the second call may be repeated by C++
        np.testing.assert_allclose(function(by_columns()), expected(VALUES))


def test_arrays_of_both_orders_pass_through_one_compiled_function():
    double = arrax.jit(lambda x: x * 2)
    plain = jnp.asarray(VALUES)
    for x in (plain, by_columns(), plain, by_columns(), by_columns(over("x")), arrax.device_put(VALUES, over("x"))):
        assert np.array_equal(double(x), 2 * VALUES)


@pytest.mark.parametrize("place", ["one device", "a mesh"])
def test_programs_take_and_give_the_orders_that_were_asked_for(place):
    ins, outs = (one(), one()) if place == "one device" else (over("x"), over("x", "y"))
    double = arrax.jit(lambda x: x * 2, in_shardings=Format(COLUMNS, ins), out_shardings=Format(COLUMNS, outs))
    given = [VALUES, jnp.asarray(VALUES), by_columns(ins), by_columns(ins), arrax.device_put(VALUES, ins)]
    for x in given:
        out = double(x)
        assert order(out) == (1, 0) and out.sharding == outs and np.array_equal(out, 2 * VALUES)
    compiled = double.lower(VALUES).compile()
    assert compiled.input_formats == ((Format(COLUMNS, ins),), {}) and compiled.output_formats == Format(COLUMNS, outs)
    assert np.array_equal(compiled(by_columns(ins)), 2 * VALUES) and np.array_equal(compiled(VALUES), 2 * VALUES)


def test_a_donated_array_in_another_order_is_taken():
    x = by_columns()
    double = arrax.jit(
        lambda x: x * 2, donate_argnums=0, in_shardings=Format(COLUMNS, one()), out_shardings=Format(COLUMNS, one())
    )
    assert np.array_equal(double(x), 2 * VALUES) and x.is_deleted()
    assert x.format == Format(None, one())


def test_constraints_hold_for_results():
    assert order(with_layout_constraint(jnp.asarray(VALUES), COLUMNS)) == (1, 0)
    constrained = arrax.jit(lambda x: {"a": with_layout_constraint(x * 2, COLUMNS), "b": x})
    out = constrained(VALUES)
    assert order(out["a"]) == (1, 0) and order(out["b"]) == (0, 1) and np.array_equal(out["a"], 2 * VALUES)
    batch = arrax.vmap(lambda x: with_layout_constraint(x, COLUMNS))(jnp.ones((3, 2, 4)))
    assert order(batch) == (0, 2, 1) and batch.shape == (3, 2, 4)
    assert np.array_equal(arrax.grad(lambda x: (with_layout_constraint(x, COLUMNS) ** 2).sum())(VALUES), 2 * VALUES)
    tangent = arrax.jvp(lambda x: with_layout_constraint(x, COLUMNS) * 2, (VALUES,), (VALUES,))[1]
    assert np.array_equal(tangent, 2 * VALUES)


def test_described_arrays_have_orders():
    described = arrax.ShapeDtypeStruct((8, 4), np.float32, sharding=Format(COLUMNS, one()))
    compiled = arrax.jit(lambda x: x * 2).lower(described).compile()
    assert (
        compiled.input_formats[0][0].layout == COLUMNS and described.sharding == one() and "(1, 0)" in repr(described)
    )
    assert np.array_equal(compiled(by_columns()), 2 * VALUES)


@pytest.mark.parametrize(
    "make",
    [
        lambda: arrax.device_put(VALUES, Format(Layout((0, 1, 2)), one())),
        lambda: arrax.jit(lambda x: x, in_shardings=Format(Layout((0, 0)), one()))(VALUES),
        lambda: arrax.jit(lambda x: x, out_shardings=Format(Layout((1,)), one()))(VALUES),
        lambda: with_layout_constraint(VALUES, Layout((0, 2))),
        lambda: Format(COLUMNS),
    ],
)
def test_what_does_not_fit_is_refused(make):
    with pytest.raises(ValueError, match="layout|Layout"):
        make()


def test_constraints_may_ask_for_an_order_of_axes():
    asked = Format(COLUMNS, over("x"))
    for constrain in (
        lax.with_sharding_constraint,
        arrax.jit(lambda x, f: lax.with_sharding_constraint(x, f), static_argnums=1),
    ):
        out = constrain(VALUES, asked)
        assert order(out) == (1, 0) and out.sharding.is_equivalent_to(over("x"), 2) and np.array_equal(out, VALUES)


def test_descriptions_are_leaves_of_trees():
    compiled = arrax.jit(lambda x: x).lower(VALUES).compile()
    assert arrax.tree.leaves(arrax.tree.map(lambda form: form.layout, compiled.input_formats)) == [Layout((0, 1))]
    assert [info.donated for info in arrax.tree.leaves(compiled.args_info)] == [False]
    varying = ManualAxisType(varying=frozenset({"x"}))
    assert arrax.tree.leaves(varying) == [varying]
