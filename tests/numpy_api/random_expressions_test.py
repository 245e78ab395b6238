"""Expressions that once gave other results than NumPy, found by drawing them at random: one test each."""

import inspect

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp


def test_complex_numbers_are_sorted_along_the_last_axis():
    table = np.array([[2, 1], [0, -1]], np.float32)
    np.testing.assert_array_equal(jnp.sort_complex(table), np.sort_complex(table))


def test_odd_reflections_turn_the_long_axes_over_though_one_is_short():
    row = np.array([[3, 3, 3, 5]])
    np.testing.assert_array_equal(
        jnp.pad(row, (1, 2), mode="reflect", reflect_type="odd"),
        np.pad(row, (1, 2), mode="reflect", reflect_type="odd"),
    )


@pytest.mark.parametrize("p", [None, "fro", 1])
def test_no_matrices_have_no_condition_numbers(p):
    assert jnp.linalg.cond(jnp.zeros((0, 2, 2)), p).shape == (0,)


def test_the_step_function_of_a_number_and_no_values_has_no_values():
    assert jnp.heaviside(np.float32(np.nan), np.zeros(0, np.float32)).shape == (0,)


def test_slopes_and_integrals_of_integers_are_as_wide_as_other_fractions_of_them():
    with arrax.enable_x64(True):
        whole = jnp.arange(4, dtype="int32")
        assert jnp.gradient(whole).dtype == jnp.trapezoid(whole).dtype == jnp.mean(whole).dtype == np.float32
        assert jnp.gradient(whole, 0.5).dtype == jnp.angle(whole).dtype == np.float64


def test_powers_of_numbers_to_counted_exponents_are_not_weak():
    counts, half = jnp.arange(3), jnp.ones(3, jnp.bfloat16)
    assert (0.5**counts).weak_type is (jnp.asarray(0.5) ** counts).weak_type is False
    assert (half / (1 - 0.9**counts)).dtype == np.float32
    assert (counts**0.5).weak_type is (0.5 ** jnp.asarray(2)).weak_type is True
    assert [str(eqn.primitive) for eqn in arrax.make_jaxpr(lambda n: 0.9**n)(counts).eqns] == [
        "convert_element_type",
        "pow",
    ]


@pytest.mark.parametrize(
    "call",
    [
        lambda: jnp.hypot(jnp.arange(3), 2.0),
        lambda: jnp.logaddexp2(jnp.arange(3), 2.0),
        lambda: jnp.heaviside(jnp.arange(3), 2.0),
        lambda: jnp.gcd(jnp.ones(2, bool), 2),
        lambda: jnp.ones(2, bool) ** jnp.asarray(2),
        lambda: jnp.log2(2.0),
        lambda: jnp.log10(2.0),
        lambda: jnp.angle(2.0),
        lambda: jnp.rint(2),
    ],
)
def test_results_that_are_not_weak_though_operands_are(call):
    assert call().weak_type is False


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[np.array([], int)], lambda x: jnp.repeat(x, 2), lambda x: x[np.zeros(0, bool)],
        lambda x: jnp.take_along_axis(x[None], np.zeros((1, 1), int), 0),
    ],
)  # fmt: skip
def test_nothing_of_a_weak_array_is_weak_compiled_or_not(function):
    nothing = jnp.broadcast_to(jnp.asarray(2.0), (0,))
    assert function(nothing).weak_type is arrax.jit(function)(nothing).weak_type is True


def test_look_ups_in_an_empty_axis_give_nothing_where_the_result_is_empty_anyway():
    assert jnp.zeros((0, 3))[jnp.array([[2, 1]]), 0:0].shape == (1, 2, 0)


@pytest.mark.parametrize(
    "function",
    [jnp.abs, lambda x: jnp.maximum(x, 2.0), lambda x: jnp.clip(x, 0.0, 2.0), lambda x: jnp.hypot(x, 2.0)],
)
def test_gradients_of_python_numbers_are_weak_as_these(function):
    assert arrax.grad(function)(1.5).weak_type is True
    assert arrax.grad(function)(np.float32(1.5)).weak_type is False


