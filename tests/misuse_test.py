"""Misuse of every public function: a clear exception of a documented class, never a crash or the words of a library below."""

import inspect
import random as python_random
import typing
import warnings
from traceback import walk_tb

import numpy as np
import pytest

import arrax
import arrax.numpy as jnp
from arrax import lax, nn, random
from arrax.core.calls import is_internal
from tests.support import FOREIGN

pytestmark = pytest.mark.filterwarnings("ignore")
_LEAKED = []
arrax.jit(lambda x: _LEAKED.append(x) or x)(jnp.ones(3))


class Odd:
    """A value of no use."""


STRANGE = [
    None, "text", Odd(), [1, 2], (1.0, "a"), {"a": 1}, np.array(["a", "b"]), np.array([None, 1], object),
    np.array("2020-01-01", dtype="datetime64[D]"), -1, 10**30, float("nan"), float("inf"), 1e300, 2.5, True, 1j,
    np.ones(3), np.ones((2, 3)), np.arange(4), np.zeros((0,)), b"x", ..., slice(1, 2), int, np.float32, lambda x: x,
    _LEAKED[0],
]  # fmt: skip
ALLOWED = (
    TypeError, ValueError, IndexError, OverflowError, NotImplementedError, ZeroDivisionError, BufferError, NameError,
    *(c for c in vars(arrax.errors).values() if isinstance(c, type) and issubclass(c, Exception)),
)  # fmt: skip
# Those that change global settings, or whose business are files.
LEFT_OUT = {"set_printoptions", "printoptions", "save", "savez", "load", "fromfile"}
ROOMS = {"numpy": jnp, "linalg": jnp.linalg, "fft": jnp.fft, "lax": lax, "random": random, "nn": nn}
FUNCTIONS = [
    f"{room}.{name}"
    for room, module in ROOMS.items()
    for name in sorted(set(dir(module)) - LEFT_OUT)
    if not name.startswith("_") and callable(value := getattr(module, name))
    if not isinstance(value, type) and typing.get_origin(value) is None
]


def deleted():
    array = jnp.ones(3) + 0
    array.delete()
    return array


def calls_of(name, function):
    """Some strange calls: all arguments strange, one of them, a strange option, one too many, a deleted array."""
    choose = python_random.Random(name)
    parameters = list(inspect.signature(function).parameters.values())
    required = [
        p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    options = [p.name for p in parameters if p.default is not p.empty and p.kind is not p.POSITIONAL_ONLY]
    count = max(1, len(required))
    fine = [random.key(0) if name.startswith("random.") and n == 0 else jnp.ones((2, 3)) for n in range(count)]
    for value in choose.sample(STRANGE, 6):
        yield [value] * count, {}
    for value in choose.sample(STRANGE, 4):
        place = choose.randrange(count)
        yield [value if n == place else good for n, good in enumerate(fine)], {}
    for option in choose.sample(options, min(3, len(options))):
        yield fine, {option: choose.choice(STRANGE)}
    yield fine, {"no_such_option": 1}
    yield [deleted()] * count, {}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_misuse_gives_clear_exceptions(name):
    room, _, attribute = name.partition(".")
    function = getattr(ROOMS[room], attribute)
    for args, kwargs in calls_of(name, function):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                function(*args, **kwargs)
        except ALLOWED as error:
            assert str(error).strip(), (args, kwargs)
            assert not any(words in str(error) for words in FOREIGN), (args, kwargs, str(error))
            inside = [frame for frame, _ in walk_tb(error.__traceback__) if is_internal(frame.f_code.co_filename)]
            assert not inside, (args, kwargs, inside)
        except RuntimeError as error:
            assert "deleted" in str(error), (args, kwargs, str(error))


# What they are given first is a name, a type or a padding, or their caller is asked what went wrong.
UNNAMED = {
    "numpy.einsum_path", "numpy.frombuffer", "numpy.mask_indices", "numpy.promote_types", "numpy.tril_indices_from",
    "numpy.triu_indices_from", "lax.conv_dimension_numbers", "lax.conv_general_permutations", "lax.pshuffle",
    "lax.conv_general_shape_tuple", "lax.conv_shape_tuple", "lax.reduce_window_shape_tuple",
    "lax.conv_transpose_shape_tuple", "lax.padtype_to_pads", "random.key_dtype",
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - UNNAMED))
def test_messages_say_which_function_was_called(name):
    room, _, attribute = name.partition(".")
    function = getattr(ROOMS[room], attribute)
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [p for p in inspect.signature(function).parameters.values() if p.kind in kinds]
    required = [p for p in parameters if p.default is p.empty] or parameters[:1]
    for value in ("text", np.array(["a", "b"]), Odd()):
        args = [value, *(jnp.ones((2, 2)) for _ in required[1:])]
        try:
            function(*args)
        except (TypeError, ValueError) as error:
            assert any(n in str(error) for n in (attribute, getattr(function, "__name__", attribute))), str(error)
        except ALLOWED:
            pass
