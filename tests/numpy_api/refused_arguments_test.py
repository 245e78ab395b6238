"""Arguments of numpy's functions that are refused, or warned of."""

import collections
import collections.abc
import inspect
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import arrax
import arrax.numpy as jnp
from arrax import lax

WHOLE = np.array([3, -1, 0, 7, 2], np.int32)
FLOATS = np.array([1.5, -2.25, 0.5, 3.0, -0.75], np.float32)
COMPLEX = np.array([1 + 2j, -1.5j, np.nan, -2 - 1j], np.complex64)
BOOLS = np.array([True, False, True])
CUBE = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
NONE = np.zeros((0, 3), np.float32)

# fmt: off
MISTAKES = {
    "floor":     (lambda: jnp.floor(COMPLEX), TypeError),
    "ceil":      (lambda: jnp.ceil(COMPLEX), TypeError),
    "trunc":     (lambda: jnp.trunc(COMPLEX), TypeError),
    "fabs":      (lambda: jnp.fabs(COMPLEX), TypeError),
    "hypot":     (lambda: jnp.hypot(COMPLEX, 1), TypeError),
    "i0":        (lambda: jnp.i0(COMPLEX), TypeError),
    "signbit":   (lambda: jnp.signbit(COMPLEX), TypeError),
    "std":       (lambda: jnp.std(FLOATS, dtype=int), ValueError),
    "nanvar":    (lambda: jnp.nanvar(FLOATS, where=WHOLE), ValueError),
    "cov":       (lambda: jnp.cov(FLOATS, dtype=int), ValueError),
    "quantile":  (lambda: jnp.quantile(FLOATS, 0.5j), TypeError),
    "nonzero":   (lambda: jnp.nonzero(FLOATS, size=2, fill_value=WHOLE), ValueError),
    "split":     (lambda: jnp.split(FLOATS, [1.5]), TypeError),
    "take":      (lambda: jnp.take(NONE, WHOLE, axis=0), IndexError),
    "delete":    (lambda: jnp.delete(np.float32(1), 0, axis=0), ValueError),
    "insert":    (lambda: jnp.insert(FLOATS, 1.5, 0), IndexError),
    "lexsort":   (lambda: jnp.lexsort(2), TypeError),
    "ediff1d":   (lambda: jnp.ediff1d(BOOLS), TypeError),
    "ravel":     (lambda: jnp.ravel(FLOATS, order="x"), ValueError),
    "linspace":  (lambda: jnp.linspace(1, 5, axis=1), ValueError),
    "geomspace": (lambda: jnp.geomspace(1j, 5, dtype=int), TypeError),
    "dot":       (lambda: jnp.dot(COMPLEX, COMPLEX, preferred_element_type=jnp.float16), TypeError),
    "fftfreq":   (lambda: jnp.fft.fftfreq(4, d=1j), TypeError),
    "bincount":  (lambda: jnp.bincount(WHOLE, length=-1), ValueError),
    "choose":    (lambda: jnp.choose(0, 2), TypeError),
    "unwrap":    (lambda: jnp.unwrap(COMPLEX), TypeError),
    "trapezoid": (lambda: jnp.trapezoid(CUBE, np.float32(1)), ValueError),
    "trapezoid over a list": (lambda: jnp.trapezoid(FLOATS, dx=[1.0]), TypeError),
    "var":       (lambda: jnp.var(FLOATS, ddof=np.ones(1)), TypeError),
    "std of ddof": (lambda: jnp.std(FLOATS, ddof=1j), TypeError),
    "nanstd":    (lambda: jnp.nanstd(FLOATS, correction=[1]), TypeError),
    "einsum":    (lambda: jnp.einsum("i,i", FLOATS, FLOATS, optimize=1.5), TypeError),
    "einsum along no path": (lambda: jnp.einsum("i,i", FLOATS, FLOATS, optimize=(1, 2)), TypeError),
    "interp":    (lambda: jnp.interp(1j, FLOATS, FLOATS), TypeError),
    "interp of nothing": (lambda: jnp.interp(1.0, FLOATS[:0], FLOATS[:0]), ValueError),
    "kaiser":    (lambda: jnp.kaiser(3, FLOATS), TypeError),
    "histogram": (lambda: jnp.histogram(FLOATS, bins=2.5), TypeError),
    "histogram_bin_edges": (lambda: jnp.histogram_bin_edges(FLOATS, "auto"), NotImplementedError),
    "histogram of no bins": (lambda: jnp.histogram(FLOATS, bins=None), TypeError),
    "histogram over no range": (lambda: jnp.histogram(FLOATS, range=np.ones(3)), ValueError),
    "histogram over a descending range": (lambda: jnp.histogram(FLOATS, range=(1, 0)), ValueError),
    "frombuffer": (lambda: jnp.frombuffer(b"abcd", dtype=2.5), TypeError),
    "fromstring": (lambda: jnp.fromstring("1 2", dtype=-1, sep=" "), TypeError),
    "nan_to_num": (lambda: jnp.nan_to_num(FLOATS, posinf=[0]), TypeError),
    "reduceat":  (lambda: jnp.add.reduceat(FLOATS, FLOATS), ValueError),
    "take_along_axis": (lambda: jnp.take_along_axis(NONE, WHOLE[:, None], 0), IndexError),
    "repeat":    (lambda: jnp.repeat(FLOATS, 2, total_repeat_length=-1), ValueError),
    "unique":    (lambda: jnp.unique(FLOATS, size=-2), ValueError),
    "array of bytes": (lambda: jnp.array(b"abc"), TypeError),
    "array of complex numbers": (lambda: jnp.array([1j], dtype="float32"), TypeError),
    "take with a text": (lambda: jnp.take(FLOATS, 0, mode="fill", fill_value="a"), TypeError),
    "pad by a traced width": (lambda: arrax.jit(lambda n: jnp.pad(FLOATS, n))(1), arrax.errors.ConcretizationTypeError),
    "eye":       (lambda: arrax.jit(lambda k: jnp.eye(3, k=k))(1.5), ValueError),
    "eye at a fraction": (lambda: arrax.jit(lambda: jnp.eye(3, k=1.5))(), TypeError),
    "tri":       (lambda: arrax.jit(lambda: jnp.tri(3, k=1.5))(), TypeError),
    "sort":      (lambda: arrax.jit(jnp.sort)(arrax.random.split(arrax.random.key(0))), TypeError),
    "rfftfreq":  (lambda: jnp.fft.rfftfreq(4, d=FLOATS), ValueError),
}
# fmt: on


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_named(name):
    call, error = MISTAKES[name]
    with pytest.raises(
        error, match="axis" if error is ValueError and name in ("delete", "linspace") else name.split()[0]
    ):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda x: jnp.sum(x, dtype="float32"), lambda x: jnp.cumsum(x, dtype="int32"), lambda x: jnp.mean(x, dtype="float32"),
        lambda x: jnp.nanmean(x, dtype="float32"), lambda x: jnp.trace(x[None], dtype="int32"), lambda x: x.astype("int8"),
        lambda x: lax.convert_element_type(x, "float32"), lambda x: jnp.asarray(x, "float32"),
    ],
)  # fmt: skip
def test_dropped_imaginary_parts_are_warned_of(call):
    with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part"):
        assert not jnp.iscomplexobj(call(jnp.asarray(COMPLEX)))


