"""Functions record only the equations that they need: no conversion, broadcast or nested call too many."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp

X, Y = np.ones((3, 4), np.float32), np.full((3, 4), 2, np.float32)
ROW, WHOLE, MASK, SQUARE = (
    np.ones(4, np.float32),
    np.ones((3, 4), np.int32),
    np.ones((3, 4), bool),
    np.eye(3, dtype=np.float32),
)
COMPLEX, PICKS, PLACE = np.ones(3, np.complex64), np.array([0, 1], np.int32), np.int32(1)

# fmt: off
PROGRAMS = {  # name: (function, arguments, the primitives of its equations in order)
    "same dtypes": (lambda x, y: x + y, (X, Y), "add"),
    "a number": (lambda x: 2.5 * x, (X,), "mul"),
    "a number on the left": (lambda x: 1 - x, (X,), "sub"),
    "integers and a float": (lambda i: i * 2.5, (WHOLE,), "convert_element_type mul"),
    "integers and floats": (lambda i, x: i + x, (WHOLE, X), "convert_element_type add"),
    "a row": (lambda x, r: x + r, (X, ROW), "broadcast_in_dim add"),
    "quotient": (lambda x, y: x / y, (X, Y), "div"),
    "quotient of integers": (lambda i: i / 2, (WHOLE,), "convert_element_type div"),
    "negative": (lambda x: -x, (X,), "neg"),
    "square": (lambda x: x**2, (X,), "integer_pow"),
    "cube": (lambda x: x**3, (X,), "integer_pow"),
    "power": (lambda x: x**0.5, (X,), "pow"),
    "comparison": (lambda x: x > 0, (X,), "gt"),
    "equality": (lambda i: i == 1, (WHOLE,), "eq"),
    "and": (lambda b: b & b, (MASK,), "and"),
    "not": (lambda b: ~b, (MASK,), "not"),
    "sin": (jnp.sin, (X,), "sin"),
    "exp of integers": (jnp.exp, (WHOLE,), "convert_element_type exp"),
    "sqrt": (jnp.sqrt, (X,), "sqrt"),
    "absolute": (jnp.abs, (X,), "abs"),
    "isnan": (jnp.isnan, (X,), "ne"),
    "maximum": (lambda x: jnp.maximum(x, 0), (X,), "max"),
    "clip": (lambda x: jnp.clip(x, 0, 1), (X,), "max min"),
    "round": (jnp.round, (X,), "round"),
    "logical_not": (jnp.logical_not, (MASK,), "not"),
    "conjugate of reals": (jnp.conj, (X,), ""),
    "real part": (jnp.real, (COMPLEX,), "real"),
    "heaviside": (jnp.heaviside, (X, Y), "eq broadcast_in_dim select_n lt broadcast_in_dim select_n ne broadcast_in_dim select_n"),
    "sum": (jnp.sum, (X,), "reduce_sum"),
    "sum over an axis": (lambda x: x.sum(0), (X,), "reduce_sum"),
    "sum with kept axes": (lambda x: x.sum(1, keepdims=True), (X,), "reduce_sum broadcast_in_dim"),
    "mean": (lambda x: x.mean(-1), (X,), "reduce_sum div"),
    "variance": (jnp.var, (X,), "reduce_sum div broadcast_in_dim sub square reduce_sum div"),
    "deviation over an axis": (lambda x: x.std(0), (X,), "reduce_sum div broadcast_in_dim sub square reduce_sum div sqrt"),
    "max": (jnp.max, (X,), "reduce_max"),
    "any": (jnp.any, (MASK,), "reduce_or"),
    "argmax": (lambda x: x.argmax(1), (X,), "argmax"),
    "cumsum": (lambda x: jnp.cumsum(x, 0), (X,), "cumsum"),
    "nansum": (jnp.nansum, (X,), "ne broadcast_in_dim select_n reduce_sum"),
    "norm": (jnp.linalg.norm, (X,), "mul reduce_sum sqrt"),
    "reshape": (lambda x: x.reshape(4, 3), (X,), "reshape"),
    "ravel": (jnp.ravel, (X,), "reshape"),
    "ravel of a vector": (jnp.ravel, (ROW,), ""),
    "transpose": (lambda x: x.T, (X,), "transpose"),
    "moveaxis": (lambda x: jnp.moveaxis(x, 0, 1), (X,), "transpose"),
    "moveaxis in place": (lambda x: jnp.moveaxis(x, 0, 0), (X,), ""),
    "new axis": (lambda x: x[:, None], (X,), "broadcast_in_dim"),
    "broadcast": (lambda r: jnp.broadcast_to(r, (3, 4)), (ROW,), "broadcast_in_dim"),
    "broadcast to its own shape": (lambda r: jnp.broadcast_to(r, (4,)), (ROW,), ""),
    "concatenate": (lambda x, y: jnp.concatenate([x, y]), (X, Y), "concatenate"),
    "stack": (lambda x, y: jnp.stack([x, y]), (X, Y), "stack"),
    "split": (lambda x: jnp.split(x, 2, 1), (X,), "split"),
    "some pieces": (lambda x: jnp.split(x, [2, 1], 1), (X,), "slice slice slice"),
    "unstack": (lambda x: jnp.unstack(x), (X,), "unstack"),
    "flip": (lambda x: jnp.flip(x, 0), (X,), "rev"),
    "roll": (lambda x: jnp.roll(x, 1, 0), (X,), "slice slice concatenate"),
    "pad": (lambda x: jnp.pad(x, 1), (X,), "pad"),
    "astype": (lambda x: x.astype(int), (X,), "convert_element_type"),
    "astype of its own dtype": (lambda x: x.astype(np.float32), (X,), ""),
    "asarray": (jnp.asarray, (X,), ""),
    "zeros_like": (jnp.zeros_like, (X,), "broadcast_in_dim"),
    "arange": (lambda: jnp.arange(4), (), "iota"),
    "meshgrid": (lambda r: jnp.meshgrid(r, r), (ROW,), "broadcast_in_dim broadcast_in_dim"),
    "diag": (jnp.diag, (ROW,), "iota iota eq broadcast_in_dim broadcast_in_dim select_n"),
    "matrix product": (lambda x, r: x @ r, (X, ROW), "dot_general"),
    "dot": (jnp.dot, (ROW, ROW), "dot_general"),
    "einsum": (lambda x, y: jnp.einsum("ij,kj->ik", x, y), (X, Y), "dot_general"),
    "tensordot": (lambda x, y: jnp.tensordot(x, y, 2), (X, Y), "dot_general"),
    "outer": (jnp.outer, (ROW, ROW), "broadcast_in_dim broadcast_in_dim mul"),
    "row of a known place": (lambda x: x[-1], (X,), "slice squeeze"),
    "slice": (lambda x: x[1:], (X,), "slice"),
    "everything": (lambda x: x[:], (X,), ""),
    "reversed": (lambda x: x[::-1], (X,), "rev"),
    "row of a traced place": (lambda x, i: x[i], (X, PLACE), "lt add select_n dynamic_slice squeeze"),
    "rows": (lambda x, i: x[i], (X, PICKS), "lt add select_n broadcast_in_dim gather"),
    "row of a known place, set": (lambda x: x.at[0].set(1), (X,), "broadcast_in_dim broadcast_in_dim dynamic_update_slice"),
    "sort": (lambda x: jnp.sort(x, 1), (X,), "sort"),
    "argsort": (lambda x: jnp.argsort(x, 1), (X,), "iota sort"),
    "difference": (jnp.diff, (ROW,), "slice slice sub"),
    "nan_to_num": (jnp.nan_to_num, (X,), "ne broadcast_in_dim select_n" + " eq broadcast_in_dim select_n" * 2),
}
# fmt: on


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_function_records_what_it_needs(name):
    function, arguments, expected = PROGRAMS[name]
    equations = arrax.make_jaxpr(function)(*arguments).jaxpr.eqns
    assert " ".join(equation.primitive.name for equation in equations) == expected
