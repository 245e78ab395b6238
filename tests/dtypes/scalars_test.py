"""Scalar types name dtypes, equal NumPy's, and make arrays through a slot."""

import ml_dtypes
import numpy as np
import pytest

from arrax import dtypes
from arrax.dtypes import scalars

SCALAR_TYPES = {value for value in vars(scalars).values() if isinstance(value, scalars.ScalarType)}
each_scalar_type = pytest.mark.parametrize("scalar_type", sorted(SCALAR_TYPES, key=str), ids=str)


def test_every_known_dtype_has_one():
    assert {scalar_type.dtype for scalar_type in SCALAR_TYPES} == dtypes.known_dtypes


@each_scalar_type
def test_it_is_named_after_its_dtype_and_lives_in_the_numpy_face(scalar_type):
    assert repr(scalar_type) == f"<class 'arrax.numpy.{scalar_type.dtype.name}'>"


@each_scalar_type
def test_numpy_takes_it_for_its_dtype(scalar_type):
    assert np.dtype(scalar_type) == scalar_type.dtype
    assert np.zeros(3, dtype=scalar_type).dtype == scalar_type.dtype
    assert np.zeros(3).astype(scalar_type).dtype == scalar_type.dtype


@each_scalar_type
def test_it_equals_numpys_type_and_dtype(scalar_type):
    numpy_type = scalar_type.dtype.type
    assert scalar_type == numpy_type and numpy_type == scalar_type
    assert scalar_type == scalar_type.dtype and scalar_type.dtype == scalar_type
    assert hash(scalar_type) == hash(numpy_type)
    assert {numpy_type: 1}[scalar_type] == 1


def test_different_types_differ():
    assert scalars.float32 != scalars.int32
    assert scalars.float32 != np.float64
    assert scalars.float32 != "float32"
    assert scalars.float32 != np.dtype("float64")


def test_numpy_scalars_are_instances_and_arrays_are_not():
    assert isinstance(np.float32(1), scalars.float32)
    assert isinstance(ml_dtypes.bfloat16(1), scalars.bfloat16)
    assert not isinstance(np.float64(1), scalars.float32)
    assert not isinstance(np.ones(1, np.float32), scalars.float32)
    assert not isinstance(1.0, scalars.float32)


def test_numpys_questions_can_be_asked_of_it():
    assert np.issubdtype(scalars.float32, np.floating)
    assert np.finfo(scalars.float32).bits == 32
    assert np.iinfo(scalars.int8).max == 127


def test_calling_it_makes_an_array_through_the_slot(monkeypatch):
    monkeypatch.setattr(scalars.ScalarType, "make_array", staticmethod(lambda value, dtype: np.asarray(value, dtype)))
    made = scalars.float16([1, 2])
    assert made.dtype == np.float16 and made.tolist() == [1, 2]


def test_calling_it_takes_one_value():
    with pytest.raises(TypeError):
        scalars.float32()
    with pytest.raises(TypeError):
        scalars.float32(1, 2)


# fmt: off
@pytest.mark.parametrize("alias, name", [
    ("int_", "int64"), ("uint", "uint64"), ("float_", "float64"), ("complex_", "complex128"), ("single", "float32"),
    ("double", "float64"), ("csingle", "complex64"), ("cdouble", "complex128"), ("bool_", "bool"),
])
# fmt: on
def test_aliases(alias, name):
    assert getattr(scalars, alias).__name__ == name
