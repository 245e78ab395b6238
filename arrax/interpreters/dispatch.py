"""Calls that C++ repeats: the one place where Python functions become callables of the runtime.

A callable holds, for each signature of its arguments (tree, types, placements, static values, settings), the compiled
program that its first call found; calls after that stay in C++. The first call of a signature runs ``run_first``, which
gives the result and what C++ needs to repeat it, or None where Python has to run each time. Programs that call users'
functions are repeated by a second callable, behind Python that gives their exceptions back. ``jit``, the functions of
``arrax.numpy`` (``numpy_api/api.py``), single operations and compiled stages all come here; what differs between them is
what their ``run_first`` does.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from arrax.core import config
from arrax.core.caches import cleared_by
from arrax.core.calls import Call, register_wrapper
from arrax.core.error_messages import complete, refuse_argument
from arrax.core.pytree_nodes import call_registry
from arrax.core.tracebacks import hide_internal_frames
from arrax.interpreters import masked_arrays as masked_arrays
from arrax.native import runtime
from arrax.xla.arrays import ArrayLike
from arrax.xla.distribution import place_argument
from arrax.xla.host_failures import failure_behind
from arrax.xla.shutdown import gate

FirstCall = Callable[..., tuple[Any, Any]]  # from the arguments, the result and what C++ needs to repeat the call

# Users' functions come and go; the library's own are many and stay: neither drives the other's signatures out.
_users_calls = runtime.PjitFunctionCache(1 << 13)
_library_calls = runtime.PjitFunctionCache(1 << 16)
cleared_by(runtime.PjitFunctionCache.clear_all)


def callable_of(
    name: str,
    fun: Callable[..., Any],
    run_first: FirstCall,
    *,
    static_argnums: Sequence[int] = (),
    static_argnames: Sequence[str] = (),
    key: Hashable = "",
    by_user: bool = False,
    behind_python: bool = False,
) -> Any:
    """A callable of the runtime, which repeats compiled calls in C++.

    Args:
      name: what profiles and messages call it.
      fun: the Python function: runs under ``disable_jit``; callables of one function and one key share their signatures.
      run_first: runs the first call of each signature.
      static_argnums, static_argnames: arguments whose values are part of the signature.
      key: hashable; what tells callables of one function apart.
      by_user: whether users make it, any number of them.
      behind_python: whether Python stands between it and the user, so that it may repeat programs that call users' functions.
    """
    repeating: list[Callable[..., Any]] = []  # what repeats programs that call users' functions, once there is one

    def guarded(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        _drop_pending_exception()
        try:
            try:
                with gate:
                    if repeating:
                        return _with_users_exceptions(repeating[0], args, kwargs), None
                    result, path = run_first(*args, **kwargs)
                if path is None or not path.runs_users or behind_python:
                    return result, path
                repeating.append(
                    callable_of(
                        name, fun, run_first, static_argnums=static_argnums, static_argnames=static_argnames,
                        key=("behind Python", key), by_user=by_user, behind_python=True,
                    )
                )  # fmt: skip
                return result, None
            except AttributeError as error:
                refuse_argument(error, *_users_call(locals()))
                raise
        except BaseException as error:
            made = reference()
            if made is not None:
                made._clear_cache()  # the signature of a failed call would stay slow for ever
            complete(error, *_users_call(locals()))
            hide_internal_frames(error)
            raise

    if not type(fun).__weakrefoffset__:  # C++ finds functions by weak references, and crashes where there can be none
        fun = functools.partial(fun)
    made = runtime.pjit(
        name, fun, guarded, list(static_argnums), list(static_argnames), key, call_registry, place_argument,
        _users_calls if by_user else _library_calls,
    )  # fmt: skip
    reference = weakref.ref(made)  # it holds ``guarded``: what it closes over goes with it, at once
    register_wrapper(guarded, _users_call)
    made._repeating = repeating
    return made


def forget_calls(made: Any) -> None:
    """Let a callable run its first call again for every signature."""
    for each in (made, *made._repeating):
        each._clear_cache()


def _with_users_exceptions(repeat: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """A call in C++, which makes a ValueError of every exception of a function on the host."""
    try:
        return repeat(*args, **kwargs)
    except ValueError as error:
        raised = failure_behind(error)
        if raised is None:
            raise
    raise raised  # without the other one


def _users_call(local: Mapping[str, Any]) -> Call:
    """The call of the user's function behind a first call, which messages name."""
    run_first = local["run_first"]
    return getattr(getattr(run_first, "__self__", None), "fun", run_first), local["args"], local["kwargs"]


def operation_callable(name: str, run_first: FirstCall) -> Callable[..., Any]:
    """A callable that is one compiled program, with no Python function inside: ``disable_jit`` changes nothing."""

    def compiled_all_the_same(*args: ArrayLike, **kwargs: Any) -> Any:
        with config.disable_jit(False):
            return made(*args, **kwargs)

    made = callable_of(name, compiled_all_the_same, run_first)
    return made


def _drop_pending_exception() -> None:
    """C++ comes here with an exception still set where a tree was too deep for it: another one takes its place."""
    try:
        raise LookupError
    except (LookupError, SystemError):
        pass


# A callable is copied as other functions are: a deep copy of what holds it shares it.
runtime.PjitFunction.__deepcopy__ = lambda made, memo: made
