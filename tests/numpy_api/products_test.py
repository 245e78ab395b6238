"""Products of vectors, matrices and tensors, and Einstein sums: values, dtypes, programs, derivatives, mistakes."""

import functools

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.numpy_api.einsums import einsum_of_steps
from tests.numpy_api.comparison import assert_same

RANDOM = np.random.default_rng(0)
VECTOR = RANDOM.normal(size=3).astype(np.float32)
MATRIX = RANDOM.normal(size=(2, 3)).astype(np.float32)
CUBE = RANDOM.normal(size=(4, 2, 3)).astype(np.float32)
COMPLEX = (RANDOM.normal(size=3) + 1j * RANDOM.normal(size=3)).astype(np.complex64)
INTEGERS = np.array([3, -1, 2], dtype=np.int32)
ARRAYS = (VECTOR, MATRIX, CUBE, COMPLEX, INTEGERS)

# fmt: off
CASES = {
    "dot of vectors":     lambda np, v, m, t, c, i: np.dot(v, v),
    "dot":                lambda np, v, m, t, c, i: np.dot(m, np.transpose(m)),
    "dot of a number":    lambda np, v, m, t, c, i: np.dot(2, m),
    "dot of tensors":     lambda np, v, m, t, c, i: np.dot(t, np.swapaxes(t, 1, 2)),
    "dot promotes":       lambda np, v, m, t, c, i: np.dot(i, c),
    "dot of integers":    lambda np, v, m, t, c, i: np.dot(i, i),
    "matmul":             lambda np, v, m, t, c, i: np.matmul(m, np.transpose(m)),
    "matmul of vectors":  lambda np, v, m, t, c, i: [np.matmul(t, v), np.matmul(v, np.swapaxes(t, 1, 2)), np.matmul(v, v)],
    "matmul of batches":  lambda np, v, m, t, c, i: np.matmul(t, np.swapaxes(t, 1, 2)),
    "matmul broadcasts":  lambda np, v, m, t, c, i: np.matmul(np.reshape(t, (4, 1, 2, 3)), np.swapaxes(t, 1, 2)),
    "matmul on the left": lambda np, v, m, t, c, i: np.matmul(np.transpose(m), t),
    "matmul on the right": lambda np, v, m, t, c, i: np.matmul(t, np.transpose(m)),
    "vdot":               lambda np, v, m, t, c, i: [np.vdot(c, c), np.vdot(m, m)],
    "inner":              lambda np, v, m, t, c, i: [np.inner(t, m), np.inner(m, v), np.inner(v, 3)],
    "outer":              lambda np, v, m, t, c, i: np.outer(m, i),
    "kron":               lambda np, v, m, t, c, i: [np.kron(m, m), np.kron(v, t), np.kron(c, m)],
    "tensordot":          lambda np, v, m, t, c, i: [np.tensordot(t, m, 2), np.tensordot(t, m, (2, 1))],
    "tensordot of axes":  lambda np, v, m, t, c, i: np.tensordot(t, t, ([2, 0], [2, 0])),
    "cross":              lambda np, v, m, t, c, i: [np.cross(t, v), np.cross(i, c)],
    "cross along axes":   lambda np, v, m, t, c, i: np.cross(np.transpose(m), m, axisa=0, axisc=0),
    "einsum":             lambda np, v, m, t, c, i: np.einsum("ij,kj->ik", m, m),
    "einsum implicit":    lambda np, v, m, t, c, i: np.einsum("kj,ij", m, m),
    "einsum of three":    lambda np, v, m, t, c, i: np.einsum("ij,bkj,j->bik", m, t, v),
    "einsum of four":     lambda np, v, m, t, c, i: np.einsum("ij,bkj,j,bkc->ci", m, t, v, t),
    "einsum traces":      lambda np, v, m, t, c, i: np.einsum("ij,ii->j", np.outer(v, v), np.outer(v, v)),
    "einsum diagonal":    lambda np, v, m, t, c, i: np.einsum("jij->ij", np.stack([np.outer(v, v)] * 3)),
    "einsum transpose":   lambda np, v, m, t, c, i: np.einsum("abc->cab", t),
    "einsum ellipsis":    lambda np, v, m, t, c, i: [np.einsum("i...->...", t), np.einsum("...ij,kj->k...i", t, m)],
    "einsum broadcasts":  lambda np, v, m, t, c, i: np.einsum("...,...->...", t, m),
    "einsum elementwise": lambda np, v, m, t, c, i: np.einsum("ij,j->ji", m, v),
    "einsum sums":        lambda np, v, m, t, c, i: [np.einsum("ij->", m), np.einsum("ij,k->i", m, v)],
    "einsum interleaved": lambda np, v, m, t, c, i: [np.einsum(m, [0, 1], v, [1]), np.einsum(m, [5, 1], m, [7, 1], [7, 5])],
    "einsum promotes":    lambda np, v, m, t, c, i: np.einsum("i,i,i", i, c, v),
    "einsum of integers": lambda np, v, m, t, c, i: np.einsum("i,j->ij", i, i),
}
# fmt: on