# fmt: off
TRACED_SIZES = {
    "nonzero":  lambda n: jnp.nonzero(FLOATS, size=n),
    "compress": lambda n: jnp.compress(BOOLS, FLOATS, size=n),
    "unique":   lambda n: jnp.unique(FLOATS, size=n),
    "intersect1d": lambda n: jnp.intersect1d(FLOATS, FLOATS, size=n),
    "setdiff1d": lambda n: jnp.setdiff1d(FLOATS, FLOATS, size=n),
    "repeat":   lambda n: jnp.repeat(FLOATS, 2, total_repeat_length=n),
    "bincount": lambda n: jnp.bincount(WHOLE, length=n),
    "histogram_bin_edges": lambda n: jnp.histogram_bin_edges(FLOATS, bins=n),
    "tril_indices": lambda n: jnp.tril_indices(3, n),
    "diag_indices": lambda n: jnp.diag_indices(n),
    "hanning":  lambda n: jnp.hanning(n),
    "kaiser":   lambda n: jnp.kaiser(n, 1.0),
    "fftfreq":  lambda n: jnp.fft.fftfreq(n),
    "one_hot":  lambda n: arrax.nn.one_hot(WHOLE, n),
    "segment_sum": lambda n: arrax.ops.segment_sum(FLOATS, WHOLE, n),
    "permutation": lambda n: arrax.random.permutation(arrax.random.key(0), n),
    "choice":   lambda n: arrax.random.choice(arrax.random.key(0), n),
}
# fmt: on


@pytest.mark.parametrize("name", TRACED_SIZES)
def test_sizes_have_to_be_known(name):
    with pytest.raises(arrax.errors.ConcretizationTypeError, match=f"argument of .*{name}"):
        arrax.jit(TRACED_SIZES[name])(2)


