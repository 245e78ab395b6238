"""Any dimension numbers, by hypothesis, of the operations that have them, against their definitions as loops."""

import math

import hypothesis
import hypothesis.strategies as st
import numpy as np

from arrax import lax
from tests.lax.convolution_test import convolved, rearranged
from tests.lax.gather_test import windows
from tests.lax.scatter_test import OPERATIONS, looped
from tests.lax.windows_test import reference

few = hypothesis.settings(max_examples=30, deadline=None, derandomize=True, database=None)
lengths = st.integers(1, 4)


def array(rng, shape, dtype=np.float32):
    return rng.standard_normal(shape).astype(dtype)


@st.composite
def seeds(draw):
    return np.random.default_rng(draw(st.integers(0, 2**32 - 1)))


@st.composite
def contractions(draw):
    """(dimension numbers, shapes): batch, contracted and free axes in any order on either side."""
    batch, contract, free_x, free_y = (draw(st.lists(lengths, max_size=2)) for _ in range(4))
    sides = []
    for free in (free_x, free_y):
        roles = [*(("b", i) for i in range(len(batch))), *(("c", i) for i in range(len(contract)))]
        roles += [("f", i) for i in range(len(free))]
        sides.append((draw(st.permutations(roles)), {"b": batch, "c": contract, "f": free}))
    shapes = [tuple(table[kind][i] for kind, i in roles) for roles, table in sides]
    numbers = tuple(
        tuple(tuple(roles.index((kind, i)) for i in range(len(group))) for roles, _ in sides)
        for kind, group in (("c", contract), ("b", batch))
    )
    return numbers, shapes


@few
@hypothesis.given(contractions(), seeds())
def test_dot_general(case, rng):
    ((x_contract, y_contract), (x_batch, y_batch)), shapes = case
    x, y = (array(rng, shape) for shape in shapes)
    letters = iter("abcdefghijklmnop")
    shared = {("c", i): next(letters) for i in range(len(x_contract))} | {
        ("b", i): next(letters) for i in range(len(x_batch))
    }

    def named(rank, contract, batch):
        names = {d: shared["c", i] for i, d in enumerate(contract)} | {d: shared["b", i] for i, d in enumerate(batch)}
        return [names.get(d) or next(letters) for d in range(rank)]

    a, b = named(x.ndim, x_contract, x_batch), named(y.ndim, y_contract, y_batch)
    used = set(shared.values())
    out = [a[d] for d in x_batch] + [c for c in a if c not in used] + [c for c in b if c not in used]
    expected = np.einsum(f"{''.join(a)},{''.join(b)}->{''.join(out)}", x, y)
    result = lax.dot_general(x, y, ((x_contract, y_contract), (x_batch, y_batch)))
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)


@st.composite
def gathers(draw):
    """(numbers, slice sizes, operand shape, indices)."""
    shape = draw(st.lists(lengths, min_size=1, max_size=3))
    rank = len(shape)
    order = draw(st.permutations(range(rank)))
    batching = order[: draw(st.integers(0, min(1, rank - 1)))]
    indexed = draw(st.lists(st.sampled_from([d for d in range(rank) if d not in batching]), min_size=1, unique=True))
    collapsed = [d for d in indexed if draw(st.booleans())]
    sizes = [1 if d in collapsed or d in batching else draw(st.integers(1, shape[d])) for d in range(rank)]
    outer = [draw(lengths) for _ in range(draw(st.integers(0, 2)))]
    places = []
    for d in batching:
        places.append(draw(st.integers(0, len(outer))))
        outer.insert(places[-1], shape[d])
    kept = rank - len(collapsed) - len(batching)
    offsets = sorted(draw(st.permutations(range(kept + len(outer))))[:kept])
    numbers = lax.GatherDimensionNumbers(
        tuple(offsets), tuple(sorted(collapsed)), tuple(indexed), tuple(batching), tuple(places)
    )
    count = math.prod(outer) * len(indexed)
    values = draw(st.lists(st.integers(-2, 5), min_size=count, max_size=count))
    return numbers, tuple(sizes), tuple(shape), np.array(values, np.int32).reshape(*outer, len(indexed))


@few
@hypothesis.given(gathers(), seeds(), st.sampled_from(["clip", "fill"]))
def test_gather(case, rng, mode):
    numbers, sizes, shape, indices = case
    x = array(rng, shape)
    result = lax.gather(x, indices, numbers, sizes, mode=mode)
    np.testing.assert_array_equal(result, windows(x, numbers, sizes, indices, mode))


