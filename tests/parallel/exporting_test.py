"""Exported functions over several devices."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import export, lax
from arrax.sharding import NamedSharding
from arrax.sharding import PartitionSpec as P


def test_a_function_over_several_devices_is_called_over_as_many():
    mesh = arrax.make_mesh((4,), ("x",), devices=arrax.devices()[:4])
    rows, whole = NamedSharding(mesh, P("x")), NamedSharding(mesh, P())
    f = arrax.jit(lambda a, b: (jnp.sin(a) * b, a.sum()), in_shardings=(rows, whole), out_shardings=(rows, whole))
    x, y = np.arange(8, dtype=np.float32), np.float32(2)
    exported = export.export(f)(x, y)
    assert exported.nr_devices == 4 and str(exported.in_shardings_hlo[0]) == "{devices=[4]<=[4]}"
    assert exported.in_shardings_jax(mesh)[0] == rows
    assert exported.out_shardings_jax(mesh)[1].is_fully_replicated
    again = export.deserialize(exported.serialize(vjp_order=1))
    assert list(map(str, again.in_shardings_hlo)) == list(map(str, exported.in_shardings_hlo))
    a, b = arrax.device_put(x, rows), arrax.device_put(y, whole)
    for call in (again.call, arrax.jit(again.call)):
        out, total = call(a, b)
        np.testing.assert_allclose(out, 2 * np.sin(x), rtol=1e-6, atol=1e-6)
        assert total == 28 and len(out.sharding.device_set) == 4
    slope = arrax.jit(arrax.grad(lambda a, b: again.call(a, b)[0].sum()))(a, b)
    np.testing.assert_allclose(slope, 2 * np.cos(x), rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="was exported for 4 devices but it is used on 1"):
        again.call(x, y)


def test_a_function_for_one_device_is_called_over_several():
    def f(x):
        cut = lax.pad(x, np.float32(0), ((-1, 0, 0), (0, 0, 0)))
        return x.sum(0), jnp.cumsum(x, 0), lax.cumlogsumexp(x, 0), cut

    x = np.arange(32, dtype=np.float32).reshape(8, 4)
    exported = export.export(arrax.jit(f))(x)
    rows = NamedSharding(arrax.make_mesh((4,), ("x",), devices=arrax.devices()[:4]), P("x"))
    total, running, logs, cut = exported.call(arrax.device_put(x, rows))
    np.testing.assert_array_equal(total, x.sum(0))
    np.testing.assert_array_equal(running, x.cumsum(0))
    np.testing.assert_allclose(logs, np.logaddexp.accumulate(x, 0), rtol=1e-6)
    np.testing.assert_array_equal(cut, x[1:])


def test_arguments_are_laid_out_as_an_exported_function_takes_them():
    mesh = arrax.make_mesh((4, 2), ("x", "y"))
    rows, columns = NamedSharding(mesh, P("x")), NamedSharding(mesh, P(None, "y"))
    exported = export.export(arrax.jit(lambda x: x * 2, in_shardings=rows))(arrax.ShapeDtypeStruct((8, 8), np.float32))
    for call in (exported.call, arrax.jit(exported.call)):
        found = call(arrax.device_put(np.ones((8, 8), np.float32), columns))
        assert found.sharding.is_equivalent_to(rows, 2) and np.array_equal(found, np.full((8, 8), 2))


def test_loops_run_over_the_mesh_that_an_exported_function_inside_needs():
    with arrax.set_mesh(arrax.make_mesh((8,), ("x",))):
        exported = export.export(arrax.jit(lambda x: x * 2))(arrax.ShapeDtypeStruct((4,), np.float32))
        last, totals = lax.scan(lambda c, x: (exported.call(c), c.sum()), jnp.ones(4), jnp.arange(3.0))
        done = lax.while_loop(lambda c: c[0] < 5, exported.call, jnp.ones(4))
    assert exported.nr_devices == 8 and np.array_equal(last, np.full(4, 8)) and totals.tolist() == [4, 8, 16]
    assert np.array_equal(done, np.full(4, 8)) and done.sharding.is_fully_replicated


@pytest.mark.parametrize("kind", ["auto", "explicit"])
def test_the_derivative_of_an_exported_function_runs_over_its_devices(kind):
    mesh = arrax.make_mesh((8,), ("x",), arrax.sharding.AxisType[kind.capitalize()])
    placed = arrax.ShapeDtypeStruct((8,), np.float32, sharding=NamedSharding(mesh, P("x")))
    exported = export.export(arrax.jit(jnp.sin))(placed)
    derivative = exported.vjp()
    assert derivative.nr_devices == 8 and derivative.out_avals == exported.in_avals
    assert str(derivative.in_shardings_hlo[0]) == "{devices=[8]<=[8]}"


def test_a_function_that_is_exported_under_a_mesh_has_derivatives():
    with arrax.set_mesh(arrax.make_mesh((4,), ("x",), devices=arrax.devices()[:4])):
        x = arrax.device_put(np.arange(8, dtype=np.float32), P("x"))
        exported = export.export(arrax.jit(lambda x: x * x))(arrax.ShapeDtypeStruct(x.shape, x.dtype))
        for place in (x, np.arange(8, dtype=np.float32)):  # what is bound nowhere lies over the mesh
            np.testing.assert_array_equal(exported.call(place), np.arange(8) ** 2)
            np.testing.assert_array_equal(arrax.grad(lambda x: exported.call(x).sum())(place), 2 * np.arange(8))
