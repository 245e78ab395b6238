"""DLPack: arrays go to NumPy and come back, sharing memory where they can."""

import ml_dtypes
import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import dlpack

DTYPES = ["bool", "int8", "uint32", "float16", "float32", "complex64", "int64", "float64", "complex128"]


def aligned(shape, dtype=np.float32):
    """An array of zeros whose memory begins at a multiple of 64 bytes."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    block = np.zeros(size + 64, np.uint8)
    start = -block.ctypes.data % 64
    return block[start : start + size].view(dtype).reshape(shape)


@pytest.mark.parametrize("dtype", DTYPES)
def test_arrays_of_numpy_come_with_their_elements(dtype):
    with arrax.enable_x64(True):
        value = np.arange(6).reshape(2, 3).astype(dtype)
        array = jnp.from_dlpack(value)
        assert array.dtype == value.dtype and isinstance(array, arrax.Array)
        np.testing.assert_array_equal(array, value)


@pytest.mark.parametrize("value", [np.zeros((0, 3), np.float32), np.array(2.5, np.float32), np.arange(8.0)[::2],
                                   np.arange(6.0).reshape(2, 3).T, np.arange(4.0)[::-1]], ids=str)  # fmt: skip
def test_arrays_of_any_layout_come_in_order(value):
    np.testing.assert_array_equal(jnp.from_dlpack(value), value)


def test_wide_elements_are_narrowed_without_64_bit_types():
    assert jnp.from_dlpack(np.arange(3)).dtype == np.int32
    with pytest.raises(ValueError, match="copy=False"):
        jnp.from_dlpack(np.arange(3), copy=False)


def test_memory_is_shared_where_it_is_aligned():
    value = aligned((4, 4))
    assert jnp.from_dlpack(value).unsafe_buffer_pointer() == value.ctypes.data
    assert jnp.from_dlpack(value, copy=False).unsafe_buffer_pointer() == value.ctypes.data
    assert jnp.from_dlpack(value, copy=True).unsafe_buffer_pointer() != value.ctypes.data


def test_a_copy_that_is_needed_can_be_refused():
    for value in (np.arange(6, dtype=np.float32)[::2], aligned(20)[1:]):
        with pytest.raises(ValueError, match="copy=False"):
            jnp.from_dlpack(value, copy=False)


def test_our_arrays_come_back():
    array = jnp.arange(4.0)
    same, other = jnp.from_dlpack(array), jnp.from_dlpack(array, copy=True)
    assert same.unsafe_buffer_pointer() == array.unsafe_buffer_pointer()
    assert other.unsafe_buffer_pointer() != array.unsafe_buffer_pointer()
    np.testing.assert_array_equal(other, array)
    assert jnp.from_dlpack(jnp.ones(2, "bfloat16")).dtype == ml_dtypes.bfloat16


def test_the_device_may_be_said():
    device = arrax.devices()[0]
    for place in (device, jnp.ones(2).sharding):
        assert dlpack.from_dlpack(np.ones(2, np.float32), device=place).device == device
    with pytest.raises(TypeError, match="device must be"):
        dlpack.from_dlpack(np.ones(2), device="cpu")


def test_numpy_takes_our_arrays():
    array = jnp.arange(4.0)
    assert array.__dlpack_device__() == (1, 0)
    taken = np.from_dlpack(array)
    np.testing.assert_array_equal(taken, array)
    assert taken.ctypes.data == array.unsafe_buffer_pointer()
    assert np.from_dlpack(array, copy=True).ctypes.data != array.unsafe_buffer_pointer()


def test_a_capsule_can_be_made():
    assert "dltensor" in repr(dlpack.to_dlpack(jnp.ones(2)))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "bool", "complex64"])
def test_a_capsule_can_be_taken_once(dtype):
    x = jnp.arange(4).astype(dtype)
    capsule = dlpack.to_dlpack(x)
    taken = dlpack.from_dlpack(capsule)
    assert taken.dtype == x.dtype and (taken == x).all()
    with pytest.raises(ValueError, match="PyCapsule"):
        dlpack.from_dlpack(capsule)
    with pytest.raises(BufferError, match="device"):
        jnp.ones(2).__dlpack__(dl_device=(2, 0))


def test_dtypes_that_cannot_be_exchanged_are_refused():
    assert dlpack.is_supported_dtype("bfloat16") and not dlpack.is_supported_dtype("int4")
    with pytest.raises(BufferError, match="int4"):
        jnp.ones(2, "int4").__dlpack__()
    with pytest.raises(BufferError):
        jnp.from_dlpack(np.array(["a"]))


@pytest.mark.parametrize("value", [3, [1.0], None])
def test_what_is_no_array_is_refused(value):
    with pytest.raises(TypeError, match="__dlpack__"):
        jnp.from_dlpack(value)
