"""Shapes, joining, rearranging, building of matrices, padding: the functions that only move elements, against NumPy."""

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from tests.numpy_api.comparison import assert_same

MATRIX = np.arange(6, dtype=np.float32).reshape(2, 3) + 1
VECTOR = np.array([3, 0, 5, 2], dtype=np.int32)
known = np.array  # indices that stay concrete while a function is traced
CUBE = np.arange(24, dtype=np.int32).reshape(2, 3, 4)

# Each case is a call in terms of a namespace (numpy or arrax.numpy) and the three arrays.
# fmt: off
CASES = {
    "reshape":              lambda np, m, v, c: np.reshape(m, (3, -1)),
    "reshape to scalar axes": lambda np, m, v, c: np.reshape(v, 4),
    "reshape in F order":   lambda np, m, v, c: np.reshape(c, (4, 6), order="F"),
    "ravel":                lambda np, m, v, c: np.ravel(c),
    "ravel in F order":     lambda np, m, v, c: np.ravel(m, order="F"),
    "transpose":            lambda np, m, v, c: np.transpose(c),
    "transpose by axes":    lambda np, m, v, c: np.transpose(c, (1, -1, 0)),
    "swapaxes":             lambda np, m, v, c: np.swapaxes(c, 0, -1),
    "moveaxis":             lambda np, m, v, c: np.moveaxis(c, (0, 1), (-1, 0)),
    "rollaxis":             lambda np, m, v, c: np.rollaxis(c, 2, 1),
    "rollaxis onwards":     lambda np, m, v, c: np.rollaxis(c, 0, 3),
    "squeeze":              lambda np, m, v, c: np.squeeze(np.reshape(m, (1, 2, 1, 3))),
    "squeeze an axis":      lambda np, m, v, c: np.squeeze(np.reshape(m, (1, 2, 1, 3)), axis=2),
    "expand_dims":          lambda np, m, v, c: np.expand_dims(m, (0, -1)),
    "broadcast_to":         lambda np, m, v, c: np.broadcast_to(np.reshape(v, (4, 1)), (2, 4, 3)),
    "broadcast_arrays":     lambda np, m, v, c: list(np.broadcast_arrays(c, 2, v)),
    "atleast_1d":           lambda np, m, v, c: np.atleast_1d(np.trace(m)),
    "atleast_2d":           lambda np, m, v, c: list(np.atleast_2d(v, m, c)),
    "atleast_3d":           lambda np, m, v, c: list(np.atleast_3d(v, m, c)),
    "concatenate":          lambda np, m, v, c: np.concatenate([m, np.flip(m)], axis=1),
    "concatenate an array": lambda np, m, v, c: np.concatenate(c),
    "concatenate all":      lambda np, m, v, c: np.concatenate([m, m], axis=None),
    "stack":                lambda np, m, v, c: np.stack([m, np.flip(m)], axis=-1),
    "stack an array":       lambda np, m, v, c: np.stack(c, axis=1),
    "vstack":               lambda np, m, v, c: np.vstack([v, v]),
    "hstack":               lambda np, m, v, c: np.hstack([m, m]),
    "hstack of vectors":    lambda np, m, v, c: np.hstack([v, np.ravel(c)]),
    "dstack":               lambda np, m, v, c: np.dstack([m, m]),
    "column_stack":         lambda np, m, v, c: np.column_stack([v, v, np.stack([v, v], 1)]),
    "append":               lambda np, m, v, c: np.append(m, m, axis=0),
    "append all":           lambda np, m, v, c: np.append(v, m),
    "block":                lambda np, m, v, c: np.block([[m, m], [np.flip(m), m]]),
    "split":                lambda np, m, v, c: np.split(v, 2),
    "split at places":      lambda np, m, v, c: np.split(c, [1, -1, 9], axis=2),
    "array_split":          lambda np, m, v, c: np.array_split(v, 3),
    "vsplit":               lambda np, m, v, c: np.vsplit(m, 2),
    "hsplit":               lambda np, m, v, c: np.hsplit(v, 2),
    "dsplit":               lambda np, m, v, c: np.dsplit(c, [3]),
    "flip":                 lambda np, m, v, c: np.flip(c, (0, 2)),
    "flip all":             lambda np, m, v, c: np.flip(m),
    "fliplr":               lambda np, m, v, c: np.fliplr(m),
    "flipud":               lambda np, m, v, c: np.flipud(m),
    "rot90":                lambda np, m, v, c: [np.rot90(c, k, axes) for k in (-1, 0, 1, 2) for axes in ((0, 1), (2, 0))],
    "roll":                 lambda np, m, v, c: np.roll(v, 5),
    "roll flattened":       lambda np, m, v, c: np.roll(m, -2),
    "roll axes":            lambda np, m, v, c: np.roll(c, (1, -3, 2), axis=(0, 2, 0)),
    "tile":                 lambda np, m, v, c: np.tile(m, (2, 1, 2)),
    "tile a cube":          lambda np, m, v, c: np.tile(c, 2),
    "repeat":               lambda np, m, v, c: np.repeat(m, 2),
    "repeat along":         lambda np, m, v, c: np.repeat(c, 3, axis=1),
    "repeat by number":     lambda np, m, v, c: np.repeat(m, known([2, 0, 3]), axis=1),
    "resize":               lambda np, m, v, c: [np.resize(v, (3, 3)), np.resize(m, 2), np.resize(c, 700), np.resize(m, (0, 2))],
    "insert":               lambda np, m, v, c: np.insert(v, 1, 9),
    "insert rows":          lambda np, m, v, c: np.insert(m, 1, m, axis=0),
    "insert many":          lambda np, m, v, c: np.insert(v, known([0, 2, 2, -1]), known([7, 8, 9, 10])),
    "insert in slice":      lambda np, m, v, c: np.insert(m, slice(0, 2), 5, axis=1),
    "delete":               lambda np, m, v, c: np.delete(v, 1),
    "delete many":          lambda np, m, v, c: np.delete(c, known([0, -1, 0]), axis=2),
    "delete a slice":       lambda np, m, v, c: np.delete(v, slice(None, None, 2)),
    "delete by mask":       lambda np, m, v, c: np.delete(v, known([True, False, False, True])),
    "tril":                 lambda np, m, v, c: np.tril(c, -1),
    "triu":                 lambda np, m, v, c: np.triu(m, 1),
    "diag of a vector":     lambda np, m, v, c: [np.diag(v), np.diag(v, 2), np.diag(v, -1)],
    "diag of a matrix":     lambda np, m, v, c: [np.diag(m, k) for k in range(-2, 4)],
    "diagflat":             lambda np, m, v, c: np.diagflat(m, -1),
    "diagonal":             lambda np, m, v, c: [np.diagonal(c, k, 2, 0) for k in (-3, -1, 0, 1)],
    "trace":                lambda np, m, v, c: [np.trace(c, 1, 2, 1), np.trace(m), np.trace(np.tri(3, dtype=bool))],
    "meshgrid":             lambda np, m, v, c: list(np.meshgrid(v, np.ravel(m))),
    "meshgrid ij sparse":   lambda np, m, v, c: list(np.meshgrid(v, np.ravel(m), v, indexing="ij", sparse=True)),
    "vander":               lambda np, m, v, c: [np.vander(np.ravel(m), 2, increasing=True), np.vander(v)],
    "pad":                  lambda np, m, v, c: np.pad(m, 1),
    "pad with values":      lambda np, m, v, c: np.pad(m, ((1, 2), (0, 3)), constant_values=((1, 2), (3, 4))),
    "pad a pair":           lambda np, m, v, c: np.pad(v, (2, 1), constant_values=(7, 8)),
    "pad empty":            lambda np, m, v, c: np.pad(m, ((0, 0), (0, 0)), mode="empty"),
    "pad edge":             lambda np, m, v, c: np.pad(c, ((1, 0), (2, 1), (0, 3)), mode="edge"),
    "pad wrap":             lambda np, m, v, c: np.pad(v, (3, 9), mode="wrap"),
    "pad reflect":          lambda np, m, v, c: np.pad(v, (5, 8), mode="reflect"),
    "pad symmetric":        lambda np, m, v, c: np.pad(m, ((3, 1), (4, 7)), mode="symmetric"),
    "pad reflect odd":      lambda np, m, v, c: np.pad(m, ((1, 0), (4, 7)), mode="reflect", reflect_type="odd"),
    "pad symmetric odd":    lambda np, m, v, c: np.pad(v, (5, 2), mode="symmetric", reflect_type="odd"),
    "pad ramp":             lambda np, m, v, c: np.pad(m, ((2, 1), (0, 3)), mode="linear_ramp", end_values=(1, 9)),
    "pad maximum":          lambda np, m, v, c: np.pad(m, ((2, 1), (0, 3)), mode="maximum", stat_length=2),
    "pad minimum":          lambda np, m, v, c: np.pad(c, 1, mode="minimum"),
    "pad mean":             lambda np, m, v, c: np.pad(v, (2, 1), mode="mean", stat_length=3),
    "pad median":           lambda np, m, v, c: np.pad(m, 1, mode="median"),
    "pad median of NaN":     lambda np, m, v, c: np.pad(np.where(m > 2, m, np.float32(np.nan)), 1, mode="median"),
}
# fmt: on