def test_functions_of_two_arrays_compute_in_their_common_dtype():
    small, half = jnp.arange(3, dtype="int8"), jnp.ones(3, jnp.float16)
    assert jnp.trapezoid(small, half).dtype == np.float16
    assert arrax.nn.celu(small, half).dtype == arrax.nn.squareplus(small, half).dtype == np.float16


def test_numbers_in_the_place_of_vectors():
    assert jnp.cumsum(5, axis=-1).shape == jnp.cumprod(5, axis=0).shape == (1,)
    assert jnp.roots(3.0).shape == (0,)
    assert jnp.zeros(True).shape == (1,)


@pytest.mark.parametrize(
    "function",
    [jnp.add, jnp.logical_and, jnp.bitwise_or, jnp.maximum, jnp.logaddexp2],
    ids=lambda function: function.__name__,
)
def test_universal_functions_take_the_options_of_numpys_only_as_none(function):
    x = jnp.ones(2, int)
    assert function(x, x, out=None, where=None).shape == (2,)
    for options in ({"out": x}, {"where": x > 0}):
        with pytest.raises(NotImplementedError, match=f"{next(iter(options))}.*not supported"):
            function(x, x, **options)


@pytest.mark.parametrize(
    "dtype", ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e4m3b11fnuz", "float8_e5m2", "float8_e3m4"]
)
def test_extremes_of_floats_without_infinities_start_from_the_last_number(dtype):
    x, nothing = jnp.array([1, 2, 3], dtype), jnp.zeros(3, bool)
    assert jnp.max(x, initial=-1, where=nothing) == -1 and jnp.min(x, initial=5, where=nothing) == 5
    holed = jnp.array([jnp.nan, -2, -3], dtype)
    assert jnp.nanmax(holed) == -2 and jnp.nanmin(holed) == -3
    assert jnp.nanargmax(holed) == 1 and jnp.nanargmin(holed) == 2


@pytest.mark.parametrize("transform", [jnp.fft.fft, jnp.fft.ifft2, jnp.fft.rfft, jnp.fft.hfft])
def test_transforms_of_small_floats_are_those_of_32_bits(transform):
    x = jnp.arange(6.0).reshape(2, 3)
    for dtype in ("float8_e5m2", "bfloat16", "float16"):
        np.testing.assert_array_equal(transform(x.astype(dtype)), transform(x))


@pytest.mark.parametrize("function", [jnp.intersect1d, jnp.setdiff1d, jnp.setxor1d])
def test_elements_of_sets_that_are_promised_to_differ_have_gradients(function):
    x, y = jnp.array([3.0, 1.0, 2.0]), jnp.array([2.0, 7.0, 3.0])
    weights = jnp.arange(1.0, 1 + function(x, y, True).size)
    slopes = arrax.grad(lambda x, y: (function(x, y, True) * weights).sum(), (0, 1))(x, y)
    for values, slope in zip((x, y), slopes, strict=True):
        found = dict(zip(np.asarray(function(x, y, True)).tolist(), weights.tolist(), strict=True))
        taken = np.asarray(values)[np.asarray(slope) != 0].tolist()
        assert [found[value] for value in taken] == np.asarray(slope)[np.asarray(slope) != 0].tolist()
    assert sum(int((slope != 0).sum()) for slope in slopes) == weights.size
    assert arrax.grad(lambda x: function(x[:0], y[:0], True).sum())(x).tolist() == [0, 0, 0]


def test_norms_sets_and_densities_are_weak_as_documented():
    assert jnp.linalg.norm(2.0).weak_type is jnp.linalg.vector_norm(2.0, keepdims=True).weak_type is False
    assert jnp.unique(2.0).weak_type is jnp.union1d(2.0, 3.0).weak_type is jnp.i0(2.0).weak_type is True
    assert arrax.scipy.special.erfc(0.5).weak_type is jnp.gradient(jnp.broadcast_to(2.0, (3,))).weak_type is True
    assert (
        jnp.gradient(np.ones(3, np.float32), 2.0).weak_type
        is arrax.scipy.special.erfc(np.float32(1)).weak_type
        is False
    )
    assert jnp.unique(np.float32(2)).weak_type is jnp.setxor1d(2.0, np.ones(1)).weak_type is False
    assert arrax.scipy.stats.norm.pdf(np.arange(3), scale=2.0).weak_type is False
    assert arrax.scipy.stats.bernoulli.ppf(0, jnp.ones(2)).weak_type is False
    assert arrax.scipy.stats.cauchy.pdf(0.5).weak_type is True


