"""float0, the dtype of tangents of integers: an ordinary dtype but for arithmetic, always on the host."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax

float0 = arrax.dtypes.float0
Z = np.zeros((2,), float0)

# fmt: off
SHAPES = {  # what gives float0 values, and their shape
    "zeros":        (lambda: jnp.zeros((2,), float0), (2,)),
    "ones":         (lambda: jnp.ones((2,), float0), (2,)),
    "full":         (lambda: jnp.full((2,), 0, float0), (2,)),
    "lax.full":     (lambda: lax.full((2,), 0, float0), (2,)),
    "zeros_like":   (lambda: jnp.zeros_like(Z), (2,)),
    "full_like":    (lambda: jnp.full_like(Z, 1), (2,)),
    "asarray":      (lambda: jnp.asarray(Z), (2,)),
    "array":        (lambda: jnp.array(Z, dtype=float0), (2,)),
    "device_put":   (lambda: arrax.device_put(Z), (2,)),
    "reshape":      (lambda: jnp.reshape(Z, (1, 2)), (1, 2)),
    "stack":        (lambda: jnp.stack([Z, Z]), (2, 2)),
    "concatenate":  (lambda: jnp.concatenate([Z, Z]), (4,)),
    "where":        (lambda: jnp.where(True, Z, Z), (2,)),
    "broadcast_to": (lambda: jnp.broadcast_to(Z, (3, 2)), (3, 2)),
    "jit":          (lambda: arrax.jit(lambda z: z)(Z), (2,)),
    "jit of none":  (lambda: arrax.jit(lambda: jnp.zeros((2,), float0))(), (2,)),
    "vmap":         (lambda: arrax.vmap(lambda z: z)(Z), (2,)),
    "cond":         (lambda: lax.cond(True, lambda z: z, lambda z: z, Z), (2,)),
    "scan":         (lambda: lax.scan(lambda c, z: (c, z), 0, Z)[1], (2,)),
    "while":        (lambda: lax.while_loop(lambda z: False, lambda z: z, Z), (2,)),
    "gradient":     (lambda: arrax.grad(lambda x, i: x, (0, 1), allow_int=True)(4.0, 3)[1], ()),
    "compiled gradients": (lambda: arrax.jit(arrax.vmap(arrax.grad(lambda x, i: x, (0, 1), allow_int=True)))(
        jnp.ones(2), jnp.ones(2, int))[1], (2,)),
    "tangent":      (lambda: arrax.jvp(lambda i: i * 2, (3,), (np.zeros((), float0),))[1], ()),
    "compiled tangent": (lambda: arrax.jit(lambda z: arrax.jvp(lambda i: i * 2, (3,), (z,))[1])(np.zeros((), float0)), ()),
    "tangent of a container": (lambda: arrax.jit(lambda x: arrax.jvp(lambda v: x, ((),), ((),))[1])(1), ()),
    "linearized":   (lambda: arrax.jit(arrax.linearize(lambda x: (x, 3), 1.0)[1])(1.0)[1], ()),
}
# fmt: on


@pytest.mark.parametrize("name", SHAPES)
def test_float0_values_are_numpys(name):
    make, shape = SHAPES[name]
    for _ in range(2):  # the second call may take another way
        value = make()
        assert isinstance(value, np.ndarray) and value.dtype == float0 and value.shape == shape


@pytest.mark.parametrize(
    "operation",
    [lambda: jnp.add(Z, 1), lambda: lax.add(Z, Z), lambda: lax.neg(Z), lambda: Z * jnp.ones(2), lambda: jnp.ones(2) * Z,
     lambda: jnp.sin(Z), lambda: jnp.equal(Z, Z), lambda: jnp.sum(Z)],
)  # fmt: skip
def test_arithmetic_is_refused_by_name(operation):
    with pytest.raises(TypeError, match="float0"):
        operation()


def test_the_type_is_printed_by_its_name():
    assert repr(arrax.typeof(Z)) == "ShapedArray(float0[2])"


def test_jacobians_by_integers_are_zeros_of_their_dtype():
    f = arrax.jacrev(lambda x, i: x * 2, argnums=(0, 1), allow_int=True)
    by_x, by_i = f(jnp.ones(2), jnp.ones(3, int))
    np.testing.assert_array_equal(by_x, 2 * np.eye(2))
    np.testing.assert_array_equal(by_i, np.zeros((2, 3)))
    assert by_i.dtype == np.int32