@pytest.mark.parametrize("case", CASES)
def test_eager_results_are_those_of_numpy(case):
    arrays = (MATRIX, VECTOR, CUBE)
    assert_same(CASES[case](jnp, *map(jnp.asarray, arrays)), CASES[case](np, *arrays))


def test_compiled_results_are_those_of_numpy():
    arrays = (MATRIX, VECTOR, CUBE)
    compiled = arrax.jit(lambda *xs: {name: case(jnp, *xs) for name, case in CASES.items()})(*arrays)
    for name, case in CASES.items():
        assert_same(compiled[name], case(np, *arrays))


# Each case has the array, an argument that jit traces, and what NumPy makes of both.
# fmt: off
TRACED = {
    "roll":          (lambda np, x, n: np.roll(x, n, axis=1), MATRIX, np.array(-4)),
    "roll two axes": (lambda np, x, n: np.roll(x, n, axis=(0, 1)), MATRIX, np.array([1, 2])),
    "insert":        (lambda np, x, n: np.insert(x, n, 9), VECTOR, np.array(2)),
    "insert many":   (lambda np, x, n: np.insert(x, n, np.arange(4)), VECTOR, np.array([3, 0, 3, -1])),
    "delete":        (lambda np, x, n: np.delete(x, n, axis=0), MATRIX, np.array(-1)),
    "trace":         (lambda np, x, n: np.trace(x, n), MATRIX, np.array(1)),
}
# fmt: on