@pytest.mark.parametrize(
    "name", "beta dawsn erfcx exp1 expn fresnel gamma hyp1f1 hyp2f1 log_ndtr ndtr ndtri poch sici spence wofz".split()
)
def test_special_functions_that_are_never_weak(name):
    function = getattr(arrax.scipy.special, name)
    required = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    assert not any(out.weak_type for out in arrax.tree.leaves(function(*[0.5] * len(required))))


def test_relative_entropies_are_weak_where_both_operands_are():
    for function in (arrax.scipy.special.rel_entr, arrax.scipy.special.kl_div):
        assert function(0.5, 0.25).weak_type is True and function(np.arange(3), 0.5).weak_type is False


def test_tables_of_linear_algebra_have_the_dtype_asked_for():
    assert arrax.scipy.linalg.hadamard(4, dtype=None).dtype == np.float32
    with pytest.raises(ValueError, match="dft: dtype must be a complex one, got float"):
        arrax.scipy.linalg.dft(2, dtype=float)


@pytest.mark.parametrize(
    "call",
    [
        lambda value: jnp.full(2, value, "uint8"),
        lambda value: jnp.full(70_000, value, "uint8")[:2],  # too long for the host
        lambda value: jnp.full_like(jnp.zeros(2, "uint8"), value),
        lambda value: arrax.lax.full((2,), value, "uint8"),
        lambda value: arrax.lax.full_like(jnp.zeros(2, "uint8"), value),
        lambda value: arrax.jit(lambda: jnp.full(2, value, "uint8"))(),
        lambda value: jnp.linspace(value, value, 2, dtype="uint8"),
    ],
)
def test_arrays_of_one_float_saturate_as_conversions_do(call):
    assert [call(300.5).tolist(), call(-1.5).tolist()] == [[255, 255], [0, 0]]


@pytest.mark.parametrize("value", [1e10, [1e10], [[1, -1e10]], [True, 1e10], float("inf")])
def test_python_floats_beyond_an_integer_dtype_are_refused(value):
    with pytest.raises(OverflowError):
        jnp.array(value, dtype="int32")
    assert jnp.array([[2.7, -1]], "int32").tolist() == [[2, -1]]


@pytest.mark.parametrize("value", [float("nan"), [0.5, float("nan")], [[1, float("nan")]]])
def test_no_number_is_no_integer(value):
    with pytest.raises(ValueError, match="NaN"):
        jnp.array(value, dtype="int32")


@pytest.mark.parametrize("unroll", [1, 16])
def test_polynomials_of_bools_are_those_of_and_and_or(unroll):
    found = jnp.polyval(jnp.array([True, True, False]), jnp.array([True, False]), unroll=unroll)
    assert found.dtype == bool
    assert found.tolist() == [True, False]


@pytest.mark.parametrize("index", [np.uint8(200), np.int8(100), np.int8(-100), np.int16(399)])
def test_indices_of_few_bits_are_unravelled_in_arrays_of_more_elements(index):
    expected = np.unravel_index(int(index) % 400, (20, 20))
    found = jnp.unravel_index(index, (20, 20))
    assert [int(axis) for axis in found] == list(expected)
    assert {axis.dtype for axis in found} == {index.dtype}


def test_an_index_that_the_dtype_does_not_hold_is_wider():
    assert [axis.tolist() for axis in jnp.unravel_index(np.int8([-1, 5]), (2, 300))] == [[1, 0], [299, 5]]


def test_indices_of_few_bits_are_raveled_into_a_dtype_that_holds_them():
    place = (jnp.array([10], "int8"), jnp.array([10], "int8"))
    assert jnp.ravel_multi_index(place, (2, 60), mode="wrap").dtype == np.int8
    assert jnp.ravel_multi_index(place, (20, 20), dtype="int16").tolist() == [210]
    with pytest.raises(ValueError, match="int8 does not hold"):
        jnp.ravel_multi_index(place, (20, 20))


