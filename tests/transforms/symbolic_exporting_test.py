"""Exported functions of arguments whose lengths are known only when they are called."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import export, image, lax, nn, random
from arrax.errors import InconclusiveDimensionOperation

SIZES = {"a": 3, "b": 5}
KEY = random.key(0)


def specs(*shapes, dtype=jnp.float32, constraints=()):
    scope = export.SymbolicScope(constraints)
    return [arrax.ShapeDtypeStruct(export.symbolic_shape(shape, scope=scope), dtype) for shape in shapes]


def values(structs, sizes):
    rng = np.random.default_rng(0)
    shapes = [[n.evaluate(sizes) if export.is_symbolic_dim(n) else n for n in struct.shape] for struct in structs]
    return [
        jnp.asarray(rng.normal(size=shape) if struct.dtype == np.float32 else rng.integers(0, 3, shape), struct.dtype)
        for struct, shape in zip(structs, shapes, strict=True)
    ]


# fmt: off
FUNCTIONS = {  # name: (function, shapes of its arguments, those of its results)
    "arithmetic":  (lambda x: jnp.sin(x) * 2 + x**2 / 3, ["a, 2"], "(a, 2)"),
    "broadcast":   (lambda x, y: x + y, ["a, 2", "2"], "(a, 2)"),
    "choice":      (lambda x: jnp.where(x > 0, x, 0), ["a, b"], "(a, b)"),
    "product":     (lambda x, w: x @ w, ["a, b", "b, 3"], "(a, 3)"),
    "gram":        (lambda x: x.T @ x, ["a, 2"], "(2, 2)"),
    "einsum":      (lambda x, y: jnp.einsum("ij,kj->ik", x, y), ["a, 4", "b, 4"], "(a, b)"),
    "sum":         (lambda x: x.sum(0), ["a, b"], "(b,)"),
    "mean":        (lambda x: x.mean(), ["a, b"], "()"),
    "variance":    (lambda x: x.var(0), ["a, 2"], "(2,)"),
    "normalized":  (lambda x: (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True), ["a, b"], "(a, b)"),
    "softmax":     (nn.softmax, ["a, b"], "(a, b)"),
    "logsumexp":   (nn.logsumexp, ["a, 2"], "()"),
    "flat":        (lambda x: x.reshape(-1), ["a, 2"], "(2*a,)"),
    "unflat":      (lambda x: x.reshape(x.shape[0] // 2, 2), ["2*a"], "(a, 2)"),
    "row":         (lambda x: x[0], ["a, 2"], "(2,)"),
    "column":      (lambda x: x[:, 0], ["a, 2"], "(a,)"),
    "rest":        (lambda x: x[1:], ["a, 2"], "(a - 1, 2)"),
    "start":       (lambda x: x[:-1], ["a, 2"], "(a - 1, 2)"),
    "reversed":    (lambda x: x[::-1], ["a, 2"], "(a, 2)"),
    "new axis":    (lambda x: x[None, :, None], ["a"], "(1, a, 1)"),
    "chosen rows": (lambda x: x[jnp.array([0, -1])], ["a, 2"], "(2, 2)"),
    "joined":      (lambda x, y: jnp.concatenate([x, y]), ["a, 2", "b, 2"], "(b + a, 2)"),
    "stacked":     (lambda x: jnp.stack([x, x]), ["a, 2"], "(2, a, 2)"),
    "zeros":       (lambda x: jnp.zeros((x.shape[0], 3)), ["a"], "(a, 3)"),
    "like":        (jnp.ones_like, ["a, b"], "(a, b)"),
    "numbers":     (lambda x: jnp.arange(x.shape[0]) + jnp.arange(2, x.shape[0] + 2), ["a"], "(a,)"),
    "length":      (lambda x: x.shape[0] * x + x.shape[0] / 2, ["a"], "(a,)"),
    "repeated":    (lambda x: jnp.broadcast_to(x[:, None], (x.shape[0], 3, 2)), ["a, 2"], "(a, 3, 2)"),
    "tiled":       (lambda x: jnp.tile(x, (2, 1)), ["a, 2"], "(2*a, 2)"),
    "padded":      (lambda x: jnp.pad(x, 1), ["a, 2"], "(a + 2, 4)"),
    "one-hot":     (lambda x: nn.one_hot(jnp.arange(x.shape[0], dtype="int8"), x.shape[0]), ["a"], "(a, a)"),
    "triangle":    (jnp.tril, ["a, a"], "(a, a)"),
    "sorted":      (lambda x: jnp.sort(x, 0), ["a, 2"], "(a, 2)"),
    "place":       (lambda x: jnp.argmax(x, 1), ["a, b"], "(a,)"),
    "updated":     (lambda x: x.at[0].set(1.0), ["a, 2"], "(a, 2)"),
    "branches":    (lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x), ["a, 2"], "(a, 2)"),
    "scan":        (lambda x: lax.scan(lambda c, r: (jnp.tanh(c + r), c * r), jnp.zeros(2), x, reverse=True)[1], ["a, 2"], "(a, 2)"),
    "scan's gradient": (arrax.grad(lambda x: lax.scan(lambda c, r: (jnp.tanh(c + r), c * r), 0.0, x)[1].sum()), ["a"], "(a,)"),
    "map":         (lambda x: lax.map(jnp.sum, x), ["a, 2"], "(a,)"),
    "count":       (lambda x: lax.fori_loop(0, x.shape[0], lambda i, c: c + x[i], 0.0), ["a"], "()"),
    "loop":        (lambda x: lax.fori_loop(0, 3, lambda i, c: c * x + i, x), ["a"], "(a,)"),
    "filter":      (lambda x: lax.conv(x, jnp.ones((1, 1, 9, 9)), (1, 1), "SAME"), ["2, 1, a, 4"], "(2, 1, a, 4)"),
    "convolution": (lambda x: lax.conv(x, jnp.ones((4, 3, 3, 3)), (1, 1), "SAME"), ["a, 3, 8, 8"], "(a, 4, 8, 8)"),
    "mapped":      (arrax.vmap(lambda x: jnp.dot(x, x)), ["a, b"], "(a,)"),
    "gradient":    (arrax.grad(lambda x: jnp.sum(jnp.tanh(x @ x.T)) + x.mean()), ["a, b"], "(a, b)"),
    "attention":   (lambda q, k, v: nn.softmax(q @ k.T / 3) @ v, ["a, 8", "b, 8", "b, 4"], "(a, 4)"),
    "unused":      (lambda x, y: x * 2, ["a", "b"], "(a,)"),
    "handed on":   (lambda x: x, ["a, 2"], "(a, 2)"),
    "rolled":      (lambda x: jnp.roll(x, (1, -2), (0, 1)), ["a, b"], "(a, b)"),
    "rolled flat": (lambda x: jnp.roll(x, x.shape[0] // 2), ["a, 3"], "(a, 3)"),
    "rolled by data": (lambda x: jnp.roll(x, jnp.sum(x > 0), 0), ["3, a"], "(3, a)"),
    "slice at data": (lambda x: lax.dynamic_slice_in_dim(x, jnp.argmin(x[:, 0]) - 1, 1), ["a, 2"], "(1, 2)"),
    "rows at data": (lambda x: x[jnp.argsort(x[:, 0])], ["3, a"], "(3, a)"),
    "entries by rows": (lambda x: x[np.array([0, -1])], ["a, 2"], "(2, 2)"),
    "entries or NaN": (lambda x: jnp.take(x, jnp.array([1, 9]), 0, mode="fill"), ["a, 2"], "(2, 2)"),
    "along an axis": (lambda x: jnp.take_along_axis(x, jnp.argsort(-x, 0), 0), ["a, 2"], "(a, 2)"),
    "last row":    (lambda x: lax.dynamic_index_in_dim(x, -1, 0), ["a, 2"], "(1, 2)"),
    "each row's greatest": (arrax.vmap(lambda r: r[jnp.argmax(r)]), ["a, 2"], "(a,)"),
    "identity":    (lambda x: jnp.eye(x.shape[0]), ["a, 2"], "(a, a)"),
    "grid":        (lambda x: jnp.meshgrid(x[0], x[:, 0])[1], ["a, 2"], "(a, 2)"),
    "vector of zeros": (lambda x: jnp.zeros(x.shape[0]), ["a"], "(a,)"),
    "segments":    (lambda x: arrax.ops.segment_sum(x, jnp.zeros(x.shape[0], int), 2), ["a, 2"], "(2, 2)"),
    "scan of rows": (lambda x: lax.scan(lambda c, r: (c + r, c), x[0], x)[1], ["3, a"], "(3, a)"),
    "sums so far": (lambda x: jnp.cumsum(x, 0), ["a, 2"], "(a, 2)"),
    "products so far": (lambda x: lax.cumprod(x, 1, reverse=True), ["3, a"], "(3, a)"),
    "greatest so far": (lambda x: lax.cummax(x, 1), ["a, b"], "(a, b)"),
    "log-sum-exp so far": (lambda x: lax.cumlogsumexp(x, 0), ["a, 2"], "(a, 2)"),
    "greatest two": (lambda x: jnp.sort(x, 0)[-2:], ["a, 2"], "(min(a, 2), 2)"),
    "median":      (lambda x: jnp.median(x, 0), ["a, 2"], "(2,)"),
    "quantile":    (lambda x: jnp.quantile(x, 0.3, 1), ["2, a"], "(2,)"),
    "split":       (lambda x: jnp.split(x, [1], 0)[1], ["a, 2"], "(a - 1, 2)"),
    "parts":       (lambda x: jnp.array_split(x, 2)[0], ["a"], "(mod(a, 2) + floordiv(a, 2),)"),
    "even steps":  (lambda x: x * jnp.linspace(0, 1, x.shape[0]), ["a"], "(a,)"),
    "place among": (lambda x: jnp.searchsorted(jnp.sort(x), jnp.array([-9.0, 0.1, 9.0]), side="right"), ["a"], "(3,)"),
    "second row":  (lambda x: x.at[1].set(0.0), ["a, 2"], "(a, 2)"),
    "row at data": (lambda x: x.at[jnp.argmax(x[:, 0])].add(1.0), ["a, 2"], "(a, 2)"),
    "every other": (lambda x: x[::2], ["a, 2"], "(floordiv(a + 1, 2), 2)"),
    "every other, backwards": (lambda x: x[::-2], ["a"], "(floordiv(a + 1, 2),)"),
    "down to the second": (lambda x: x[:0:-1], ["a"], "(a - 1,)"),
    "every other changed": (lambda x: x.at[1::2].mul(3.0), ["a"], "(a,)"),
    "wherever positive": (lambda x: jnp.nonzero(x > 0, size=3, fill_value=-1)[0], ["a, b"], "(3,)"),
    "attended":    (lambda x: nn.dot_product_attention(x, x, x, is_causal=True), ["a, 1, b"], "(a, 1, b)"),
    "differences": (lambda x: jnp.diff(x, axis=0), ["a, 2"], "(a - 1, 2)"),
    "integral":    (lambda x: jnp.trapezoid(x, axis=0), ["a, 2"], "(2,)"),
    "greatest":    (lambda x: lax.top_k(x, 1)[0], ["2, a"], "(2, 1)"),
    "computed again": (arrax.grad(arrax.checkpoint(lambda x: jnp.sum(jnp.sin(jnp.sin(x))))), ["a, 2"], "(a, 2)"),
    "by formulas": (lambda x: nn.gelu(jnp.arctan2(x, 2), approximate=False) + jnp.cbrt(x), ["a, 2"], "(a, 2)"),
    "solved":      (lambda x: jnp.linalg.solve(x.T @ x + 3 * jnp.eye(x.shape[1]), x.T), ["2, a"], "(a, 2)"),
    "Cholesky's factor": (lambda x: jnp.linalg.cholesky(x.T @ x + jnp.eye(x.shape[1])), ["2, a"], "(a, a)"),
    "singular values": (lambda x: jnp.linalg.svd(x, compute_uv=False), ["a, 2"], "(min(a, 2),)"),
    "pooled":      (lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 1), (2, 1), "SAME"), ["a, 2"], "(- floordiv(- a, 2), 2)"),
    "edges":       (lambda x: jnp.pad(x, 1, mode="edge"), ["a, 2"], "(a + 2, 4)"),
    "Jacobian":    (lambda x: arrax.jacfwd(jnp.sin)(x) + arrax.jacrev(jnp.cos)(x), ["a"], "(a, a)"),
    "lengths":     (lambda x: jnp.array(x.shape) * x[0, 0], ["a, b"], "(2,)"),
    "best order":  (lambda x: jnp.einsum("ij,ik,il->jkl", x, x, x) + jnp.linalg.multi_dot([x.T, x, x.T, x])[..., None], ["a, 2"], "(2, 2, 2)"),
    "every second number": (lambda x: x * jnp.arange(x.shape[0] - 1, -x.shape[0] - 1, -2), ["a"], "(a,)"),
    "without":     (lambda x: jnp.insert(jnp.delete(x, 0, axis=0), 1, 7.0, axis=0), ["a, 2"], "(a, 2)"),
    "as often as it takes": (lambda x: jnp.resize(x, (2, 4)), ["a, b"], "(2, 4)"),
    "resized":     (lambda x: image.resize(x, (2, 4), "linear") + image.resize(x, (2, 4), "nearest"), ["a, b"], "(2, 4)"),
    "random":      (lambda x: x + random.normal(random.key(0), x.shape) + random.uniform(random.split(random.key(1), 2)[1], (2,)), ["a, 2"], "(a, 2)"),
    "keys":        (lambda x: random.key_data(random.split(random.key(0), x.shape[0])), ["a"], "(a, 2)"),
    "chosen":      (lambda x: random.choice(random.key(0), x, (3,)), ["a"], "(3,)"),
    "membership":  (lambda x: jnp.isin(x[:, 0], x[:, 1]), ["a, 2"], "(a,)"),
    "bits":        (lambda x: jnp.packbits(x > 0, axis=1), ["a, b"], "(a, - floordiv(- b, 8))"),
    "half":        (lambda x: x.reshape(2, -1)[0], ["2*a"], "(a,)"),
    "some, backwards": (lambda x: x[5:2:-1], ["a"], "(min(5, a - 1) - min(2, a - 1),)"),
    "repeated by a length": (lambda x: jnp.repeat(x, x.shape[0], axis=1), ["a, 2"], "(a, 2*a)"),
    "doubled":     (lambda x: jnp.pad(x, ((0, 0), (0, x.shape[0]))), ["a, 2"], "(a, a + 2)"),
    "filled":      (lambda x: x + jnp.full(np.array(x.shape), 3.0), ["a, b"], "(a, b)"),
    "determinant": (lambda x: jnp.linalg.det(x @ x.T + jnp.eye(x.shape[0])), ["a, 2"], "()"),
    "counted":     (lambda x: jnp.bincount(jnp.arange(x.shape[0]) // 2, length=x.shape[0]), ["a"], "(a,)"),
}
# fmt: on


@pytest.mark.parametrize("name", FUNCTIONS)
def test_one_program_serves_all_lengths(name):
    f, shapes, result = FUNCTIONS[name]
    structs = specs(*shapes)
    exported = export.export(arrax.jit(f))(*structs)
    assert str(exported.out_avals[0].shape) == result
    args = values(structs, SIZES)
    np.testing.assert_allclose(exported.call(*args), f(*args), rtol=1e-5, atol=1e-5)


NO_GRADIENT = {"count", "attention", "numbers"}  # a loop over a length that is data; two arguments; integers


@pytest.mark.parametrize(
    "name", [name for name, (_, shapes, _) in FUNCTIONS.items() if len(shapes) == 1 and name not in NO_GRADIENT]
)
def test_derivatives_serve_all_lengths(name):
    f, shapes, _ = FUNCTIONS[name]
    structs = specs(*shapes)
    exported = export.export(arrax.jit(f))(*structs)
    if not jnp.issubdtype(exported.out_avals[0].dtype, np.floating):
        pytest.skip("integers have no derivatives")
    (x,) = values(structs, {"a": 6, "b": 4})
    found, expected = (arrax.jit(arrax.grad(lambda x, g=g: jnp.sum(jnp.sin(g(x)))))(x) for g in (exported.call, f))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_calls_inside_of_programs_derivatives_and_bytes():
    def f(x, w):
        return jnp.tanh(x @ w).mean(0)

    structs = specs("n, k", "k, 2", constraints=["k >= 2"])
    exported = export.deserialize(export.export(arrax.jit(f))(*structs).serialize(vjp_order=1))
    assert str(exported.in_avals[0].shape) == "(n, k)" and "tensor<?x?xf32>" in exported.mlir_module()
    assert exported.in_avals[0].shape[1] >= 2
    for sizes in ({"n": 4, "k": 3}, {"n": 1, "k": 6}):
        x, w = values(structs, sizes)
        np.testing.assert_allclose(arrax.jit(exported.call)(x, w), f(x, w), rtol=1e-5, atol=1e-6)
        slope = arrax.grad(lambda w, x=x: exported.call(x, w).sum())(w)
        np.testing.assert_allclose(slope, arrax.grad(lambda w, x=x: f(x, w).sum())(w), rtol=1e-5, atol=1e-6)

    @arrax.jit
    def two_shapes(x, w):
        return exported.call(x, w) + exported.call(x[:2], w)

    np.testing.assert_allclose(two_shapes(*values(structs, {"n": 4, "k": 3})).shape, (2,))
    with pytest.raises(ValueError, match="the constraint k >= 2 does not hold for k = 1, n = 3"):
        exported.call(*values(structs, {"n": 3, "k": 1}))


def test_platforms_of_functions_with_symbols():
    structs = specs("a, 2")
    exported = export.export(arrax.jit(lambda x: jnp.zeros(x.shape) + x.mean(0)), platforms=["cpu", "tpu"])(*structs)
    (x,) = values(structs, SIZES)
    np.testing.assert_allclose(exported.call(x), np.broadcast_to(x.mean(0), x.shape), rtol=1e-6)


def test_lengths_that_do_not_fit_are_refused():
    square = export.export(arrax.jit(lambda x, y: x @ y))(*specs("a, a", "a"))
    with pytest.raises(ValueError, match=r"argument 0 has the shape \(2, 3\).* which is \(2, 2\) for a = 2"):
        square.call(np.ones((2, 3), np.float32), np.ones(2, np.float32))
    with pytest.raises(ValueError, match="expected same rank"):
        square.call(np.ones(3, np.float32), np.ones(3, np.float32))
    even = export.export(arrax.jit(lambda x: x + 1))(*specs("2*a"))
    with pytest.raises(ValueError, match=r"length 3 of axis 0 of argument 0 is not '2\*a'"):
        even.call(np.ones(3, np.float32))


def test_what_depends_on_lengths_is_refused():
    with pytest.raises(TypeError, match=r"shapes=\[\(a,\), \(b,\)\]"):
        export.export(arrax.jit(jnp.add))(*specs("a", "b"))
    with pytest.raises(InconclusiveDimensionOperation):
        export.export(arrax.jit(lambda x: x if x.shape[0] > 3 else x + 1))(*specs("a"))
    with pytest.raises(InconclusiveDimensionOperation):
        export.export(arrax.jit(lambda x: lax.dynamic_slice_in_dim(x, 0, 2)))(*specs("a"))
    with pytest.raises(InconclusiveDimensionOperation, match=r"equally many elements only where mod\(a, 2\) is 0"):
        export.export(arrax.jit(lambda x: x.reshape(-1, 2)))(*specs("a"))
    with pytest.raises(InconclusiveDimensionOperation, match="requires a constant"):
        export.export(arrax.jit(lambda x: list(x)[0]))(*specs("a, 2"))
    with pytest.raises(ValueError, match=r"symbols a, b cannot be read off"):
        export.export(arrax.jit(jnp.sin))(*specs("a*b"))
    with pytest.raises(ValueError, match="Invalid mixing of symbolic scopes"):
        export.export(arrax.jit(lambda x, y: x))(*specs("a"), *specs("a"))
    with pytest.raises(NotImplementedError, match="associative_scan: how many steps.* length of axis 0, a, a symbolic"):
        export.export(arrax.jit(lambda x: lax.associative_scan(jnp.add, x)))(*specs("a"))
    for draw in (lambda x: random.permutation(KEY, x), lambda x: random.choice(KEY, x, (2,), replace=False)):
        with pytest.raises(NotImplementedError, match="how often a entries are sorted"):
            export.export(arrax.jit(draw))(*specs("a", constraints=["a >= 2"]))
    (x,) = specs("a")
    with pytest.raises(NotImplementedError, match="outside of arrax.export"):
        arrax.jit(lambda y: y + x.shape[0])(1.0)


def test_exported_functions_of_symbolic_lengths_are_called_by_others():
    inner = export.export(arrax.jit(lambda x, y: jnp.cumsum(x @ y) + y.shape[0]))(*specs("a, b", "b"))
    outer = export.export(arrax.jit(lambda x, y: inner.call(x, y) + inner.call(x[:1], y)))(*specs("2*q, r", "r"))
    assert str(outer.out_avals[0].shape) == "(2*q,)"
    x, y = np.ones((4, 3), np.float32), np.ones(3, np.float32)
    np.testing.assert_allclose(outer.call(x, y), [12, 15, 18, 21])
    slope = arrax.grad(lambda x: outer.call(x, y).sum())(x[:2])
    np.testing.assert_allclose(slope, [[4, 4, 4], [1, 1, 1]])
    known = export.export(arrax.jit(inner.call))(*specs("q, 3", "3"))
    np.testing.assert_allclose(known.call(x, y), [6, 9, 12, 15])


def test_lengths_meet_scalars_that_are_traced():
    exported = export.export(arrax.jit(lambda x: x.shape[0] * jnp.ones(()) + x.sum()))(*specs("a"))
    assert exported.call(np.ones(3, np.float32)) == 6
