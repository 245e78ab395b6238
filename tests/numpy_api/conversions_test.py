"""What becomes an array, of which dtype, and whether weakly typed."""

import array as stdarray
import collections
import collections.abc
import enum

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax


def test_divisors_and_angles_of_numbers_are_weak():
    assert jnp.angle(1j).weak_type and not jnp.angle(-1.0).weak_type
    assert (jnp.gcd(4, 6) * np.int8(3)).dtype == (jnp.lcm(4, 6) * np.int8(3)).dtype == np.int8


def test_small_floats_are_read_back_from_files(tmp_path):
    x = jnp.arange(3, dtype="bfloat16")
    jnp.save(tmp_path / "x.npy", x)
    assert jnp.load(tmp_path / "x.npy").dtype == x.dtype
    np.testing.assert_array_equal(jnp.load(tmp_path / "x.npy"), x)
    np.save(tmp_path / "texts.npy", np.array(["a", "b"]))
    assert isinstance(jnp.load(tmp_path / "texts.npy"), np.ndarray)


def test_lists_of_traced_values_may_be_complex():
    assert arrax.jit(jnp.iscomplexobj)([1 + 1j])


def test_vectors_are_unraveled_by_equal_functions():
    ravel = arrax.flatten_util.ravel_pytree
    first, second, other = (ravel(tree)[1] for tree in ((jnp.ones(2),), (jnp.zeros(2),), (jnp.ones(3),)))
    assert first == second and hash(first) == hash(second) and first != other
    np.testing.assert_array_equal(first(jnp.arange(2.0))[0], [0, 1])


def test_zeros_are_made_like_anything_with_a_shape_and_a_dtype():
    class Described:
        shape, dtype, ndim = (2, 3), np.dtype(np.float16), 2

    made = jnp.zeros_like(Described())
    assert made.shape == (2, 3) and made.dtype == np.float16
    assert arrax.jit(lambda: jnp.full_like(Described(), 2))().shape == (2, 3)


class Colour(enum.IntEnum):
    RED = 2


@pytest.mark.parametrize(
    "call",
    [
        lambda two: jnp.arange(3) + two,
        lambda two: two * jnp.arange(3),
        lambda two: jnp.arange(3.0) ** two,
        lambda two: jnp.arange(3) == two,
        lambda two: jnp.int8(1) + two,
        lambda two: jnp.where(True, two, 0),
        lambda two: jnp.arange(3).at[two].set(two),
        lambda two: lax.add(jnp.int32(1), two),
        lambda two: arrax.grad(lambda x: x * two)(2.0),
        lambda two: arrax.vmap(lambda x: x + two)(jnp.arange(2)),
        lambda two: arrax.jit(lambda x: x * two)(two),
        lambda two: jnp.ones((two, two)).sum(two - 1),
    ],
)
def test_members_of_an_enumeration_are_the_integers_that_they_are(call):
    found, expected = call(Colour.RED), call(2)
    assert found.dtype == expected.dtype and found.weak_type == expected.weak_type
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("other", ["a", object(), [1, [2]]], ids=["text", "object", "ragged"])
def test_what_is_no_array_is_compared_with_none(other):
    for compare in (jnp.array_equal, jnp.array_equiv):
        with pytest.raises((TypeError, ValueError), match="array"):
            compare(jnp.ones(2), other)


def test_the_dtype_of_a_python_number_is_that_of_its_array():
    assert [lax.dtype(x) for x in (1.0, 1, 1j, True)] == [np.float32, np.int32, np.complex64, np.bool_]
    with pytest.raises(ValueError, match="None has no dtype"):
        lax.dtype(None)


def test_memory_of_donated_numbers_is_taken_for_the_result():
    add = arrax.jit(lambda x: x + 1, donate_argnums=0)
    for number in range(20):
        given = jnp.array(float(number))
        place = given.unsafe_buffer_pointer()
        result = add(given)
        assert given.is_deleted() and result.unsafe_buffer_pointer() == place and result == number + 1


def test_numbers_that_are_broadcast_become_arrays_where_programs_are_recorded():
    def rows(x):
        (both, _), alone = jnp.broadcast_arrays(2.5, 1), jnp.broadcast_to(1.5, ())
        return jnp.stack([x[None], both[None], alone[None]])

    np.testing.assert_array_equal(arrax.jit(rows)(1.0), [[1.0], [2.5], [1.5]])


def test_what_numpy_takes_for_an_array_becomes_one():
    class Picture:
        __array_interface__ = np.arange(3.0).__array_interface__

    class Shared:
        __array_struct__ = np.arange(3.0).__array_struct__

    wanted = [0.0, 1.0, 2.0]
    for value in (
        Picture(),
        Shared(),
        collections.deque(wanted),
        memoryview(np.arange(3.0)),
        stdarray.array("d", wanted),
    ):
        assert jnp.asarray(value).tolist() == wanted, type(value)
        assert jnp.array([value, value]).tolist() == [wanted] * 2, type(value)
    for value in ({1, 2}, {1: 2}, object(), "text", ["text"], [object()]):
        with pytest.raises(TypeError, match="Unexpected input type for array"):
            jnp.asarray(value)


def test_raveled_pytrees_of_weakly_typed_numbers_are_weak():
    for tree, weak in (
        (2.0, True),
        ([3, 4], True),
        ([jnp.asarray(2.0), 1.0], True),
        ([3, 4.0], False),
        ([np.float32(1), 2.0], False),
    ):
        vector, back = arrax.flatten_util.ravel_pytree(tree)
        assert vector.weak_type == weak and arrax.tree.structure(back(vector)) == arrax.tree.structure(tree)
        assert all(leaf.weak_type == weak for leaf in arrax.tree.leaves(back(vector)))
        assert not any(leaf.weak_type for leaf in arrax.tree.leaves(back(jnp.zeros_like(vector, vector.dtype))))


def test_nested_lists_keep_all_bits_of_wide_integers():
    most = 2**64 - 1
    with arrax.enable_x64(True):
        for rows in ([[1, most], [0, 2**63 + 1]], [[np.uint64(most), 1], [True, 2]]):
            np.testing.assert_array_equal(jnp.array(rows, "uint64"), np.array(rows, np.uint64), strict=True)


def test_nested_lists_of_integers_that_only_floats_hold():
    assert jnp.array([[2**70, 1.5]]).tolist() == [[2.0**70, 1.5]]
    assert jnp.array([[2**70], [-(2**80)]], "float32").tolist() == [[2.0**70], [-(2.0**80)]]
    assert jnp.array([[2**70, 1j]]).tolist() == [[2.0**70, 1j]]
    with pytest.raises(ValueError, match="equal lengths"):
        jnp.array([[2**70], [1, 2]], "float32")
    with pytest.raises(OverflowError):
        jnp.array([[2**70]])
