"""Extended dtypes stand beside NumPy's without being one."""

import numpy as np
import pytest

from arrax import dtypes


class KeyDType(dtypes.ExtendedDType):
    __slots__ = ("name",)
    type = dtypes.prng_key
    itemsize = 8
    physical_shape = (2,)
    physical_dtype = np.dtype("uint32")

    def __init__(self, name):
        self.name = name


FRY = KeyDType("key<fry>")


@pytest.mark.parametrize("scalar_type", [dtypes.extended, dtypes.prng_key])
def test_scalar_types_have_no_instances(scalar_type):
    with pytest.raises(TypeError):
        scalar_type()


def test_scalar_types_are_known_by_their_public_names():
    assert repr(dtypes.prng_key) == "<class 'arrax.dtypes.prng_key'>"
    assert repr(dtypes.extended) == "<class 'arrax.dtypes.extended'>"


def test_keys_are_extended():
    assert dtypes.issubdtype(dtypes.prng_key, dtypes.extended)
    assert dtypes.issubdtype(FRY, dtypes.extended)
    assert dtypes.issubdtype(FRY, dtypes.prng_key)
    assert dtypes.issubdtype(FRY, np.generic)
    assert dtypes.issubdtype(FRY, FRY)


def test_keys_are_no_numbers_and_numbers_no_keys():
    assert not dtypes.issubdtype(FRY, np.number)
    assert not dtypes.issubdtype("uint32", dtypes.extended)
    assert not dtypes.issubdtype("uint32", FRY)
    assert not dtypes.isdtype(FRY, "numeric")


def test_a_dtype_is_equal_to_itself_only():
    assert FRY != KeyDType("key<fry>")
    assert FRY != np.dtype("uint32")
    assert np.dtype("uint32") != FRY


def test_it_prints_its_name():
    assert str(FRY) == repr(FRY) == dtypes.short_name(FRY) == "key<fry>"


def test_is_extended_tells_it_from_numpys():
    assert dtypes.is_extended(FRY)
    assert not dtypes.is_extended(np.dtype("uint32"))
    assert not dtypes.is_extended(dtypes.float0)


def test_a_family_of_extended_dtypes_is_no_dtype():
    with pytest.raises(TypeError, match="family"):
        dtypes.to_dtype(dtypes.prng_key)


def test_canonical_form_is_itself_where_allowed():
    assert dtypes.canonicalize_dtype(FRY, allow_extended_dtype=True) is FRY
    with pytest.raises(ValueError, match="key<fry>"):
        dtypes.canonicalize_dtype(FRY)


def test_it_may_be_requested():
    assert dtypes.check_user_dtype("full", FRY) is FRY


def test_promotion_keeps_it_with_its_like():
    assert dtypes.result_type(FRY) is FRY
    assert dtypes.result_type(FRY, FRY, return_weak_type_flag=True) == (FRY, False)
    with pytest.raises(dtypes.TypePromotionError, match="key<fry>"):
        dtypes.result_type(FRY, 1)


def test_it_casts_to_itself_only():
    assert dtypes.can_cast(FRY, FRY)
    assert not dtypes.can_cast(FRY, "uint32")
    assert not dtypes.can_cast("uint32", FRY)


def test_it_has_no_limits_and_no_python_class():
    for question in (dtypes.finfo, dtypes.iinfo):
        with pytest.raises(ValueError, match="key<fry>"):
            question(FRY)
    with pytest.raises(TypeError, match="key<fry>"):
        dtypes.scalar_type_of(FRY)