@pytest.mark.parametrize("select", [jnp.compress, jnp.extract])
def test_no_more_slices_are_selected_than_there_are(select):
    assert_array_equal(select(np.array([True, False, True]), np.arange(3), size=3, fill_value=7), [0, 2, 7])
    with pytest.raises(ValueError, match="size must be at most the length 3"):
        select(np.array([True, False, True]), np.arange(3), size=4)


def test_values_that_are_no_elements_are_refused_or_warned_of():
    for values in (None, [0.0, None]):
        with pytest.warns(FutureWarning, match="None encountered"):
            assert np.isnan(jnp.array(values)).any()
    with pytest.raises(ValueError, match="complex"):
        jnp.arange(1 + 2j, 5)


def test_integers_are_not_raised_to_negative_powers():
    known = jnp.int32(-1)
    for raised in (
        lambda: jnp.power(7, -2), lambda: jnp.array([7]) ** -2, lambda: jnp.int8(7) ** known, lambda: 2**known,
        lambda: jnp.power(True, known), lambda: arrax.vmap(lambda x: x**known)(jnp.arange(3)),
    ):  # fmt: skip
        with pytest.raises(TypeError, match="negative powers"):
            raised()
    assert len(arrax.make_jaxpr(lambda x: jnp.power(x, jnp.int32(2)))(1).eqns) <= 2
    assert float(jnp.power(2.0, known)) == 0.5 and jnp.power(jnp.arange(1, 3), -jnp.ones(2, int)).tolist() == [1, 0]


def test_arrays_are_not_hashable():
    assert not isinstance(jnp.ones(1), collections.abc.Hashable)
    with pytest.raises(TypeError, match="unhashable"):
        hash(jnp.ones(1))


