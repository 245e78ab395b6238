"""References: making, reading and writing them where nothing is traced, and what they print."""

import copy

import ml_dtypes
import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import ref as refs


def counting(*shape, dtype=np.float32):
    return jnp.arange(int(np.prod(shape)), dtype=dtype).reshape(shape)


INDICES = [
    0, -1, slice(1, None), slice(None, None, 2), Ellipsis, (0, 1), (slice(None), 1), (Ellipsis, 0), np.array([2, 0]),
    (np.array([0, 2]), slice(1, 3)), (1, np.array([0, 0, 1])), np.array([True, False, True]), (None, 0),
]  # fmt: skip


@pytest.mark.parametrize("index", INDICES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.int32, ml_dtypes.bfloat16, np.bool_], ids=lambda d: np.dtype(d).name)
def test_what_is_read_and_written_is_that_of_numpy(index, dtype):
    host = np.arange(12).reshape(3, 4).astype(dtype)
    ref = arrax.new_ref(jnp.asarray(host))
    np.testing.assert_array_equal(ref[index], host[index])
    value = (np.asarray(host[index]) * 0 + 1).astype(dtype)
    host[index] = value
    ref[index] = value
    np.testing.assert_array_equal(ref[...], host)
    assert ref[...].dtype == dtype


@pytest.mark.parametrize("index", INDICES[:-2], ids=str)
def test_traced_programs_read_and_write_the_same(index):
    host = np.arange(12, dtype=np.float32).reshape(3, 4)
    ref = arrax.new_ref(host)

    @arrax.jit
    def doubled(ref):
        before = ref[index]
        ref[index] = 2 * before
        return before

    np.testing.assert_array_equal(doubled(ref), host[index])
    host[index] = 2 * host[index]
    np.testing.assert_array_equal(ref[...], host)


def test_slices_may_begin_where_data_says():
    ref = arrax.new_ref(counting(3, 6))

    @arrax.jit
    def shifted(ref, start):
        ref[arrax.ds(start, 2), arrax.ds(1, 2, 3)] = -ref[arrax.ds(start, 2), arrax.ds(1, 2, 3)]
        return ref[:, arrax.ds(start, 2)]

    host = np.arange(18, dtype=np.float32).reshape(3, 6)
    host[1:3, 1:5:3] *= -1
    np.testing.assert_array_equal(shifted(ref, 1), host[:, 1:3])
    np.testing.assert_array_equal(ref[...], host)
    assert arrax.ds(3) == arrax.ds(0, 3)
    with pytest.raises(ValueError, match="out of bounds slice: start=5"):
        ref[:, arrax.ds(5, 2)]


def test_views_of_views_read_and_write_the_reference():
    ref = arrax.new_ref(counting(3, 4))
    view = ref.at[1:].at[:, 2]
    assert view.shape == (2,) and view.dtype == np.float32
    np.testing.assert_array_equal(view[...], [6, 10])
    view[1] = 50.0
    arrax.jit(lambda ref: ref.at[0].at[1:].__setitem__(0, -1.0))(ref)
    expected = np.arange(12, dtype=np.float32).reshape(3, 4)
    expected[2, 2], expected[0, 1] = 50, -1
    np.testing.assert_array_equal(ref[...], expected)


def test_swap_gives_what_was_there_and_addupdate_adds_repeatedly():
    ref = refs.new_ref(jnp.zeros(3))
    assert refs.swap(ref, 0, 5.0) == 0 and refs.get(ref, 0) == 5
    refs.addupdate(ref, np.array([1, 1]), np.ones(2, np.float32))
    refs.set(ref, 2, 7)
    np.testing.assert_array_equal(refs.get(ref), [5, 2, 7])
    refs.addupdate(ref, None, jnp.ones(3))
    np.testing.assert_array_equal(refs.swap(ref, None, jnp.zeros(3)), [6, 3, 8])


def test_arrays_outside_keep_their_values():
    array = jnp.zeros(3)
    ref = arrax.new_ref(array)
    read = ref[...]
    arrax.jit(lambda ref: ref.__setitem__(0, 1.0))(ref)
    arrax.jit(lambda ref: ref.__setitem__(1, 1.0))(ref)
    ref[2] = 1.0
    np.testing.assert_array_equal([array, read, ref[...]], [[0, 0, 0], [0, 0, 0], [1, 1, 1]])


def test_what_a_program_returns_of_a_reference_stays_as_it_is():
    ref = arrax.new_ref(jnp.arange(3.0))
    arrax.jit(lambda ref: ref.__setitem__(0, 5.0))(ref)
    read = arrax.jit(lambda ref: ref[...])(ref)
    arrax.jit(lambda ref: ref.__setitem__(0, 6.0))(ref)
    np.testing.assert_array_equal(read, [5, 1, 2])


def test_references_end_by_freeze_or_free_ref():
    assert arrax.freeze(arrax.new_ref(1.5)) == 1.5
    ref = arrax.new_ref(jnp.zeros(2))
    arrax.free_ref(ref)
    with pytest.raises(RuntimeError, match="freed by free_ref"):
        ref[...]
    np.testing.assert_array_equal(arrax.empty_ref(arrax.ShapeDtypeStruct((2,), jnp.int8))[...], [0, 0])