def test_places_may_be_traced():
    compiled = arrax.jit(lambda pairs: {name: TRACED[name][0](jnp, *pair) for name, pair in pairs.items()})
    results = compiled({name: case[1:] for name, case in TRACED.items()})
    for name, (case, *arguments) in TRACED.items():
        assert_same(results[name], case(np, *arguments))


def test_unique_traced_places_may_be_deleted():
    remove = arrax.jit(lambda x, n: jnp.delete(x, n, assume_unique_indices=True))
    assert_same(remove(VECTOR, np.array([2, -4])), np.delete(VECTOR, [2, 0]))


def test_traced_repeats_are_cut_off_or_filled_with_the_last():
    repeat = arrax.jit(lambda x, n: [jnp.repeat(x, n, total_repeat_length=length) for length in (3, 5, 7)])
    expected = [[3, 0, 0], [3, 0, 0, 2, 2], [3, 0, 0, 2, 2, 2, 2]]
    assert_same(repeat(VECTOR, np.array([1, 2, 0, 2])), [np.array(row, np.int32) for row in expected])


def test_a_function_may_say_how_to_pad():
    def add_sums(row, widths, axis, kwargs):
        return jnp.full_like(row, kwargs["value"] + axis)

    padded = jnp.pad(jnp.asarray(MATRIX), 1, add_sums, value=5)
    assert_same(padded, np.full((4, 5), 6, np.float32))