@pytest.mark.parametrize(
    "call, kind, words",
    [
        (lambda: jnp.zeros(3) + jnp.zeros(4), TypeError, "shapes"),
        (lambda: jnp.zeros((2, 3)) + jnp.zeros(4), ValueError, "shapes"),
        (lambda: jnp.ones((-1, 1)), TypeError, "non-negative"),
        (lambda: arrax.random.key(0) + 1, TypeError, "key<fry>"),
        (lambda: lax.reduce_window(jnp.ones(4), jnp.ones(2), lax.add, (2,), (1,), "VALID"), TypeError, "scalar"),
        (lambda: arrax.jit(lambda x: pickle.dumps(x))(1.0), arrax.errors.ConcretizationTypeError, "pickl"),
        (lambda: arrax.jit(lambda x: x.sharding)(1.0), AttributeError, "typeof"),
        (lambda: arrax.jit(lambda y: lax.composite(lambda x: x + y, "my")(y))(1.0), arrax.errors.UnexpectedTracerError, "close over"),
        (lambda: lax.broadcast_shapes((-1,)), TypeError, "non-negative"),
        (lambda: lax.broadcast_shapes("hello"), TypeError, "hello"),
        (lambda: arrax.random.permutation(arrax.random.key(0), 10, axis=3), ValueError, "axis 3"),
        (lambda: jnp.zeros(2, 3), TypeError, r"zeros\(\(2, 3\)\)"),
        (lambda: jnp.empty(2, 3), TypeError, r"empty\(\(2, 3\)\)"),
        (lambda: arrax.jit(lambda n: jnp.arange(n))(3), TypeError, "argument 'stop'"),
        (lambda: jnp.corrcoef(CUBE[0], dtype=int), ValueError, "corrcoef"),
        (lambda: jnp.nansum(FLOATS, where=WHOLE), ValueError, "nansum"),
        (lambda: jnp.expand_dims(FLOATS, (1, 1)), ValueError, "expand_dims"),
        (lambda: jnp.size(CUBE, (0, 0)), ValueError, "size"),
        (lambda: arrax.grad(lambda x: x)("a"), TypeError, "is not a valid JAX type"),
        (lambda: arrax.vmap(lambda x: x)({}), ValueError, "no argument holds an array"),
        (lambda: arrax.vmap(lambda x: x, in_axes=False), TypeError, "in_axes"),
        (lambda: arrax.vmap(lambda x: x, in_axes={"a": 0}), TypeError, "in_axes"),
        (lambda: arrax.jit(staticmethod(abs)), TypeError, "staticmethod"),
        (lambda: arrax.jit(lambda a, /, **kw: a, static_argnames="a"), ValueError, "by its position"),
        (lambda: arrax.jit(lambda *a, **kw: a, donate_argnames="a"), ValueError, "by its position"),
        (lambda: arrax.jit(lambda x: x, static_argnames="x", donate_argnames="x"), ValueError, "argnames.*'x'"),
        (lambda: arrax.eval_shape(lambda x: lax.top_k(x, 4), arrax.ShapeDtypeStruct((2**31 + 1,), "int8")), ValueError, "int32"),
    ],
)  # fmt: skip
def test_mistakes_have_the_class_that_they_have_elsewhere(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


def test_other_ranks_of_vectorized_functions_can_be_refused():
    add = jnp.vectorize(lambda a, b: a + b)
    with arrax.numpy_rank_promotion("raise"), pytest.raises(ValueError, match="vectorize"):
        add(jnp.ones((2, 3)), jnp.ones(3))


@pytest.mark.parametrize(
    "function",
    [
        lambda x, i: x[i], lambda x, i: x.at[i].set(1), jnp.take, lambda x, i: jnp.take_along_axis(x, i, 0),
        lambda x, i: jnp.argsort(x), lambda x, i: jnp.argmax(x), lambda x, i: jnp.nonzero(x, size=3),
        lambda x, i: jnp.unique(x, size=3), jnp.searchsorted,
    ],
)  # fmt: skip
def test_places_that_no_index_counts_are_refused(function):
    long, places = arrax.ShapeDtypeStruct((2**31 + 1,), np.int8), jnp.array([-1])
    with pytest.raises(OverflowError, match="int32 cannot count the 2147483649 places"):
        arrax.eval_shape(function, long, places)
    with arrax.enable_x64(True):
        arrax.eval_shape(function, long, places)


X = jnp.array([[1.0, 2.0], [3.0, 4.0]])

GIVEN = [(X,), (X, X), (X, 1), (X, X, X), (X, 1, X), ([X, X],)]

WITH_OUT = {
    f"{module.__name__}.{name}": function
    for module in (jnp, jnp.linalg, jnp.fft)
    for name in dir(module)
    if callable(function := getattr(module, name)) and not isinstance(function, type)
    if "out" in getattr(inspect.signature(function), "parameters", ())
}


@pytest.mark.parametrize("name", WITH_OUT)
def test_no_function_ignores_the_array_to_write_to(name):
    for args in GIVEN:
        try:
            WITH_OUT[name](*args, out=np.ones((2, 2)))
        except (NotImplementedError, TypeError, ValueError) as error:
            if "out" in str(error):
                return  # whatever else these arguments are good for
        else:
            pytest.fail(f"{name} takes out, and gives another array")
    pytest.fail(f"{name} does not refuse out")


@pytest.mark.parametrize("array", [np.ones(2), jnp.ones(2)], ids=["numpy", "arrax"])
def test_arrays_are_no_dtypes(array):
    calls = [
        lambda: jnp.hstack([1, 2], array),
        lambda: jnp.array([1], array),
        lambda: jnp.zeros(2, array),
        lambda: jnp.ones(1).astype(array),
    ]
    for call in calls:
        with pytest.raises(TypeError, match="argument dtype: an array is no dtype; that of x is x.dtype"):
            call()


def test_fractions_are_no_counts():
    for call in (lambda: jnp.round(1.25, 0.5), lambda: arrax.nn.one_hot(1, 2.5), lambda: jnp.eye(2.5)):
        with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
            call()


def test_shapes_that_do_not_fit_are_listed_as_documented():
    with pytest.raises(ValueError) as caught:
        jnp.ones(100) * jnp.ones((100, 10))
    first, second = str(caught.value).split("\n")
    assert first == "Incompatible shapes for broadcasting: shapes=[(100,), (100, 10)]" and "multiply" in second


def test_a_step_of_zero_is_a_division_by_zero_as_in_numpy():
    for start, stop in ((0, 10), (0.0, 1.0)):
        with pytest.raises(ZeroDivisionError, match="arange: step"):
            jnp.arange(start, stop, 0)


@pytest.mark.parametrize("offset", [1.5, True, np.float32(1), np.array([0, 1]), 1j])
def test_offsets_of_a_trace_are_integers(offset):
    with pytest.raises(ValueError, match="trace: offset must be an integer"):
        jnp.trace(np.eye(3), offset=offset)


def test_conditions_have_no_sign():
    for condition in (True, np.array([True, False])):
        with pytest.raises(TypeError, match="sign does not accept dtype bool"):
            jnp.sign(condition)
