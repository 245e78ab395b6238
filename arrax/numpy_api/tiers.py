"""Functions that run step by step at first, and as one compiled program once they have been called often.

Small arrays move on the host (``host``) at once, where a program would first have to be compiled for each new shape, axis or
index. Compiling takes as long as some hundred such calls; so a signature that comes again and again gets its program then,
and calls after that cost one dispatch, while the many that come a few times never wait for the compiler.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from arrax.native import runtime
from arrax.numpy_api.api import make_api

F = TypeVar("F", bound=Callable[..., Any])
ArrayImpl = runtime.ArrayImpl
_PATIENCE = 400  # calls of a signature: about what compiling it costs
_SIGNATURES = 4096


def tiered(static: Sequence[str]) -> Callable[[F], F]:
    """Decorator for a function of small arrays with a host route of its own.

    Args:
      static: names of the arguments whose values are part of the program. Calls with values that cannot be hashed (lists,
        tracers) always run step by step.
    """

    def decorate(fun: F) -> F:
        program = make_api(fun, static)
        calls: dict[Any, int] = {}

        @functools.wraps(fun)
        def call(*args: Any, **kwargs: Any) -> Any:
            signature: Any = [arg.aval if type(arg) is ArrayImpl else arg for arg in args]
            signature = (*signature, *kwargs.items()) if kwargs else tuple(signature)
            try:
                count = calls.get(signature, 0)
            except TypeError:
                return fun(*args, **kwargs)
            if count >= _PATIENCE:
                return program(*args, **kwargs)
            if len(calls) >= _SIGNATURES:
                calls.clear()
            calls[signature] = count + 1
            return fun(*args, **kwargs)

        return call  # type: ignore[return-value]

    return decorate