def test_values_are_those_of_numpy():
    results = arrax.jit(lambda *xs: {name: case(jnp, *xs) for name, case in CASES.items()})(*ARRAYS)
    for name, case in CASES.items():
        assert_same(results[name], case(np, *ARRAYS), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("case", ["dot", "matmul broadcasts", "einsum of three", "tensordot"])
def test_eager_calls_give_the_same(case):
    assert_same(CASES[case](jnp, *ARRAYS), CASES[case](np, *ARRAYS), rtol=1e-4, atol=1e-4)


def test_products_of_vectors_conjugate_the_first():
    assert_same(jnp.vecdot(COMPLEX, COMPLEX), np.vdot(COMPLEX, COMPLEX))
    assert_same(jnp.vecdot(CUBE, MATRIX[:, :1], axis=-2), np.einsum("bij,ij->bj", CUBE, MATRIX[:, :1]))
    assert_same(jnp.matvec(CUBE, VECTOR), CUBE @ VECTOR)
    assert_same(jnp.vecmat(1j * VECTOR[:2], CUBE), -1j * (VECTOR[:2] @ CUBE))


@pytest.mark.parametrize("optimize", [True, False, "greedy", "optimal", [(1, 2), (0, 1)]])
def test_any_order_of_products_gives_the_same(optimize):
    expected = np.einsum("ij,kj,kl->il", MATRIX, MATRIX, MATRIX)
    assert_same(jnp.einsum("ij,kj,kl->il", MATRIX, MATRIX, MATRIX, optimize=optimize), expected)


def test_einsum_names_axes_by_labels_that_have_an_order():
    expected = MATRIX @ MATRIX.T
    assert_same(jnp.einsum(MATRIX, ["row", "sum"], MATRIX, ["to", "sum"]), expected)
    assert_same(jnp.einsum(MATRIX, ["to", "sum"], MATRIX, ["row", "sum"], ["row", "to"]), expected.T)
    assert_same(jnp.einsum(MATRIX, [-1, 0.5], MATRIX, [-7, 0.5]), expected.T)
    assert_same(jnp.einsum(CUBE, [..., ("b",), ("a",)]), np.swapaxes(CUBE, -1, -2))
    assert jnp.einsum_path(MATRIX, "ab", MATRIX, "cb")[0] == [(0, 1)]
    with pytest.raises(
        TypeError, match="einsum: axes are named by numbers, strings or other labels that have an order"
    ):
        jnp.einsum(MATRIX, [1, "a"])


def test_einsum_path_names_the_order():
    path, description = jnp.einsum_path("ij,kj,kl->il", MATRIX, MATRIX, MATRIX)
    assert sorted(path[-1]) == [0, 1] and "Optimized FLOP count" in str(description)


def test_element_types_may_be_preferred():
    small = np.array([100, 100], np.int8)
    assert_same(jnp.dot(small, small), np.int8(32))
    assert_same(jnp.dot(small, small, preferred_element_type="int32"), np.int32(20000))
    assert (
        jnp.einsum("i,i", jnp.ones(2, "float16"), jnp.ones(2, "float16"), preferred_element_type="float32").dtype
        == "float32"
    )
    assert jnp.matmul(MATRIX, VECTOR, precision="highest").shape == (2,)


@pytest.mark.parametrize("product", [
    jnp.dot, jnp.matmul, jnp.inner, jnp.vdot, jnp.vecdot, functools.partial(jnp.tensordot, axes=1), functools.partial(jnp.einsum, "i,i"),
])  # fmt: skip
@pytest.mark.parametrize("dtypes", [("float8_e4m3fn", "float8_e5m2"), ("bfloat16", "int4"), ("int4", "int8")])
def test_factors_without_a_common_dtype_are_multiplied_in_the_preferred_one(product, dtypes):
    a, b = (jnp.array([1, 2, 7]).astype(dtype) for dtype in dtypes)
    with pytest.raises(arrax.dtypes.TypePromotionError):
        product(a, b)
    assert_same(product(a, b, preferred_element_type="float32"), np.float32(1 + 4 + 7 * float(b[2])))
    if jnp.issubdtype(dtypes[0], jnp.floating):
        gradient = arrax.grad(lambda a: product(a, b, preferred_element_type="float32"))(a)
        assert gradient.dtype == dtypes[0] and gradient.tolist() == b.tolist()
    with pytest.raises(TypeError, match="dtype=key<fry> is not a valid dtype"):
        product(arrax.random.split(arrax.random.key(0), 3), b, preferred_element_type="float32")


@pytest.mark.parametrize("function", [
    lambda a, b: jnp.matmul(a, jnp.transpose(b)), lambda a, b: jnp.einsum("ij,kj,ij->k", a, b, a), lambda a, b: jnp.kron(a, b),
    lambda a, b: jnp.tensordot(a, b, ((0,), (0,))), lambda a, b: jnp.cross(a, b),
])  # fmt: skip
def test_derivatives_agree_with_finite_differences(function):
    other, tangent, step = np.sin(MATRIX) + 1, np.cos(MATRIX), 1e-2
    _, derivative = arrax.jvp(lambda a: function(a, other), (MATRIX,), (tangent,))
    high, low = (np.asarray(function(MATRIX + np.float32(s) * tangent, other), np.float64) for s in (step, -step))
    np.testing.assert_allclose(derivative, (high - low) / (2 * step), rtol=2e-3, atol=2e-3)


def test_products_are_one_operation():
    def operations(function, *args):
        return [eqn.primitive.name for eqn in arrax.make_jaxpr(function)(*args).jaxpr.eqns]

    assert operations(jnp.dot, VECTOR, VECTOR) == ["dot_general"]
    assert operations(jnp.matmul, CUBE, VECTOR) == ["dot_general"]
    assert operations(lambda a: jnp.einsum("ij,kj->ik", a, a), MATRIX) == ["dot_general"]
    assert operations(lambda a, b: jnp.einsum("ij,bkj->bki", a, b), MATRIX, CUBE) == ["dot_general"]
    four, two = np.eye(4, dtype=np.float32), np.eye(2, dtype=np.float32)
    chain = operations(lambda *each: jnp.einsum("ad,be,abc->edc", *each, optimize=[(0, 2), (0, 1)]), four, two, CUBE)
    assert chain == ["dot_general"] * 2  # what lies between is not brought into another order


# fmt: off
ERRORS = {
    "dot":         (lambda: jnp.dot(VECTOR, MATRIX), TypeError, r"\(3,\) and \(2, 3\)"),
    "matmul":      (lambda: jnp.matmul(MATRIX, MATRIX), TypeError, r"\(2, 3\) and \(2, 3\)"),
    "matmul of a number": (lambda: jnp.matmul(2.0, MATRIX), ValueError, "at least one axis"),
    "matmul of batches": (lambda: jnp.matmul(CUBE, np.ones((3, 3, 2))), ValueError, r"Incompatible shapes for matmul: \(4, 2, 3\)"),
    "inner":       (lambda: jnp.inner(VECTOR, VECTOR[:2]), TypeError, r"\(3,\) and \(2,\)"),
    "vecdot":      (lambda: jnp.vecdot(VECTOR, VECTOR[:2]), ValueError, "axes must match"),
    "matvec":      (lambda: jnp.matvec(MATRIX, VECTOR[:2]), ValueError, "inconsistent"),
    "tensordot":   (lambda: jnp.tensordot(CUBE, MATRIX, 3), TypeError, "exceeds input ranks"),
    "cross":       (lambda: jnp.cross(np.ones(4), VECTOR), ValueError, "2 or 3 components"),
    "list":        (lambda: jnp.dot([1], VECTOR), TypeError, "position 0"),
    "out":         (lambda: jnp.outer(VECTOR, VECTOR, out=MATRIX), NotImplementedError, "'out'"),
    "precision":   (lambda: jnp.dot(VECTOR, VECTOR, precision="foo"), ValueError, "foo"),
    "einsum size": (lambda: jnp.einsum("ij,jk", MATRIX, MATRIX), ValueError, "size of label 'j'"),
    "einsum rank": (lambda: jnp.einsum("ijk", MATRIX), ValueError, "rank of operand 0"),
    "einsum count": (lambda: jnp.einsum("ij", MATRIX, MATRIX), ValueError, "2 operands|number of operands|Number of"),
    "einsum output": (lambda: jnp.einsum("ij->k", MATRIX), ValueError, "'k' did not appear"),
    "einsum list": (lambda: jnp.einsum("i", [1, 2]), TypeError, "einsum requires ndarray"),
}
# fmt: on


@pytest.mark.parametrize("case", ERRORS)
def test_mistakes_are_explained(case):
    call, kind, words = ERRORS[case]
    with pytest.raises(kind, match=words):
        call()


@pytest.mark.parametrize(
    "formula", ["ij,jk->ik", "ij,jk->ki", "ij,jk->k", "ij,jk,kl->il", "bij,bkj->bik", "ij,ji->ij", "ij->i"]
)
def test_libraries_bring_products_of_their_own(formula):
    rng = np.random.default_rng(3)
    sizes = {letter: length for length, letter in enumerate("bijkl", 2)} | ({"j": 3} if formula == "ij,ji->ij" else {})
    operands = [
        rng.normal(size=[sizes[n] for n in term]).astype(np.float32) for term in formula.split("->")[0].split(",")
    ]
    made = []

    def negative(lhs, rhs, dimension_numbers, precision=None, preferred_element_type=None):
        made.append((precision, preferred_element_type))
        return -lax.dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)

    steps = len(operands) - 1
    for transform in (lambda f: f, arrax.jit):
        made.clear()
        got = transform(lambda *args: jnp.einsum(formula, *args, precision="highest", _dot_general=negative))(*operands)
        np.testing.assert_allclose(got, (-1) ** steps * np.einsum(formula, *operands), rtol=1e-4, atol=1e-5)
        assert made == steps * [("highest", np.float32)]
    same = arrax.make_jaxpr(lambda *args: jnp.einsum(formula, *args, _dot_general=lax.dot_general))(*operands)
    assert str(same) == str(arrax.make_jaxpr(lambda *args: jnp.einsum(formula, *args))(*operands))


