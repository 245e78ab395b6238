"""The page of NumPy's functions is what its generator writes, for the NumPy that it names."""

import inspect

import numpy as np
import pytest

from docs import numpy_status

same_numpy = pytest.mark.skipif(
    f"NumPy {numpy_status.version()} " not in numpy_status.PAGE.read_text(), reason="the page speaks of another NumPy"
)


@same_numpy
def test_the_page_is_up_to_date():
    assert numpy_status.PAGE.read_text() == numpy_status.page(), "run `make docs-numpy`"


@same_numpy
def test_names_that_numpy_lacks_have_no_note():
    known = {name for theirs, _ in numpy_status.NAMESPACES.values() for name in numpy_status.names(theirs)}
    old = {
        "in1d",
        "trapz",
        "row_stack",
        "complex256",
        "complex192",
        "float128",
        "float96",
        "typename",
    }  # of some NumPys
    noted = {name.rpartition(".")[2] for name in numpy_status.NOTES} | set(numpy_status.OUT_OF_SCOPE)
    assert noted <= known | old


@pytest.mark.parametrize("name", ["newaxis", "add", "linalg.norm", "fft.fft"])
def test_names_that_are_there_have_no_reason(name):
    prefix, _, last = name.rpartition(".")
    with pytest.raises(LookupError, match="out of scope"):
        numpy_status.status(prefix, last, np, numpy_status._MISSING)


def test_a_renamed_parameter_is_a_difference():
    def theirs(a, b):
        """Only a signature."""

    def ours(a, c):
        """Only a signature."""

    assert inspect.signature(theirs) != inspect.signature(ours)
    assert numpy_status.status("", "made_up", theirs, ours) == ("available, differs", "`b` is called `c`")