@few
@hypothesis.given(gathers(), seeds(), st.sampled_from(["clip", "drop"]), st.sampled_from(list(OPERATIONS)))
def test_scatter(case, rng, mode, operation):
    gather, sizes, shape, indices = case
    numbers = lax.ScatterDimensionNumbers(
        gather.offset_dims, gather.collapsed_slice_dims, gather.start_index_map, gather.operand_batching_dims,
        gather.start_indices_batching_dims,
    )  # fmt: skip
    gone = {*gather.collapsed_slice_dims, *gather.operand_batching_dims}
    outer = iter(indices.shape[:-1])
    inner = iter([size for d, size in enumerate(sizes) if d not in gone])
    rank = len(indices.shape) - 1 + len(gather.offset_dims)
    updates = array(rng, tuple(next(inner) if d in gather.offset_dims else next(outer) for d in range(rank)))
    x = array(rng, shape)
    result = operation(x, indices, updates, numbers, mode=mode)
    expected = looped(x, numbers, indices, updates, OPERATIONS[operation], mode)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


@st.composite
def convolutions(draw):
    """(letters of the operands and the result, groups, options)."""
    letters = tuple("".join(draw(st.permutations(axes))) for axes in ("NCHW", "OIHW", "NCHW"))
    if letters[1].index("W") < letters[1].index("H"):  # the kernel's letters tell the order of strides and paddings
        letters = (letters[0], letters[1].translate(str.maketrans("HW", "WH")), letters[2])
    groups = draw(st.sampled_from([(1, 1), (2, 1), (1, 2)]))
    pairs = st.tuples(st.integers(1, 3), st.integers(1, 3))
    ends = st.tuples(st.integers(-1, 2), st.integers(-1, 2))
    options = dict(
        window_strides=draw(pairs), padding=(draw(ends), draw(ends)), lhs_dilation=draw(pairs), rhs_dilation=draw(pairs)
    )
    return letters, groups, options


@few
@hypothesis.given(convolutions(), seeds())
def test_convolution(case, rng):
    letters, groups, options = case
    for axis in range(2):  # the kernel fits
        length = (
            4 * options["lhs_dilation"][axis] + 1 + min(options["padding"][axis][0], 0) + sum(options["padding"][axis])
        )
        hypothesis.assume(length > options["rhs_dilation"][axis] + 2)
    x, y = array(rng, (2, 2, 5, 5)), array(rng, (4, 2 // groups[0], 2, 2))
    expected = rearranged(convolved(x, y, **options, groups=groups), "NCHW", letters[2])
    result = lax.conv_general_dilated(
        rearranged(x, "NCHW", letters[0]), rearranged(y, "OIHW", letters[1]), **options, dimension_numbers=letters,
        feature_group_count=groups[0], batch_group_count=groups[1],
    )  # fmt: skip
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)


@few
@hypothesis.given(
    st.lists(st.tuples(lengths, st.integers(-2, 3), st.integers(-2, 3), st.integers(0, 2)), max_size=3), seeds()
)
def test_pad(axes, rng):
    shape, config = tuple(axis[0] for axis in axes), [axis[1:] for axis in axes]
    expected = x = array(rng, shape)
    for axis, (low, high, inner) in enumerate(config):
        wide = np.full(
            (*expected.shape[:axis], (expected.shape[axis] - 1) * (inner + 1) + 1, *expected.shape[axis + 1 :]),
            7,
            np.float32,
        )
        wide[(slice(None),) * axis + (slice(None, None, inner + 1),)] = expected
        wide = np.pad(
            wide, [(max(low, 0), max(high, 0)) if i == axis else (0, 0) for i in range(len(axes))], constant_values=7
        )
        length = wide.shape[axis]
        if max(-low, 0) + max(-high, 0) > length:
            hypothesis.reject()
        expected = wide[(slice(None),) * axis + (slice(max(-low, 0), length - max(-high, 0)),)]
    np.testing.assert_array_equal(lax.pad(x, np.float32(7), config), expected)


@few
@hypothesis.given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(1, 3)), max_size=3), seeds())
def test_slice(axes, rng):
    x = array(rng, (5,) * len(axes))
    starts, stops, strides = (
        ([*column] for column in zip(*[(min(a, b), max(a, b), s) for a, b, s in axes], strict=True))
        if axes
        else ([], [], [])
    )
    expected = x[tuple(slice(*bounds) for bounds in zip(starts, stops, strides, strict=True))]
    np.testing.assert_array_equal(lax.slice(x, starts, stops, strides), expected)


@st.composite
def layouts(draw):
    pairs = st.tuples(st.integers(1, 3), st.integers(1, 3))
    ends = st.tuples(st.integers(-1, 2), st.integers(-1, 2))
    padding = draw(st.one_of(st.sampled_from(["SAME", "VALID", "SAME_LOWER"]), st.tuples(ends, ends)))
    return draw(pairs), draw(pairs), padding, draw(pairs), draw(pairs)


@few
@hypothesis.given(layouts(), st.sampled_from([(lax.add, 0.0, np.add), (lax.max, -np.inf, np.maximum)]), seeds())
def test_reduce_window(layout, computation, rng):
    combine, init, by_numpy = computation
    x = array(rng, (4, 5))
    result = lax.reduce_window(x, np.float32(init), combine, *layout)
    np.testing.assert_allclose(result, reference(x, init, by_numpy, layout), rtol=1e-5, atol=1e-5)
