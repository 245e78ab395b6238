"""``checkify``: run-time checks as values. Functions with checks become functions that return an error as well."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from arrax import dtypes
from arrax.core.calls import check_callable
from arrax.core.function_info import describe_call
from arrax.core.functions import named_like
from arrax.core.interpreter import Tracer
from arrax.core.program import ClosedJaxpr
from arrax.core.pytree_nodes import register_pytree_node
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.tracebacks import bound_methods, boundary
from arrax.core.types import typeof
from arrax.interpreters.staging import PYTHON_SCALARS, stage
from arrax.lax.arithmetic import ne
from arrax.lax.bitwise import bitwise_not
from arrax.lax.debug_prints import FieldFinder
from arrax.lax.operand_checks import checked_operand
from arrax.lax.runtime_checks import (
    DivisionByZeroError,
    FailedCheckError,
    JaxException,
    NaNError,
    OOBError,
    Site,
    Sites,
    bind_check,
    describe_failures,
    exception_of,
    place_of,
)
from arrax.native import runtime
from arrax.transforms import masked_checks as _masked_checks  # noqa: F401  (how branches and loops with checks are batched)
from arrax.transforms.arguments import UnhashableArgument
from arrax.transforms.automatic_checks import code_where
from arrax.transforms.discharge import run_checked
from arrax.xla.arrays import ArrayLike

if TYPE_CHECKING:
    from arrax.core.pytrees import PyTreeDef
    from arrax.random.implementations import KeyDType


user_checks = frozenset({FailedCheckError})
index_checks = frozenset({OOBError})
nan_checks = frozenset({NaNError})
div_checks = frozenset({DivisionByZeroError})
float_checks = nan_checks | div_checks
automatic_checks = float_checks | index_checks
all_checks = automatic_checks | user_checks


@bound_methods
class Error:
    """What went wrong in a checked function, if anything did: a pytree of arrays, of which ``vmap`` makes a mapped one.

    Attributes:
      _code: int32, which check failed: 0, or its number in ``_metadata``, counted from 1; with the axes of a mapped error.
      _metadata: the checks.
      _payload: the values that messages show; each check knows which are its own.
    Example: ``err, out = checkify(jnp.sin)(x); err.throw()``.
    """

    __slots__ = ("_code", "_metadata", "_payload")

    def __init__(self, _pred: Any, _code: ArrayLike, _metadata: Sites, _payload: tuple[Any, ...]) -> None:
        self._code, self._metadata, self._payload = _code, tuple(_metadata), tuple(_payload)

    @property
    def _pred(self) -> Any:
        """Whether a check failed. It is not kept: each result of a compiled function takes time."""
        return ne(self._code, np.int32(0))

    def get(self) -> str | None:
        """The message of what failed first, with a line for each failed index of a mapped error; None if nothing did.

        Raises:
          ValueError: the error is traced: it has no value yet.
        """
        if any(isinstance(value, Tracer) for value in (self._code, *self._payload)):
            raise ValueError(
                "Error.get: the error is traced, so that it is not known whether anything failed. Return it from the "
                "transformed function, or use checkify.check_error inside of checkify"
            )
        return describe_failures(self._code, self._metadata, self._payload)

    def get_exception(self) -> JaxException | None:
        """What failed first as an exception that is not raised, whose class says the kind of check; None if nothing did.

        Raises:
          ValueError: the error is traced: it has no value yet.
        """
        text = self.get()
        return None if text is None else exception_of(self._code, self._metadata, text)

    def throw(self) -> None:
        """Raise what failed, if anything did.

        Raises:
          JaxRuntimeError: a check failed.
        """
        check_error(self)

    def __repr__(self) -> str:
        return f"Error({self._code!r})" if isinstance(self._code, Tracer) else f"Error({self.get()})"

    __str__ = __repr__


register_pytree_node(
    Error,
    lambda error: ((error._code, error._payload), error._metadata),
    lambda metadata, values: Error(None, values[0], metadata, values[1]),
)
init_error = Error(None, np.int32(0), (), ())
_field_finder = FieldFinder()


def check(pred: ArrayLike, msg: str, *fmt_args: Any, debug: bool = False, **fmt_kwargs: Any) -> None:
    """Make sure that a predicate holds at run time.

    Outside of compiled functions a failure raises at once. In compiled ones the check needs ``checkify`` around it.

    Args:
      pred: bool scalar.
      msg: text with fields, as of ``str.format``.
      fmt_args, fmt_kwargs: what stands in the fields: pytrees of arrays, keys or numbers.
      debug: check only under ``checkify``; left out without it.
    Raises:
      TypeError: a predicate that is not a bool scalar, values that are not arrays.
      IndexError, KeyError: fields without a value.
      JaxRuntimeError: the predicate is false.
      ValueError: the check is compiled without ``checkify``.
    Example: ``check(x[1] > 0, "x must be positive, got {x}", x=x)``.
    """
    _require_predicate(pred)
    if not isinstance(msg, str):
        raise TypeError(f"check: msg must be a text, got {msg!r}")
    leaves, tree = tree_flatten((fmt_args, fmt_kwargs))
    key_dtypes = tuple(map(_key_dtype, leaves))
    leaves = [leaf if dtype is None else dtype.unwrap(leaf) for leaf, dtype in zip(leaves, key_dtypes, strict=True)]
    try:
        _field_finder.vformat(msg, fmt_args, fmt_kwargs)
    except (IndexError, KeyError, ValueError) as error:
        error.add_note(f"check: fields and values do not fit together in {msg!r}")
        raise
    place = place_of(runtime.Traceback.get_traceback())
    site = Site(FailedCheckError, msg, tree, place, bool(debug), key_dtypes, tuple(range(len(leaves))))
    bind_check(code_where(bitwise_not(pred)), leaves, (site,))


def _require_predicate(pred: ArrayLike) -> None:
    try:
        aval = typeof(pred)
        fits = aval.shape == () and aval.dtype == np.bool_
    except TypeError:
        fits = False
    if not fits:
        raise TypeError(f"check takes a scalar pred as argument, of dtype bool, got {pred}")


def _key_dtype(leaf: Any) -> KeyDType | None:
    """The dtype of an array of keys, None for other arrays and numbers.

    Raises:
      TypeError: neither.
    """
    try:
        aval = typeof(leaf)
        if dtypes.issubdtype(aval.dtype, dtypes.prng_key):
            return aval.dtype
        checked_operand("check", leaf)
    except TypeError:
        raise TypeError(
            f"check: what the message shows must be pytrees of arrays or numbers, got {leaf!r} of type {type(leaf)}"
        ) from None
    return None


def debug_check(pred: ArrayLike, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """A ``check`` that counts only under ``checkify``, and is left out without it.

    Example: ``debug_check(x[1] > 0, "got {}", x)``.
    """
    check(pred, msg, *fmt_args, debug=True, **fmt_kwargs)


@boundary
def check_error(error: Error) -> None:
    """Raise what an error holds, if it holds any. Under ``checkify`` it becomes the error of the function.

    Args:
      error: as of a checked function; a mapped one counts if any of its elements does.
    Raises:
      TypeError: not an error.
      JaxRuntimeError: it holds a failure.
      ValueError: compiled without ``checkify``.
    Example: ``check_error(checkify(jnp.sin)(x)[0])``.
    """
    if not isinstance(error, Error):
        raise TypeError(f"check_error takes an Error as argument, got type {type(error)} instead.")
    if error._metadata:
        looked_at = tuple(site._replace(debug=False) for site in error._metadata)  # none of which is left out
        bind_check(error._code, error._payload, looked_at)


def checkify(f: Callable[..., Any], errors: frozenset[Any] = user_checks) -> Callable[..., tuple[Error, Any]]:
    """The function that returns what failed beside its result, instead of raising.

    Args:
      f: function of pytrees of arrays. It gets what is not an array as it is, as it does numbers whose values it asks for.
      errors: which kinds of failures to look for: ``user_checks`` are the calls of ``check``; ``index_checks``,
        ``nan_checks`` and ``div_checks`` are added to every operation; unions of these.
    Returns: ``checked(*args, **kwargs) -> (error, result)``, which all transformations apply to.
    Raises:
      TypeError: not a function, or not a set of classes of such exceptions as ``Error.get_exception`` gives.
    Example: ``err, y = jit(checkify(jnp.log, errors=nan_checks))(-1.)``.
    """
    check_callable(f)
    wanted = _wanted(errors)

    def run(leaves: list[Any], in_tree: PyTreeDef, traced: list[bool]) -> tuple[Error, Any]:
        out_tree: Any = None

        def flat(*values: Any) -> list[Any]:
            nonlocal out_tree
            rest = iter(values)
            every = [next(rest) if is_traced else leaf for leaf, is_traced in zip(leaves, traced, strict=True)]
            own_args, own_kwargs = tree_unflatten(in_tree, every)
            outs, out_tree = tree_flatten(f(*own_args, **own_kwargs))
            return outs

        operands = [leaf for leaf, is_traced in zip(leaves, traced, strict=True) if is_traced]
        info = describe_call(f, "checkify", *tree_unflatten(in_tree, leaves))
        names = zip(info.argument_names or (), traced, strict=False)
        info = info._replace(argument_names=tuple(name for name, is_traced in names if is_traced))
        jaxpr, consts = stage(flat, [typeof(leaf) for leaf in operands], info)
        found, outs = run_checked(ClosedJaxpr(jaxpr, consts), operands, wanted)
        return Error(None, found.code, found.sites, tuple(found.payload)), tree_unflatten(out_tree, outs)

    @boundary
    @named_like(f)
    def checked_fun(*args: Any, **kwargs: Any) -> tuple[Error, Any]:
        leaves, in_tree = tree_flatten((args, kwargs))
        traced = list(map(_has_type, leaves))
        arrays = [has_type and type(leaf) not in PYTHON_SCALARS for leaf, has_type in zip(leaves, traced, strict=True)]
        try:
            return run(leaves, in_tree, traced)
        except (TypeError, UnhashableArgument):
            if arrays == traced:
                raise
        return run(leaves, in_tree, arrays)  # the function wants to know some number

    return checked_fun


def _has_type(leaf: Any) -> bool:
    try:
        typeof(leaf)
    except TypeError:
        return False
    return True


def _wanted(errors: Any) -> frozenset[Any]:
    try:
        wanted = frozenset(errors)
    except TypeError:
        wanted = frozenset({None})
    if isinstance(errors, Mapping | str) or not all(
        isinstance(kind, type) and issubclass(kind, JaxException) for kind in wanted
    ):
        raise TypeError(f"checkify: errors must be a set of checks such as checkify.user_checks, got {errors!r}")
    return wanted