GRADIENTS = [
    lambda x: jnp.pad(x, ((1, 2), (3, 1)), mode="reflect"),
    lambda x: jnp.pad(x, 2, mode="linear_ramp"),
    lambda x: jnp.tril(x, -1),
    lambda x: jnp.diagonal(x, 1),
    lambda x: jnp.roll(jnp.tile(x, 2), 1, axis=0),
    lambda x: jnp.repeat(x, np.array([2, 0, 1]), axis=1),
]


@pytest.mark.parametrize("function", GRADIENTS)
def test_derivatives_agree_with_finite_differences(function):
    def squares(x):
        return jnp.square(function(x))

    x, step = MATRIX.astype(np.float64), 1e-3
    tangent = np.cos(x)
    _, derivative = arrax.jvp(squares, (np.float32(x),), (np.float32(tangent),))
    high, low = (np.asarray(squares(np.float32(x + s * tangent)), np.float64) for s in (step, -step))
    np.testing.assert_allclose(derivative, (high - low) / (2 * step), rtol=2e-2, atol=2e-2)


# fmt: off
ERRORS = {
    "reshape of a list":        (lambda m, v: jnp.reshape([1, 2], 2), TypeError, "reshape requires ndarray or scalar"),
    "reshape to another size":  (lambda m, v: jnp.reshape(m, (4,)), TypeError, r"\(2, 3\) .* into shape \(4,\)"),
    "reshape with two -1":      (lambda m, v: jnp.reshape(m, (-1, -1)), TypeError, "only specify one unknown"),
    "reshape to floats":        (lambda m, v: jnp.reshape(m, (2.0, 3)), TypeError, "1D sequences of concrete values"),
    "reshape in A order":       (lambda m, v: jnp.reshape(m, (6,), order="A"), NotImplementedError, "order"),
    "transpose":                (lambda m, v: jnp.transpose(m, (0, 0)), TypeError, "permutation"),
    "swapaxes":                 (lambda m, v: jnp.swapaxes(m, 0, 2), ValueError, "out of bounds"),
    "moveaxis":                 (lambda m, v: jnp.moveaxis(m, (0, 1), 0), ValueError, "equally many"),
    "squeeze":                  (lambda m, v: jnp.squeeze(m, 0), ValueError, "not one"),
    "expand_dims":              (lambda m, v: jnp.expand_dims(m, 4), ValueError, "axis 4 is out of bounds"),
    "broadcast_to":             (lambda m, v: jnp.broadcast_to(m, (3, 3)), ValueError, "Incompatible shapes"),
    "broadcast_arrays":         (lambda m, v: jnp.broadcast_arrays(m, v), ValueError, "Incompatible shapes"),
    "matrix_transpose":         (lambda m, v: jnp.matrix_transpose(v), ValueError, "at least two"),
    "concatenate nothing":      (lambda m, v: jnp.concatenate([]), ValueError, "at least one array"),
    "concatenate scalars":      (lambda m, v: jnp.concatenate([1.0, 2.0]), ValueError, "Zero-dimensional"),
    "concatenate ranks":        (lambda m, v: jnp.concatenate([m, v]), TypeError, "different numbers of dimensions"),
    "concatenate shapes":       (lambda m, v: jnp.concatenate([m, jnp.transpose(m)]), TypeError, "differ in dim"),
    "concatenate lists":        (lambda m, v: jnp.concatenate([[1], [2]]), TypeError, "ndarray or scalar"),
    "concatenate a number":     (lambda m, v: jnp.concatenate(3), TypeError, "sequence of arrays"),
    "stack":                    (lambda m, v: jnp.stack([m, v]), ValueError, "same shape"),
    "stack into":               (lambda m, v: jnp.stack([m], out=m), NotImplementedError, "'out'"),
    "split":                    (lambda m, v: jnp.split(v, 3), ValueError, "equal division: rest is 1"),
    "flip":                     (lambda m, v: jnp.fliplr(v), ValueError, "axis 1 is out of bounds"),
    "rot90":                    (lambda m, v: jnp.rot90(m, axes=(0, 0)), ValueError, "different"),
    "repeat of lists":          (lambda m, v: jnp.repeat(v, [1, 2]), TypeError, "position 1"),
    "repeat less than never":   (lambda m, v: jnp.repeat(v, -1), ValueError, "non-negative"),
    "repeat traced":            (lambda m, v: arrax.jit(jnp.repeat)(v, 2), TypeError, "total_repeat_length"),
    "tile":                     (lambda m, v: jnp.tile(v, -1), TypeError, "non-negative"),
    "pad mode":                 (lambda m, v: jnp.pad(v, 1, mode="foo"), NotImplementedError, "'foo'"),
    "pad option":               (lambda m, v: jnp.pad(v, 1, mode="edge", end_values=1), ValueError, "end_values"),
    "pad negative":             (lambda m, v: jnp.pad(v, -1), ValueError, "negative"),
    "pad by floats":            (lambda m, v: jnp.pad(v, 1.5), TypeError, "integral"),
    "pad shape":                (lambda m, v: jnp.pad(m, ((1, 2, 3),)), ValueError, "unsupported shape"),
    "trim_zeros traced":        (lambda m, v: arrax.jit(jnp.trim_zeros)(v), TypeError, "`filt` argument"),
    "diag":                     (lambda m, v: jnp.diag(jnp.ones((1, 1, 1))), ValueError, "1d or 2d"),
    "tril":                     (lambda m, v: jnp.tril(v), ValueError, "at least 2D"),
    "block of tuples":          (lambda m, v: jnp.block((m, m)), ValueError, "tuples"),
    "block of depths":          (lambda m, v: jnp.block([m, [m]]), ValueError, "depths"),
    "meshgrid":                 (lambda m, v: jnp.meshgrid(m), ValueError, "1D"),
    "delete out of bounds":     (lambda m, v: jnp.delete(v, 9), IndexError, "out of bounds"),
}
# fmt: on


