"""Classes of users that are registered as arrays."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.interpreters import xla


class Variable:
    """Holds an array, which may be replaced."""

    def __init__(self, value):
        self.value = np.asarray(value)

    shape = property(lambda self: self.value.shape)
    dtype = property(lambda self: self.value.dtype)

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.value, dtype)


arrax.core.pytype_aval_mappings[Variable] = arrax.core.pytype_aval_mappings[np.ndarray]
xla.canonicalize_dtype_handlers[Variable] = xla.canonicalize_dtype_handlers[np.ndarray]

FUNCTIONS = {
    "a function of numpy": jnp.sin,
    "an operation": lambda x: lax.mul(x, x),
    "an operator": lambda x: jnp.ones(3) * x,
    "a compiled function": arrax.jit(lambda x: x + 1),
    "a gradient": arrax.grad(lambda x: jnp.sum(x**2)),
    "a mapped function": arrax.vmap(lambda x: x * 2),
    "a constant of a program": lambda x: arrax.jit(lambda y: y + x)(1.0),
    "an array of it": lambda x: jnp.array([x, x]),
    "a branch": lambda x: lax.cond(True, lambda y: y + 1, lambda y: y - 1, x),
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_values_of_a_registered_class_are_what_their_array_is(function):
    value = np.arange(3.0, dtype=np.float32)
    np.testing.assert_array_equal(function(Variable(value)), function(jnp.asarray(value)))


def test_the_type_of_a_registered_value_is_that_of_its_array():
    assert arrax.typeof(Variable(np.arange(3))) == arrax.typeof(jnp.arange(3))


def test_values_of_other_classes_are_refused():
    class Unknown:
        def __array__(self, dtype=None, copy=None):
            return np.arange(3.0)

    with pytest.raises(TypeError, match="Unknown"):
        lax.sin(Unknown())