def test_weights_of_histograms_are_floats():
    ones = np.ones(200, np.int8)
    counts = [jnp.histogram(np.zeros(200, np.float32), 1, weights=ones)[0]]
    counts.append(jnp.histogramdd(np.zeros((200, 1), np.float32), 1, weights=ones)[0])
    assert [(count.dtype, count.tolist()) for count in counts] == [(np.float32, [200])] * 2


@pytest.mark.parametrize("call", [lambda: jnp.full(2, 1j, "float32"), lambda: arrax.lax.full((2,), 1j, "int32")])
def test_real_arrays_are_not_filled_with_complex_numbers(call):
    with pytest.raises(TypeError, match="complex number 1j"):
        call()


def test_lists_of_great_integers_become_floats():
    assert jnp.asarray([2**70, 1], "float32").tolist() == [2.0**70, 1]


@pytest.mark.parametrize("indices", [np.int8([100, -100]), np.uint8([200, 255]), np.int16([-1, 700])])
def test_indices_of_few_bits_wrap_around_at_the_length_of_the_axis(indices):
    expected = indices.astype(int) % 300
    assert jnp.take(jnp.arange(300), jnp.asarray(indices), mode="wrap").tolist() == expected.tolist()
    assert arrax.jit(lambda i: jnp.take(jnp.arange(300), i, mode="wrap"))(indices).tolist() == expected.tolist()


@pytest.mark.parametrize(("dtype", "number"), [("int8", -100), ("uint8", 44), ("bfloat16", 256), ("int8", 100)])
def test_one_hot_vectors_have_at_most_one_one(dtype, number):
    found = arrax.nn.one_hot(jnp.array([number], dtype), 300)
    assert np.flatnonzero(found).tolist() == [number] * (number >= 0)


@pytest.mark.parametrize("find", [jnp.nonzero, jnp.flatnonzero, jnp.argwhere, jnp.where])
def test_places_hold_the_filling(find):
    (places,) = np.reshape(find(jnp.array([1, 0]), size=2, fill_value=np.nan), (1, 2))
    np.testing.assert_array_equal(places, [0, np.nan])
    assert jnp.nonzero(jnp.array([1, 0]), size=2, fill_value=jnp.uint8(3))[0].dtype == "int32"


def test_weights_widen_quantiles():
    for weights, expected in (
        ("float16", "float16"),
        ("float32", "float32"),
        ("bfloat16", "float32"),
        ("int8", "float16"),
    ):
        x = jnp.arange(4, dtype="float16")
        assert jnp.quantile(x, 0.5, weights=jnp.ones(4, weights), method="inverted_cdf").dtype == expected
    with arrax.enable_x64(True):
        assert (
            jnp.quantile(jnp.arange(4, dtype="float32"), 0.5, weights=np.ones(4), method="inverted_cdf").dtype == float
        )


@pytest.mark.parametrize("count", [lambda: jnp.arange(2, dtype=bool), lambda: jnp.arange(True)])
def test_bools_are_not_counted(count):
    with pytest.raises(TypeError, match="arange: bools"):
        count()


def test_pieces_that_are_not_there_are_named():
    with pytest.raises(IndexError, match="addressable_data: index 5 is out of range for an array with 1 pieces"):
        jnp.arange(3).addressable_data(5)


def test_great_exponents_are_no_smaller_ones():
    np.testing.assert_array_equal(jnp.ldexp(jnp.float32(1), jnp.array([2**32 - 1, 3], "uint32")), [np.inf, 8])
    np.testing.assert_array_equal(jnp.power(jnp.array([3, 2], "uint8"), 1000), [pow(3, 1000, 256), 0])
    np.testing.assert_array_equal(jnp.power(jnp.array([-3.0, -1, -0.0]), 2**31 - 1), [-np.inf, -1, 0])
    assert np.signbit(jnp.power(-0.0, 2**31 - 1))
    with arrax.enable_x64(True):
        np.testing.assert_array_equal(jnp.power(jnp.array([0, -1], "int32"), 2**40 + 1), [0, -1])
        np.testing.assert_array_equal(jnp.ldexp(jnp.float32(1), jnp.array([2**40, -(2**40)])), [np.inf, 0])