@pytest.mark.parametrize("case", ERRORS)
def test_mistakes_are_explained(case):
    call, kind, words = ERRORS[case]
    with pytest.raises(kind, match=words):
        call(jnp.asarray(MATRIX), jnp.asarray(VECTOR))


def test_only_reshaped_values_keep_their_weak_type():
    assert jnp.reshape(2.0, (1, 1)).aval.weak_type
    assert jnp.stack([1.0, 2.0]).aval.weak_type
    assert not jnp.concatenate([jnp.broadcast_to(1.0, (2,)), jnp.asarray(MATRIX[0])]).aval.weak_type


@pytest.mark.parametrize(
    ("value", "dtype"), [(2.7, "int32"), (300, "uint8"), (np.nan, "bool"), (-1e9, "int8"), (3, "complex64")]
)
def test_conversion_saturates_floats_and_wraps_integers(value, dtype):
    wanted = {"int8": -128}.get(dtype, np.asarray(value).astype(dtype))
    assert_same(jnp.astype(value, dtype), np.asarray(wanted).astype(dtype))


def test_sizes_shapes_and_ranks_are_python_numbers():
    assert (jnp.size(CUBE), jnp.size(CUBE, (0, 2)), jnp.shape(1.0), jnp.ndim(CUBE)) == (24, 8, (), 3)
    assert (jnp.size(1 << 40), jnp.shape(1 << 40), jnp.ndim(1 << 40), jnp.iscomplexobj(1 << 40)) == (1, (), 0, False)
    assert jnp.broadcast_shapes(3, (2, 1)) == (2, 3)