def test_products_of_libraries_see_the_dtypes_of_the_operands_and_have_derivatives():
    seen = []

    def doubled(lhs, rhs, *described, **options):
        seen.append((lhs.dtype, rhs.dtype))
        return 2 * lax.dot_general(lhs, rhs, *described, **options)

    slope = arrax.grad(lambda x: jnp.einsum("ij,j->", x, jnp.arange(3), _dot_general=doubled))(jnp.ones((2, 3)))
    assert seen == [(np.float32, np.int32)]
    np.testing.assert_array_equal(slope, 2 * np.tile(np.arange(3.0), (2, 1)))


def test_plans_of_opt_einsum_are_carried_out():
    x, y, z = (np.arange(6.0).reshape(shape) for shape in ((2, 3), (3, 2), (2, 3)))
    operands, steps = pytest.importorskip("opt_einsum").contract_path("ij,jk,kl->il", x, y, z, einsum_call=True)
    got = einsum_of_steps(operands, steps, None, None)
    np.testing.assert_allclose(got, x @ y @ z)


WHOLE = np.array([[1 + 2j, 3j], [2, 1 - 1j]], np.complex64)


@pytest.mark.parametrize("name", ["dot", "matmul", "inner", "vdot", "tensordot"])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_real_results_of_complex_products_are_real_parts(name, dtype):
    wanted = getattr(np, name)(WHOLE, WHOLE).real.astype(dtype)
    assert_same(getattr(jnp, name)(WHOLE, WHOLE, preferred_element_type=dtype), wanted)
    assert_same(jnp.dot(WHOLE, 2j, preferred_element_type=dtype), (WHOLE * 2j).real.astype(dtype))