@pytest.mark.parametrize("exponent", [True, np.int32(3), np.uint8(2), jnp.int32(3), 2**31 - 1])
def test_known_integer_powers_of_complex_numbers_are_products(exponent):
    z = jnp.array([1j, -1])
    expected = [1j ** (int(exponent) % 4), (-1) ** int(exponent)]
    np.testing.assert_array_equal(z**exponent, expected)
    np.testing.assert_array_equal(arrax.jit(lambda z: z**exponent)(z), expected)


@pytest.mark.parametrize("size", [None, 2])
def test_differences_of_sets_have_the_elements_of_the_first(size):
    first = jnp.array([2**31 - 1, 5, -(2**31)])
    assert jnp.setdiff1d(first, jnp.array([5.0]), size=size).tolist() == [-(2**31), 2**31 - 1]


def test_integers_are_rounded_to_the_default_float():
    with arrax.enable_x64(True):
        assert jnp.rint(jnp.array([3], "int8")).dtype == np.float64


def test_exponents_may_be_greater_than_the_dtype_of_their_base():
    np.testing.assert_array_equal(jnp.power(-jnp.ones(2, np.float16), 100001), np.array([-1, -1], np.float16))


@pytest.mark.parametrize("value", [2**31, (0, 2**31)])
def test_padding_with_integers_that_do_not_fit_names_the_argument(value):
    with pytest.raises(OverflowError, match="pad: argument constant_values: Python int 2147483648"):
        jnp.pad(jnp.ones(3, jnp.int8), 1, constant_values=value)


def test_unsigned_integers_are_unwrapped():
    np.testing.assert_array_equal(jnp.unwrap(jnp.array([0, 100, 200, 1], "uint8"), period=255), [0, 100, 200, 1])


def test_sums_of_polynomials_have_their_common_type_whatever_their_lengths():
    number, half = jnp.broadcast_to(2.0, (3,)), jnp.ones(2, "float16")
    assert jnp.polyadd(number, half).dtype == jnp.polysub(half[:1], number).dtype == np.float16
    assert jnp.polyadd(number[:2], half).dtype == jnp.polyadd(number[:1], half).dtype == np.float16
    assert jnp.polyadd(number, number[:2]).weak_type is jnp.polysub(number[:2], number).weak_type is True
    assert [part.weak_type for part in jnp.polydiv(number, number[:2])] == [True, True]
    assert [part.weak_type for part in jnp.polydiv(number[:2], number)] == [True, True]


def test_interpolated_values_have_the_common_type_of_places_and_values():
    number, single = jnp.broadcast_to(2.0, (3,)), jnp.arange(3, dtype="float32")
    half, brain = single.astype("float16"), single.astype("bfloat16")
    assert jnp.interp(number, number, number).weak_type is jnp.interp(2.0, number, number, period=3.0).weak_type is True
    assert jnp.interp(half, number, number).dtype == jnp.interp(2.0, half, number).dtype == np.float16
    assert jnp.interp(single, single, brain).dtype == jnp.interp(single, single, brain, period=3.0).dtype == np.float32
    assert jnp.interp(half, half, half, left=brain[0]).dtype == np.float32
    assert jnp.interp(number, number, number, right=brain[0]).dtype == jnp.bfloat16
    np.testing.assert_array_equal(jnp.interp(np.float32(1 / 3), single, brain), np.float32(1 / 3))


# fmt: off
OF_TWO = {
    "hypot": jnp.hypot, "heaviside": jnp.heaviside, "logaddexp2": jnp.logaddexp2, "gcd": jnp.gcd, "power": jnp.power,
    "kl_div": arrax.scipy.special.kl_div, "logistic.pdf": arrax.scipy.stats.logistic.pdf,
}
# fmt: on


@pytest.mark.parametrize("name", OF_TWO)
def test_the_lattice_says_what_is_weak_of_functions_of_two_scalars(name):
    def is_weak(x, y):
        return arrax.eval_shape(lambda: OF_TWO[name](x, y)).weak_type

    assert is_weak(2, True) and is_weak(2, 3)
    if name != "power":  # whose exponents among whole numbers are counted
        assert is_weak(True, 2)
    assert not is_weak(np.int8(2), np.int8(2))
    assert not is_weak(np.int8([1, 2]), 2)
