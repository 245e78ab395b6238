"""Methods and operators of arrays, on arrays and tracers alike, and what promotion they do."""

import copy
import operator
import warnings

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax.core.interpreter import Tracer
from arrax.numpy_api import array_methods
from arrax.transforms.jit import Jitted

M = np.float32([[3.0, -1.0, 2.0], [0.5, 4.0, -2.5]])
I = np.int32([[3, 1, 2], [0, 4, 2]])  # noqa: E741

# fmt: off
METHODS = {  # what is done: the same with NumPy
    "T":            lambda m, i: m.T,
    "all any":      lambda m, i: (i.all(axis=1), i.any()),
    "arg":          lambda m, i: (m.argmax(axis=0), m.argmin(), m.argsort(axis=1)),
    "astype":       lambda m, i: i.astype("float32"),
    "clip":         lambda m, i: (m.clip(0, 2), m.clip(max=1), i.clip(min=1)),
    "conj":         lambda m, i: (m.conj(), m.conjugate()),
    "choose":       lambda m, i: (i[0] % 2).choose([m[0], m[1]], mode="clip"),
    "compress":     lambda m, i: m.compress(np.array([True, False, True]), axis=1),
    "copy":         lambda m, i: (m.copy(), copy.copy(m), copy.deepcopy(m)),
    "cumulative":   lambda m, i: (m.cumsum(axis=1), i.cumprod(axis=0)),
    "diagonal":     lambda m, i: (m.diagonal(1), m.trace()),
    "dot":          lambda m, i: m.dot(m.T),
    "flatten":      lambda m, i: (m.flatten(), m.ravel(), m.reshape(3, 2), m.reshape((6,)), m.reshape(-1, order="F")),
    "max":          lambda m, i: (m.max(axis=1), m.min(axis=0, keepdims=True)),
    "mean":         lambda m, i: (m.mean(axis=1), m.std(axis=0), m.var(ddof=1)),
    "parts":        lambda m, i: (m.real, m.imag, m.itemsize, m.nbytes, m.ndim, m.size),
    "prod":         lambda m, i: (m.prod(axis=1), i.sum(), m.sum(axis=0)),
    "repeat":       lambda m, i: m.repeat(2, axis=1),
    "round":        lambda m, i: m.round(),
    "searchsorted": lambda m, i: np.float32([1, 2, 3]).searchsorted(2.5) + 0 * i,
    "sort":         lambda m, i: m[0].argsort(),
    "squeeze":      lambda m, i: m[:1].squeeze(0),
    "swapaxes":     lambda m, i: (m.swapaxes(0, 1), m.transpose(1, 0), m.transpose()),
    "take":         lambda m, i: m.take(np.array([2, 0]), axis=1),
    "view":         lambda m, i: (m.view("int32"), i.view("int16")),
    "iteration":    lambda m, i: (list(m)[1], len(m), m[0][1], m[..., None]),
    "unary":        lambda m, i: (-m, +m, abs(m), ~i),
    "arithmetic":   lambda m, i: (m + m, m - 1, 2 * m, m / i.clip(1), m // 2, m % 2, m**2, 2**m, 1 - m, divmod(m, 2)),
    "bits":         lambda m, i: (i & 1, i | 4, i ^ 3, i << 1, i >> 1, 1 & i),
    "order":        lambda m, i: (m < 1, m <= i, m > i, m >= 0, m == i, m != 2),
    "matmul":       lambda m, i: (m @ m.T, np.ones((1, 2), np.float32) @ m),
    "NumPy first":  lambda m, i: (np.float32(2) * m, np.int32(3) + i, np.ones(3, np.float32) - m),
}
# fmt: on


def flat(result):
    return (
        [leaf for item in result for leaf in flat(item)] if isinstance(result, tuple | list) else [np.asarray(result)]
    )


def check(ours, theirs):
    for mine, expected in zip(flat(ours), flat(theirs), strict=True):
        assert mine.shape == expected.shape
        np.testing.assert_allclose(mine, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("case", METHODS)
def test_arrays_have_the_methods_of_numpy(case):
    check(METHODS[case](jnp.array(M), jnp.array(I)), METHODS[case](M, I))


def test_tracers_have_the_methods_of_numpy():
    results = arrax.jit(lambda m, i: {name: flat_traced(case(m, i)) for name, case in METHODS.items()})(M, I)
    for name, case in METHODS.items():
        check(results[name], case(M, I))


def flat_traced(result):
    return (
        [x for item in result for x in flat_traced(item)] if isinstance(result, tuple | list) else [jnp.asarray(result)]
    )


def test_the_class_has_the_methods_too():
    np.testing.assert_allclose(arrax.vmap(arrax.Array.sum)(jnp.array(M)), M.sum(axis=1), rtol=1e-6)
    np.testing.assert_array_equal(arrax.vmap(arrax.Array.__getitem__, (0, None))(jnp.array(M), 1), M[:, 1])
    assert hasattr(jnp.ndarray, "at")


def test_foreign_operands_are_asked_in_turn():
    class Other:
        def __radd__(self, other):
            return "mine"

    assert jnp.ones(2) + Other() == "mine"
    with pytest.raises(TypeError):
        jnp.ones(2) + "text"
    with pytest.raises(TypeError):
        operator.lt(jnp.ones(2), None)


def test_operands_that_decline_to_be_arrays_are_asked_in_turn():
    class Other:
        def __getattr__(self, name):  # classes that answer for every special method say so
            if name.startswith("__"):
                return lambda *args: NotImplemented
            raise AttributeError(name)

        def __rmul__(self, other):
            return "mine"

        __rmatmul__ = __rpow__ = __rdivmod__ = __gt__ = __eq__ = __rmul__
        __hash__ = None

    class Accepted:
        def __jax_array__(self):
            return jnp.full(2, 3.0)

        def __rmul__(self, other):
            return "mine"

    def traced(x):
        assert x * Other() == "mine" and x @ Other() == "mine"
        return x * Accepted()

    x, other = jnp.ones(2), Other()
    assert {x * other, x @ other, x**other, divmod(x, other), x < other, x == other} == {"mine"}
    np.testing.assert_array_equal(x * Accepted(), [3, 3])
    np.testing.assert_array_equal(Accepted() - x, [2, 2])
    np.testing.assert_array_equal(x @ Accepted(), 6)
    np.testing.assert_array_equal(arrax.jit(traced)(x), [3, 3])
    with pytest.raises(TypeError):
        x + other


def test_operators_of_objects_that_give_arrays_are_repeated_like_those_of_arrays(monkeypatch):
    class Wrapper:
        def __jax_array__(self):
            return jnp.full(2, 3.0)

    def refuse(*args, **kwargs):
        raise AssertionError("the compiled operator is not used")

    x = jnp.ones(2)
    assert (x - Wrapper()).tolist() == (x - 3.0).tolist()
    monkeypatch.setattr(Jitted, "run_first", refuse)
    assert (x - Wrapper()).tolist() == [-2.0, -2.0]


def test_arrays_differ_from_none():
    def compare(x):
        assert (x == None) is False and (x != None) is True  # noqa: E711
        return x

    compare(jnp.ones(2))
    arrax.jit(compare)(1.0)


def test_traced_arrays_tell_nothing_of_memory():
    def look(x):
        assert x.device is None and copy.deepcopy(x).aval == x.aval
        for name in ("addressable_shards", "committed", "is_deleted", "is_fully_replicated", "unsafe_buffer_pointer"):
            with pytest.raises(arrax.errors.ConcretizationTypeError, match=name):
                getattr(x, name)
        return x

    arrax.jit(look)(1.0)


# ---- promotion -------------------------------------------------------------------------------------------------------


def test_strict_promotion_refuses_mixed_dtypes():
    with arrax.numpy_dtype_promotion("strict"):
        assert (jnp.arange(2) + 1).dtype == np.int32
        assert (jnp.ones(2) * 2).dtype == np.float32
        for call in (lambda: jnp.arange(2) + jnp.ones(2), lambda: jnp.add(np.int8(1), np.int16(1))):
            with pytest.raises(ValueError, match="numpy_dtype_promotion=strict"):
                call()


def test_rank_promotion_is_allowed_warned_of_or_refused():
    column, row = jnp.ones((2, 1)), jnp.ones(3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (column + row).shape == (2, 3)
    with arrax.numpy_rank_promotion("warn"), pytest.warns(UserWarning, match="add"):
        assert jnp.add(jnp.ones((2, 4)), jnp.ones(4)).shape == (2, 4)
    with arrax.numpy_rank_promotion("raise"):
        assert (column + 1.0).shape == (2, 1)
        with pytest.raises(ValueError, match="rank_promotion='raise'"):
            jnp.add(column, row)


@pytest.mark.parametrize(
    "call",
    [
        lambda: jnp.zeros(2, "float64"),
        lambda: jnp.arange(2, dtype="int64"),
        lambda: jnp.ones(2).astype("complex128"),
        lambda: jnp.array([1], dtype=np.uint64),
        lambda: jnp.sum(jnp.ones(2), dtype="float64"),
    ],
)
def test_requests_of_64_bits_are_truncated_with_a_warning(call):
    with pytest.warns(UserWarning, match="Explicitly requested dtype .* is not available"):
        assert call().dtype.itemsize in (4, 8) and call().dtype.name in ("float32", "int32", "uint32", "complex64")
    with arrax.enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert call().dtype.name in ("float64", "int64", "uint64", "complex128")


def test_great_unsigned_integers_are_taken():
    with arrax.enable_x64(True):
        assert jnp.asarray([2**63], dtype="uint64")[0] == np.uint64(2**63)
        assert jnp.asarray([[2**64 - 1]], dtype="uint64")[0, 0] == np.uint64(2**64 - 1)
        with pytest.raises(OverflowError):
            jnp.asarray([2**63])


def test_axes_out_of_bounds_are_value_and_index_errors():
    for error in (ValueError, IndexError):
        with pytest.raises(error, match="axis 3 is out of bounds"):
            jnp.expand_dims(jnp.ones((2, 2)), 3)


def test_no_field_of_a_tracer_hides_a_method():
    def fields(cls):
        yield from getattr(cls, "__slots__", ())
        for child in cls.__subclasses__():
            yield from fields(child)

    assert set(fields(Tracer)) & set(array_methods.METHODS | array_methods.TRACED) == set()


@pytest.mark.parametrize("jitted", [False, True])
@pytest.mark.parametrize("source", ["int32", "complex64", "bool", "int8", "float16"])
@pytest.mark.parametrize("target", ["complex64", "bool", "int8", "float32", "uint16"])
def test_views_have_the_bits_of_numpy(source, target, jitted):
    x = (np.arange(24).reshape(3, 8) % 7).astype(source)
    view = lambda a: a.view(target)  # noqa: E731
    found = (arrax.jit(view) if jitted else view)(jnp.asarray(x))
    np.testing.assert_array_equal(found, x.view(np.uint8).view(target) if target != "bool" else x.view(np.uint8) != 0)


def test_views_of_another_type_or_of_a_part_of_an_element_are_refused():
    with pytest.raises(NotImplementedError, match="type"):
        jnp.ones(2).view(np.int32, type=np.ndarray)
    with pytest.raises(ValueError, match="whole number of complex64"):
        jnp.ones(3).view("complex64")
    with pytest.raises(ValueError, match="0d array"):
        jnp.array(1j).view("float32")


@pytest.mark.parametrize("other", [[1, 2], (1, 2), {}, set()])
def test_equality_with_containers_is_refused(other):
    for compare in (operator.eq, operator.ne):
        with pytest.raises(TypeError, match="unsupported operand type"):
            compare(jnp.array([1, 2]), other)
        with pytest.raises(TypeError, match="unsupported operand type"):
            arrax.jit(lambda x, compare=compare: compare(other, x))(jnp.array([1, 2]))


@pytest.mark.parametrize("other", [[1, 2], (1, 2)])
def test_products_with_sequences_are_refused_and_do_not_repeat_these(other):
    for product in (lambda x: x * other, lambda x: other * x):
        with pytest.raises(TypeError, match="unsupported operand type"):
            product(jnp.array(2))
        with pytest.raises(TypeError, match="unsupported operand type"):
            arrax.jit(product)(2)
    assert "ab" * jnp.array(2) == "abab"


def test_sequences_with_products_of_their_own_are_asked():
    class Vector(tuple):
        def __mul__(self, other):
            return Vector(x * other for x in self)

        __rmul__ = __mul__

    assert type(jnp.array(2) * Vector((1, 2))) is Vector
    assert [int(x) for x in Vector((1, 2)) * jnp.array(2)] == [2, 4]


def test_round_without_digits_gives_integers_eager_and_traced():
    for result in (round(jnp.array(2.6)), arrax.jit(round)(2.6), round(jnp.array([2.6]))[0]):
        assert result == 3 and result.dtype == np.int32
    assert round(jnp.float32(2.56), 1).dtype == np.float32


def test_only_scalars_take_a_format():
    assert f"{jnp.array(2.5):.2f}" == "2.50" and f"{jnp.arange(2)}" == "[0 1]"
    with pytest.raises(TypeError, match="unsupported format"):
        f"{jnp.ones(2):.2f}"
    with pytest.raises(TypeError, match="unsupported format"):
        arrax.jit(lambda x: f"{x:.2f}")(1.0)


def test_the_truth_of_a_traced_array_of_several_elements_is_ambiguous():
    with pytest.raises(ValueError, match="ambiguous"):
        arrax.jit(bool)(jnp.ones(2))


def test_ranges_are_sequences():
    np.testing.assert_array_equal(jnp.array(range(3)), np.arange(3))
    np.testing.assert_array_equal(jnp.array([range(2), range(2, 4)]), [[0, 1], [2, 3]])
    assert jnp.asarray(range(0)).shape == (0,)


@pytest.mark.parametrize("shape", [(0,), (0, 4), (2, 0), (0, 0, 2)], ids=str)
def test_views_of_no_elements_have_the_shape_of_numpys(shape):
    for dtype in ("float32", "complex64", "bool", "int8"):
        for other in ("uint8", "float16", "int32", "complex64", "bool"):
            expected = np.zeros(shape, dtype)
            try:
                expected = expected.view(other)
            except ValueError:
                continue
            found = jnp.zeros(shape, dtype).view(other)
            assert found.shape == expected.shape and found.dtype == expected.dtype


def test_keys_have_no_bits_to_view():
    for key in (arrax.random.key(0), arrax.random.split(arrax.random.key(0))):
        with pytest.raises(TypeError, match="have no bits that could be read as uint8"):
            key.view(jnp.uint8)


def test_arrays_of_no_elements_show_their_shape():
    assert repr(jnp.zeros(0)) == "Array([], shape=(0,), dtype=float32)"
    assert repr(jnp.zeros((2, 0), int)) == "Array([], shape=(2, 0), dtype=int32)"


@pytest.mark.parametrize("way", [arrax.eval_shape, lambda f, x: arrax.vmap(f)(x[None]), lambda f, x: f(x)])
@pytest.mark.parametrize(
    ("convert", "shape", "error", "says"),
    [
        (float, (3,), TypeError, "Only scalar arrays can be converted to Python scalars; got array.ndim=1"),
        (int, (1, 1), TypeError, "Only scalar arrays can be converted to Python scalars; got array.ndim=2"),
        (operator.index, (), TypeError, "Only integer scalar arrays can be converted to a scalar index"),
        (operator.index, (3,), TypeError, "Only integer scalar arrays can be converted to a scalar index"),
        (bool, (0,), ValueError, "The truth value of an empty array is ambiguous"),
        (bool, (2,), ValueError, "The truth value of an array with several elements is ambiguous"),
    ],
)
def test_what_is_no_scalar_is_refused_alike_whether_traced_or_not(way, convert, shape, error, says):
    with pytest.raises(error, match=says):
        way(convert, jnp.ones(shape))


@pytest.mark.parametrize("dtype", ["bool", "int8", "int16", "uint32", "float16", "float32", "complex64"])
def test_bytes_are_swapped_as_by_numpy(dtype):
    x = np.arange(6).reshape(2, 3).astype(dtype)
    for swapped in (jnp.array(x).byteswap(), arrax.jit(lambda v: v.byteswap())(x)):
        assert np.asarray(swapped).tobytes() == x.byteswap().tobytes() and swapped.dtype == x.dtype
    with pytest.raises(TypeError, match="byteswap"):
        arrax.random.key(0).byteswap()