def test_zeros_are_trimmed_from_the_ends():
    x = np.array([0, 0, 1, 0, 2, 0])
    assert_same([jnp.trim_zeros(x), jnp.trim_zeros(x, "f"), jnp.trim_zeros(np.zeros(3))], [x[2:5], x[2:], x[:0] * 1.0])


def test_programs_of_simple_functions_have_one_operation():
    def operations(function, *args):
        return [eqn.primitive.name for eqn in arrax.make_jaxpr(function)(*args).jaxpr.eqns]

    assert operations(lambda x: jnp.reshape(x, (3, 2)), MATRIX) == ["reshape"]
    assert operations(jnp.transpose, MATRIX) == ["transpose"]
    assert operations(lambda x: jnp.broadcast_to(x, (2, 2, 3)), MATRIX) == ["broadcast_in_dim"]
    assert operations(lambda x: jnp.concatenate([x, x]), MATRIX) == ["concatenate"]
    assert operations(jnp.flip, MATRIX) == ["rev"]
    assert operations(lambda x: jnp.squeeze(jnp.expand_dims(x, 0)), MATRIX) == ["broadcast_in_dim", "squeeze"]


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_arrays_roll_by_traced_shifts(axis):
    x = np.arange(5 * 7 * 6, dtype=np.float32).reshape(5, 7, 6)
    rolled = arrax.jit(lambda x, shift: jnp.roll(x, shift, axis))
    for shift in (-13, -7, -1, 0, 1, 6, 100):
        np.testing.assert_array_equal(rolled(x, shift), np.roll(x, shift, axis))
    shifts = np.arange(-3, 4)
    mapped = arrax.vmap(lambda x, shift: jnp.roll(x, shift, axis), (None, 0))(x, shifts)
    np.testing.assert_array_equal(mapped, [np.roll(x, shift, axis) for shift in shifts])
    weights = jnp.asarray(x)
    slope = arrax.grad(lambda x, shift: jnp.sum(jnp.roll(x, shift, axis) * weights))(x, jnp.int32(2))
    np.testing.assert_array_equal(slope, np.roll(x, -2, axis))


SLICES = {
    "concatenate": ({}, {"axis": -1}, {"axis": None}), "concat": ({}, {"axis": None}), "stack": ({}, {"axis": 1}, {"axis": -1}),
    "vstack": ({},), "hstack": ({},), "dstack": ({},), "column_stack": ({},),
}  # fmt: skip


@pytest.mark.parametrize("shape", [(3,), (1, 4), (3, 4), (2, 3, 4), (2, 1, 3, 2), (2, 0)], ids=str)
def test_slices_of_one_array_are_joined_without_cutting_it(shape):
    x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    for name, choices in SLICES.items():
        for options in choices:
            try:
                expected = getattr(np, "concatenate" if name == "concat" else name)(list(x), **options)
            except ValueError:  # no such axis
                with pytest.raises(ValueError, match="axis|[Zz]ero-dimensional"):
                    getattr(jnp, name)(x, **options)
                continue
            assert_same([getattr(jnp, name)(x, **options)], [expected])
            program = arrax.make_jaxpr(lambda x, name=name, options=options: getattr(jnp, name)(x, **options))(x)
            assert {eqn.primitive.name for eqn in program.eqns} <= {"reshape", "transpose"}, name
    narrow = jnp.concatenate(x.reshape(1, -1), dtype=np.int8)
    np.testing.assert_array_equal(narrow, x.ravel().astype(np.int8), strict=True)


def test_axes_may_be_a_vector():
    ones = jnp.ones((1, 1, 3))
    for axes in (np.array([1, 0]), jnp.array([1, 0])):
        assert jnp.moveaxis(ones, axes, jnp.array([1, 2])).shape == (3, 1, 1)
        assert jnp.flip(ones, axes).shape == jnp.roll(ones, 1, axes).shape == (1, 1, 3)
        assert (jnp.squeeze(ones, axes).shape, jnp.expand_dims(ones, axes).shape) == ((3,), (1, 1, 1, 1, 3))
