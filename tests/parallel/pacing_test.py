"""Calls that are started faster than they end: without pauses the runtime would wait for itself and end the process."""

import numpy as np

import arrax
import arrax.numpy as jnp
from arrax.sharding import NamedSharding
from arrax.sharding import PartitionSpec as P


def a_grid():
    mesh = arrax.make_mesh((4, 2), ("x", "y"))
    return arrax.device_put(np.ones((8, 8), np.float32), NamedSharding(mesh, P("x", "y")))


def test_many_calls_can_wait_for_each_other():
    grid = a_grid()
    total = arrax.jit(jnp.sum)
    results = [total(grid) for _ in range(200)]
    assert {float(result) for result in results} == {64.0}


def test_calls_through_python_too():
    grid = a_grid()
    total = arrax.jit(lambda x: {"sum": x.sum()}).lower(grid).compile()
    results = [total(grid) for _ in range(200)]
    assert {float(result["sum"]) for result in results} == {64.0}


def test_programs_without_results_pass():
    grid = a_grid()
    nothing, total = arrax.jit(lambda x: None), arrax.jit(lambda x: [x.sum(), x])
    for _ in range(40):
        assert nothing(grid) is None
        assert total(grid)[0].shape == ()
