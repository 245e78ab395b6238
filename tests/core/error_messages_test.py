"""Errors that Python raises inside of the package say which function the user called, and with which argument."""

import re

import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax
from arrax.experimental import sparse
from arrax.scipy import linalg

X = jnp.ones((3, 4))
# fmt: off
CALLS = {
    "an argument, by its type":   (lambda: lax.rev(X, None), TypeError, "rev: argument dimensions: 'NoneType' object"),
    "a static argument":          (lambda: jnp.fft.fft(X, norm=[]), TypeError, "fft: argument norm: unhashable type: 'list'"),
    "what cannot be unpacked":    (lambda: linalg.cho_solve(None, X), TypeError, "cho_solve: argument c_and_lower: cannot unpack"),
    "no type in the message":     (lambda: lax.conv_general_shape_tuple((1,), (1, 2), (1,), "SAME", ("NC", "IO", "NC")), IndexError, r"conv_general_shape_tuple: .*\(lhs_shape=\(1,\), rhs_shape="),
    "in a mapped function":       (lambda: arrax.vmap(lambda v: lax.rev(v, None))(X), TypeError, "rev: argument dimensions"),
    "in a compiled function":     (lambda: arrax.jit(lambda v: jnp.fft.fft(v, norm=[]))(X), TypeError, "fft: argument norm"),
    "a check deep inside":        (lambda: jnp.append(X, jnp.ones(2), axis=0), TypeError, "^append: Cannot concatenate arrays"),
    "an axis":                    (lambda: jnp.sum(X, axis=7), ValueError, "^sum: axis 7 is out of bounds"),
    "a library function given":   (lambda: arrax.grad(jnp.i0)(1j), TypeError, "^i0 does not"),
    "an index":                   (lambda: X[0, 0, 0], IndexError, "^Too many indices"),
    "an operator":                (lambda: X + jnp.ones(3), ValueError, "^Incompatible shapes"),
    "an axis of a method":        (lambda: X.sum(axis=7), ValueError, "^sum: axis 7 is out of bounds"),
    "an axis, compiled":          (lambda: arrax.jit(lambda v: jnp.sum(v, axis=7))(X), IndexError, "^sum: axis 7 is out of"),
    "an argument without what is needed": (lambda: arrax.tree_util.treedef_children(None), TypeError, "^treedef_children: argument treedef is of a wrong type: 'NoneType'"),
    "one of several without it":  (lambda: sparse.bcsr_concatenate([1, 2], dimension=0), TypeError, "^bcsr_concatenate: argument operands is of a wrong type: 'int'"),
    "a constructor":              (lambda: arrax.ShapeDtypeStruct(None, "float32"), TypeError, "^ShapeDtypeStruct: argument shape: 'NoneType'"),
    "a check in a constructor":   (lambda: arrax.custom_jvp(3), TypeError, "^custom_jvp: argument fun: must be callable, got 3"),
    "a name that Python has too": (lambda: lax.slice(X, None, (1, 1)), TypeError, "^slice: 'NoneType'"),
}
# fmt: on


# fmt: off
TRACED = {
    "an axis":            (lambda n: jnp.cumsum(X, n), "\nIt arose in cumsum, argument axis.\n"),
    "an axis of a method": (lambda n: X.cumsum(axis=n), "\nIt arose in cumsum, argument axis.\n"),
    "a length in a tuple": (lambda n: arrax.image.resize(X, (n, 2), "linear"), "\nIt arose in resize, argument shape.\n"),
    "a flag":             (lambda n: jnp.sum(X, keepdims=n), "\nIt arose in sum, argument keepdims.\n"),
    "an axis that is looked at": (lambda n: jnp.moveaxis(X, n, 0), "\nIt arose in moveaxis.\nThe problem arose with the axis"),
}
# fmt: on


@pytest.mark.parametrize("case", TRACED.values(), ids=TRACED)
def test_the_call_and_the_argument_of_a_traced_value_are_named(case):
    call, where = case
    with pytest.raises(arrax.errors.JAXTypeError, match=where):
        arrax.jit(call)(1)


def test_traced_values_in_the_users_own_code_are_of_no_call():
    for call in (lambda n: [1, 2][n], lambda n: jnp.apply_along_axis(lambda _: [1, 2][n], 0, X)):
        with pytest.raises(arrax.errors.TracerIntegerConversionError) as caught:
            arrax.jit(call)(1)
        assert "It arose" not in str(caught.value)


@pytest.mark.parametrize("case", CALLS.values(), ids=CALLS)
def test_the_call_is_named(case):
    call, kind, message = case
    with pytest.raises(kind, match=message):
        call()


def user_error(x):
    return x.missing


def own_type_error(x):
    raise TypeError("mine")


@pytest.mark.parametrize("fun", [user_error, own_type_error], ids=["by Python", "by a statement"])
@pytest.mark.parametrize(
    "transformed",
    [arrax.jit, arrax.vmap, lambda f: lambda x: lax.map(f, x), lambda f: lambda x: lax.cond(True, f, f, x)],
)
def test_errors_of_the_users_code_stay(fun, transformed):
    with pytest.raises((AttributeError, TypeError)) as caught:
        transformed(fun)(X)
    assert re.fullmatch(r"mine|'\w+' object has no attribute 'missing'", str(caught.value).split("\n")[0])


def test_messages_that_name_the_function_stay():
    with pytest.raises(TypeError) as caught:
        jnp.sin("text")
    assert str(caught.value).count("sin") == 1


def test_names_that_a_function_does_not_have_are_named_before_values_are_looked_at():
    doubled = arrax.jit(lambda x: 2 * x)
    calls = {
        r"sin\(\) got an unexpected keyword argument 'nosuch'": lambda: jnp.sin(1.0, nosuch=2**40),
        r"pdf\(\) got an unexpected keyword argument 'nosuch'": lambda: arrax.scipy.stats.norm.pdf(1.0, nosuch=2**40),
        r"<lambda>\(\) too many positional arguments": lambda: doubled(1, "a"),
    }
    for said, call in calls.items():
        with pytest.raises(TypeError, match=said):
            call()
    with pytest.raises(OverflowError, match="argument x of <lambda>"):
        doubled(2**40)
