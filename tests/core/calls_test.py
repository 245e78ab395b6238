"""Messages of inner checks name the public function and the argument that the user gave."""

import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax

X = jnp.ones((2, 3))
CALLS = {
    "a function in Python": (lambda: jnp.moveaxis(X, "up", 0), "moveaxis: argument source: 'str'"),
    "a compiled one": (lambda: jnp.sum(X, axis=1.5), "sum: argument axis: 'float'"),
    "by keyword": (lambda: jnp.swapaxes(X, axis1=0, axis2="b"), "swapaxes: argument axis2: "),
    "one that another one stands behind": (lambda: jnp.cumsum(X, axis="a"), "cumsum: argument axis: "),
    "one that a maker made": (lambda: lax.reduce_sum(X, axes=("a",)), "reduce_sum: argument axes: "),
    "a shape": (lambda: jnp.zeros("ab"), "zeros: argument shape: Shapes must be 1D"),
    "a shape of a traced length": (
        lambda: arrax.jit(lambda n: jnp.ones((n, 2)))(3),
        r"got \(Traced<ShapedArray\(int32\[\], weak_type=True\)>with<DynamicJaxprTrace\(level=1/0\)>, 2\)\.",
    ),
    "a sampler's shape": (
        lambda: arrax.random.uniform(arrax.random.key(0), "a"),
        "^uniform: argument shape: Shapes must be 1D",
    ),
    "a dtype": (lambda: lax.convert_element_type(X, "floating64"), "convert_element_type: argument new_dtype: "),
    "something to call": (lambda: lax.map(3, X), "map: argument f: must be callable, got 3"),
    "an operand": (lambda: jnp.sin("a"), "Error interpreting argument x of sin, whose value is 'a'"),
    "an operand of a user's function": (
        lambda: arrax.jit(lambda tree, k: k)({"w": "text"}, 1),
        r"Error interpreting argument tree\['w'\] of <lambda>, whose value is 'text'. Arguments must be arrays",
    ),
    "in a function that is traced": (
        lambda: arrax.jit(lambda x: jnp.expand_dims(x, "a"))(X),
        "expand_dims: argument axis: ",
    ),
    "in a function that is mapped": (
        lambda: arrax.vmap(lambda x: jnp.tile(x, ["a"]))(X),
        "tile: argument reps: Shapes must be",
    ),
}


@pytest.mark.parametrize("call, message", CALLS.values(), ids=CALLS)
def test_messages_name_function_and_argument(call, message):
    with pytest.raises(TypeError, match=message):
        call()


def test_protocols_of_python_have_no_name_to_give():
    with pytest.raises(TypeError, match="^Only integer scalar arrays can be converted to a scalar index"):
        [1, 2][X]


def test_functions_that_others_make_carry_their_names_into_tracebacks():
    assert lax.sin.__wrapped__.__code__.co_name == lax.sin.__name__ == "sin"