def test_references_have_the_attributes_of_their_array():
    ref = arrax.new_ref(counting(2, 3), kind="grads")
    assert (ref.shape, ref.dtype, ref.ndim, ref.size, len(ref)) == ((2, 3), np.float32, 2, 6, 2)
    assert isinstance(ref, arrax.Ref) and not isinstance(ref, arrax.Array) and ref == ref and ref in {ref}
    assert isinstance(arrax.typeof(ref), refs.AbstractRef) and arrax.typeof(ref).inner_aval == arrax.typeof(ref[...])
    assert ref.sharding == ref[...].sharding and ref.aval.kind == "grads" and ref.aval.memory_space is None
    assert [row.tolist() for row in ref] == [[0, 1, 2], [3, 4, 5]]
    assert arrax.tree.leaves({"a": ref}) == [ref]
    assert repr(arrax.new_ref(jnp.zeros(2))) == "Ref([0., 0.], dtype=float32)"
    assert str(ref.aval) == "Ref{float32[2,3]}"
    other = copy.deepcopy(ref)
    other[0, 0] = 9.0
    assert ref[0, 0] == 0 and other[0, 0] == 9


def test_keys_can_be_held():
    ref = arrax.new_ref(arrax.random.key(0))

    @arrax.jit
    def next_key(ref):
        ref[...], taken = arrax.random.split(ref[...])
        return taken

    expected, taken = arrax.random.split(arrax.random.key(0))
    assert next_key(ref) == taken and ref[...] == expected


def test_slices_are_arguments_whose_size_is_part_of_the_signature():
    taken = arrax.jit(lambda piece, x: arrax.new_ref(x)[piece])
    x = np.arange(4.0, dtype=np.float32)
    assert taken(arrax.ds(jnp.int32(1), 2), x).tolist() == taken(arrax.ds(1, 2), x).tolist() == [1, 2]
    assert arrax.tree.leaves(arrax.ds(1, 2)) == []


@pytest.mark.parametrize(
    ("use", "error", "words"),
    [
        (lambda ref: ref[7], ValueError, "Out of bound indexer: idx=7, dim=3"),
        (lambda ref: ref[0, 0], IndexError, "[Tt]oo many"),
        (lambda ref: ref[::-1], ValueError, "step >= 1"),
        (lambda ref: ref["a"], TypeError, "string indexing"),
        (lambda ref: ref.__setitem__(..., jnp.ones(4)), ValueError, r"Invalid shape for `swap`.*Value shape: \(4,\)"),
        (lambda ref: ref.__setitem__(0, jnp.int32(1)), ValueError, "Invalid dtype for `swap`.*int32"),
        (lambda ref: ref.__setitem__(0, 1j), ValueError, "Invalid dtype"),
        (lambda ref: ref.addupdate(jnp.ones(2)), ValueError, "Invalid shape for `addupdate`"),
        (lambda ref: ref.__setitem__(..., ref), TypeError, "read it first"),
        (lambda ref: ref.__setitem__(0, None), TypeError, "swap: None cannot be written"),
        (lambda ref: arrax.new_ref(ref), TypeError, "new_ref.*another reference"),
        (lambda ref: arrax.new_ref("a"), TypeError, "new_ref: expected an array"),
        (lambda ref: arrax.freeze(jnp.ones(2)), TypeError, "freeze: expected a reference"),
        (lambda ref: refs.get(jnp.ones(2)), TypeError, "ref.get: expected a reference"),
        (lambda ref: jnp.sin(ref), TypeError, "read it first"),
        (lambda ref: ref + 1, TypeError, "unsupported operand"),
        (lambda ref: jnp.asarray(ref), TypeError, "array"),
        (lambda ref: arrax.jit(lambda ref: jnp.sin(ref))(ref), TypeError, "read it first"),
        (lambda ref: arrax.new_ref(1.0, memory_space="hbm"), NotImplementedError, "memory_space"),
        (lambda ref: arrax.ds(0, -1), ValueError, "ds: size"),
    ],
)  # fmt: skip
def test_wrong_uses_are_refused(use, error, words):
    with pytest.raises(error, match=words):
        use(arrax.new_ref(jnp.arange(3.0)))


def test_reshaped_views_read_and_write_the_reference():
    def f(x):
        ref = arrax.new_ref(x)
        ref.reshape(2, -1).at[1].reshape((2, 1))[1, 0] = 7.0
        ref.reshape(4)[...] += 1.0
        return ref.reshape(2, 2)[:, 1], ref[...]

    for call in (f, arrax.jit(f), lambda x: [out[0] for out in arrax.vmap(f)(x[None])]):
        column, whole = call(jnp.arange(4.0))
        assert column.tolist() == [2, 8] and whole.tolist() == [1, 2, 3, 8]
    view = arrax.new_ref(jnp.zeros((2, 3))).reshape(6)
    assert (view.shape, view.ndim, view.size) == ((6,), 1, 6)
    with pytest.raises(TypeError, match="cannot reshape"):
        view.reshape(4)
    with pytest.raises(ValueError, match="Invalid shape"):
        view[...] = jnp.zeros((2, 3))
