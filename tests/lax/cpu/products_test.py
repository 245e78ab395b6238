"""Many small products, and transposed matrices by vectors: the CPU's own routes against the compiler's and NumPy's."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from tests.lax.cpu.routes import lowered_text, on_both_routes
from tests.support import x64_for

RNG = np.random.default_rng(0)


def whole(dtype, shape):
    return RNG.integers(-4, 5, shape).astype(dtype)


SUBSCRIPTS = [
    "bij,bjk->bik", "bij,bkj->bik", "bji,bjk->bik", "bij,bj->bi", "bi,bij->bj", "bi,bi->b", "ibj,jkb->bik", "bcij,bcj->bci",
    "bcij,cbjk->bcik", "bij,bjkl->bikl", "bij,bji->b",
]  # fmt: skip


@pytest.mark.parametrize("subscripts", SUBSCRIPTS)
def test_many_small_products(subscripts):
    sizes = {"b": 70, "c": 2, "i": 3, "j": 4, "k": 5, "l": 2}
    first, second = subscripts.split("->")[0].split(",")
    x, y = (whole(np.float32, [sizes[letter] for letter in letters]) for letters in (first, second))
    for own, general in zip(*on_both_routes(lambda x, y: jnp.einsum(subscripts, x, y), x, y), strict=True):
        np.testing.assert_array_equal(own, np.einsum(subscripts, x, y))
        np.testing.assert_array_equal(general, own)
    gradients = on_both_routes(arrax.grad(lambda x, y: (jnp.einsum(subscripts, x, y) ** 2).sum(), (0, 1)), x, y)
    for own, general in zip(*gradients, strict=True):
        np.testing.assert_array_equal(own, general)


@pytest.mark.parametrize("dtype", ["bool", "int8", "int32", "uint32", "float16", "bfloat16", "float32", "complex64"])
def test_every_dtype(dtype):
    x, y = (jnp.asarray(whole(np.float32, (100, 4, 4))).astype(dtype) for _ in range(2))
    text = lowered_text(jnp.matmul, np.ones((100, 4, 4), np.float32), np.ones((100, 4, 4), np.float32))
    assert "dot_general" not in text and "multiply" in text
    own, general = on_both_routes(jnp.matmul, np.asarray(x), np.asarray(y))
    np.testing.assert_array_equal(own[0].astype(np.complex64), general[0].astype(np.complex64))
    assert own[0].dtype == x.dtype
    wide = arrax.jit(lambda x, y: jnp.matmul(x, y, preferred_element_type=np.float32))
    if dtype in ("float16", "bfloat16", "float32"):
        expected = np.asarray(x, np.float32) @ np.asarray(y, np.float32)
        np.testing.assert_array_equal(wide(x, y), expected)


def test_mapped_products_and_their_second_derivatives():
    matrices, vectors = (RNG.standard_normal(shape).astype(np.float32) for shape in ((80, 3, 3), (80, 3)))

    def energy(matrix, vector):
        return (matrix @ vector) @ vector

    hessians = arrax.jit(arrax.vmap(arrax.hessian(energy, 1)))(matrices, vectors)
    np.testing.assert_allclose(hessians, matrices + np.swapaxes(matrices, 1, 2), rtol=1e-5, atol=1e-6)


def test_each_product_of_a_chain_is_computed_once():
    def power(x):
        total = x
        for _ in range(8):
            total = x @ total
        return total

    x = whole(np.float32, (64, 4, 4)) / 8
    np.testing.assert_allclose(arrax.jit(power)(x), np.linalg.matrix_power(x, 9), rtol=1e-4, atol=1e-4)
    assert arrax.jit(power).lower(x).compile().as_text().count(" fusion(") >= 8


def test_transposed_matrices_by_vectors():
    matrix, vector, other = (RNG.standard_normal(shape).astype(np.float32) for shape in ((30, 20), (30,), (20,)))
    text = lowered_text(lambda m, v: m.T @ v, matrix, vector)
    assert "contracting_dims = [0] x [0]" in text
    for f, args in (
        (lambda m, v: m.T @ v, (matrix, vector)), (lambda m, v: v @ m.T, (matrix, other)),
        (lambda m, v: lax.transpose(m + 1, (1, 0)) @ v, (matrix, vector)),
    ):  # fmt: skip
        own, general = on_both_routes(f, *args)
        np.testing.assert_allclose(own[0], general[0], rtol=2e-5, atol=1e-5)
    np.testing.assert_allclose(arrax.jit(lambda m, v: m.T @ v)(matrix, vector), matrix.T @ vector, rtol=2e-5, atol=1e-5)
    gradient = arrax.grad(lambda m: (m.T @ vector).sum())(matrix)
    np.testing.assert_allclose(gradient, np.broadcast_to(vector[:, None], matrix.shape))


def test_sums_over_several_axes_are_over_one_where_no_copy_is_needed():
    x, y, z = (RNG.standard_normal(shape).astype(np.float32) for shape in ((4, 5, 3), (4, 5, 6), (7, 4, 5)))
    for args, axes, contracted in (
        ((x, y), ((0, 1), (0, 1)), "[0] x [0]"), ((y, x), ((0, 1), (0, 1)), "[0] x [0]"),
        ((z, x), ((1, 2), (0, 1)), "[1] x [0]"), ((z, z), ((1, 2), (1, 2)), "[1] x [1]"),
    ):  # fmt: skip
        numbers = (axes, ((), ()))
        text = lowered_text(lambda a, b, numbers=numbers: lax.dot_general(a, b, numbers), *args)
        assert f"contracting_dims = {contracted}" in text
        expected = np.tensordot(*args, axes)
        np.testing.assert_allclose(lax.dot_general(*args, numbers), expected, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("axes", "dtype"), [(((0, 2), (0, 2)), "float32"), (((0, 1), (1, 0)), "float32"), (((0, 1, 2), (0, 1, 2)), "float32"),
                        (((0, 1), (0, 1)), "bfloat16")],
)  # fmt: skip
def test_other_sums_over_several_axes_stay(axes, dtype):
    x = np.arange(48).reshape(4, 4, 3).astype(dtype)
    text = lowered_text(lambda a: lax.dot_general(a, a, (axes, ((), ()))), x)
    assert f"contracting_dims = {list(axes[0])}" in text


def test_gradients_of_weights_of_a_layer_are_sums_over_one_axis():
    weights, places = (RNG.standard_normal(shape).astype(np.float32) for shape in ((3, 6), (4, 5, 3)))
    gradient = arrax.grad(lambda w: ((places @ w) ** 2).sum())
    text = lowered_text(gradient, weights)
    assert "contracting_dims = [0] x [0]" in text and "contracting_dims = [0, 1]" not in text
    rows = places.reshape(20, 3)
    np.testing.assert_allclose(gradient(weights), 2 * rows.T @ (rows @ weights), rtol=1e-4)


@pytest.mark.parametrize("formula", ["bi,bj->bij", "ib,jb->jbi", "i,j->ij", "bi,bjk->ikbj"])
def test_products_without_sums_are_multiplied_and_their_derivatives_are_contractions(formula):
    sizes = {"b": 5, "i": 3, "j": 4, "k": 2}
    operands = [whole(np.float32, [sizes[n] for n in term]) for term in formula.split("->")[0].split(",")]

    def product(*args):
        return jnp.einsum(formula, *args)

    text = lowered_text(product, *operands)
    assert "dot_general" not in text and "multiply" in text
    for own, general in zip(*on_both_routes(product, *operands), strict=True):
        np.testing.assert_array_equal(own, np.einsum(formula, *operands))
        np.testing.assert_array_equal(general, own)
    slope = arrax.grad(lambda *args: (product(*args) ** 2).sum(), (0, 1))
    backward = str(arrax.make_jaxpr(arrax.vjp(product, *operands)[1])(product(*operands)))
    assert "dot_general" in backward and "reduce_sum" not in backward
    for own, general in zip(*on_both_routes(slope, *operands), strict=True):
        np.testing.assert_array_equal(own, general)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "float16", "bfloat16", "float32", "complex64"])
def test_products_without_sums_have_the_same_bits_in_every_dtype(dtype):
    x, y = (jnp.asarray(RNG.standard_normal((6, n)) * 3).astype(dtype) for n in (3, 4))
    numbers = (((), ()), ((0,), (0,)))
    for wide in (None, "float32") if dtype.endswith("float16") else (None,):
        both = on_both_routes(lambda x, y, w=wide: lax.dot_general(x, y, numbers, preferred_element_type=w), x, y)
        assert both[0][0].dtype == (wide or dtype)
        np.testing.assert_array_equal(*(route[0].astype(np.complex64) for route in both))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64"])
def test_transposed_matrices_by_transposed_ones(dtype):
    x, y = (jnp.asarray(whole(np.float32, shape)).astype(dtype) for shape in ((30, 20), (4, 30)))
    contracted = (((0,), (1,)), ((), ()))
    text = lowered_text(lambda x, y: lax.dot_general(x, y, contracted), np.ones((30, 20)), np.ones((4, 30)))
    assert "contracting_dims = [1] x [0]" in text and "optimization_barrier" in text
    out = arrax.jit(lambda x, y: lax.dot_general(x, y, contracted, precision=("highest", "default")))(x, y)
    np.testing.assert_array_equal(out.astype(np.complex64), (np.asarray(x).T @ np.asarray(y).T).astype(np.complex64))
    assert out.dtype == dtype


@pytest.mark.parametrize("dtype", [np.float32, jnp.bfloat16, np.int32], ids=str)
@pytest.mark.parametrize(("points", "terms", "columns"), [(200, 3, 3), (1, 4, 1), (7, 2, 90)])
def test_products_of_few_terms_are_computed_term_by_term(points, terms, columns, dtype):
    x, y = whole(dtype, (points, terms)), whole(dtype, (terms, columns))
    expected = np.asarray(x).astype(np.float64) @ np.asarray(y).astype(np.float64)
    assert "dot_general" not in lowered_text(lambda x, y: x @ y, x, y)
    product = arrax.jit(lambda x, y: x @ y)(x, y)
    assert product.dtype == dtype
    np.testing.assert_array_equal(np.asarray(product).astype(np.float64), expected)
    by_points = arrax.vmap(lambda row: row @ y)
    np.testing.assert_array_equal(arrax.jit(by_points)(x), product)


def test_products_of_few_terms_that_become_costly_are_not_divided():
    x, y, bias = whole(np.float32, (50, 2)), whole(np.float32, (2, 40)), whole(np.float32, (40,))

    def layer(x, y, bias):
        return jnp.tanh(x @ y + bias)

    assert "divide" not in lowered_text(layer, x, y, bias)
    assert "divide" not in lowered_text(arrax.grad(lambda *args: layer(*args).sum(), 1), x, y, bias)
    np.testing.assert_array_equal(arrax.jit(layer)(x, y, bias), jnp.tanh(x @ y + bias))
    for several in (lambda x, y, bias: (layer(x, y, bias), x @ y), lambda x, y, bias: jnp.maximum(x @ y, bias)):
        assert "divide" in lowered_text(several, x, y, bias)


def test_a_complex_product_of_few_terms_is_the_library_s():
    gate, state = whole(np.complex64, (2, 2)), whole(np.complex64, (2, 8))
    assert "dot_general" in lowered_text(lambda x, y: x @ y, gate, state)
    np.testing.assert_array_equal(arrax.jit(lambda x, y: x @ y)(gate, state), gate @ state)


def test_products_of_more_terms_are_the_library_s():
    assert "dot_general" in lowered_text(lambda x, y: x @ y, whole(np.float32, (200, 5)), whole(np.float32, (5, 3)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=str)
@pytest.mark.parametrize("columns", [1, 3, 10])
def test_matrices_of_few_columns_are_on_the_left_of_sums_over_rows(columns, dtype):
    x, y = whole(dtype, (600, 64)), whole(dtype, (600, columns))
    left = f"tensor<600x{columns}x{'f32' if dtype is np.float32 else 'f64'}>, tensor<600x64x"
    expected = x.T.astype(np.float64) @ y
    products = [
        (lambda x, y: x.T @ y, expected), (lambda x, y: jnp.einsum("na,nb->ab", x, y), expected), (lambda x, y: (y.T @ x).T, expected),
    ]  # fmt: skip
    with x64_for(np.dtype(dtype)):
        for product, wanted in products:
            assert left in lowered_text(product, x, y)
            np.testing.assert_array_equal(arrax.jit(product)(x, y), wanted)
        gradient = arrax.grad(lambda w, x, y: ((x @ w) * y).sum())
        weights = whole(dtype, (64, columns))
        assert left in lowered_text(gradient, weights, x, y)
        np.testing.assert_array_equal(arrax.jit(gradient)(weights, x, y), expected)


@pytest.mark.parametrize("rows", [2, 30])
def test_matrices_of_few_rows_are_on_the_right_of_sums_over_columns(rows):
    x, y = whole(np.float32, (rows, 200)), whole(np.float32, (160, 200))
    right = f"tensor<160x200xf32>, tensor<{rows}x200xf32>"
    products = [lambda x, y: x @ y.T, lambda x, y: jnp.einsum("na,ba->nb", x, y), lambda x, y: (y @ x.T).T]
    for product in products:
        assert right in lowered_text(product, x, y)
        np.testing.assert_array_equal(arrax.jit(product)(x, y), x @ y.T)


def test_other_sums_over_rows_stay():
    x, y = whole(np.float32, (600, 64)), whole(np.float32, (600, 40))
    wide, few = whole(np.float32, (15, 400)), whole(np.float32, (15, 10))  # short sums: transposing costs more
    for one, other in ((x, y), (x[:20], y[:20, :10]), (x[:, :12], y[:, :10]), (wide, few)):
        assert "optimization_barrier" not in lowered_text(lambda x, y: x.T @ y, one, other)


def test_a_transposed_matrix_by_a_batch_of_vectors():
    matrix, vectors = (whole(np.float32, shape) for shape in ((30, 20), (4, 30)))
    mapped = arrax.vmap(lambda vector, matrix: matrix.T @ vector / 2, (0, None))
    assert "contracting_dims = [1] x [0]" in lowered_text(mapped, vectors, matrix)
    np.testing.assert_array_equal(arrax.jit(mapped)(vectors, matrix), vectors @ matrix / 2)
    wide = whole(np.float32, (40, 5))
    few = lowered_text(lambda x, y: lax.dot_general(x, y, (((0,), (1,)), ((), ()))), matrix[:5], wide)
    assert "optimization_barrier" not in few  # the result is large beside the work


def test_products_of_8_bit_integers_stand_apart_from_what_computes_their_operands():
    def product(x, y):
        x, y = (jnp.round(30 * value).astype(jnp.int8) for value in (x, y.T))
        return lax.dot_general(x, y, (((1,), (1,)), ((), ())), preferred_element_type=jnp.int32)

    x, y = (RNG.uniform(-4, 4, shape).astype(np.float32) for shape in ((6, 9), (9, 5)))
    assert "name=product" in arrax.jit(product).lower(x, y).as_text("jaxpr")
    assert "name=product" not in arrax.jit(lambda x, y: x @ y).lower(x, y).as_text("jaxpr")
    wanted = np.round(30 * x).astype(np.int32) @ np.round(30 * y).astype(np.int32)
    np.testing.assert_array_equal(arrax.jit(product)(x, y), wanted)


def test_sums_of_products_at_the_same_place_need_no_transposition():
    x = np.arange(64 * 48, dtype=np.float32).reshape(64, 48) % 7
    y = np.arange(8 * 24 * 48, dtype=np.float32).reshape(8, 24, 48) % 5
    for spec, operand in (("ij,ij->j", x), ("abc,abc->c", y), ("abc,abc->bc", y)):
        product = arrax.jit(lambda x, y, spec=spec: jnp.einsum(spec, x, y))
        np.testing.assert_array_equal(product(operand, operand), np.einsum(spec, operand, operand))
        assert "transpose" not in product.lower(operand, operand).as_text()
    product = arrax.jit(lambda x, y: jnp.einsum("ij,ji->j", x, y))
    np.testing.assert_array_equal(product(x, x.T), np.einsum("ij,ji->j", x, x.T))
