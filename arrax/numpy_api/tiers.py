"""Functions that run step by step at first, and as one compiled program once they have been called often.

Small arrays move on the host (``host``) at once, where a program would first have to be compiled for each new shape, axis or
index. A signature that comes again and again gets its program once its calls have taken about as long as compiling does; those
after that cost one dispatch, while the many that come a few times never wait for the compiler.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from time import perf_counter as _clock
from typing import Any, TypeVar

from arrax.core.caches import cleared_by
from arrax.core.calls import register_wrapper
from arrax.native import runtime
from arrax.numpy_api.api import make_api

F = TypeVar("F", bound=Callable[..., Any])
ArrayImpl = runtime.ArrayImpl
_PATIENCE = 0.004  # seconds that calls of a signature have taken: the better part of what compiling it costs
_LONGEST = 0.0002  # seconds that one of them counts: the first ones import and compile what others use, too
_SIGNATURES = 4096


def tiered(static: Sequence[str]) -> Callable[[F], F]:
    """Decorator for a function of small arrays with a host route of its own.

    Args:
      static: names of the arguments whose values are part of the program. Calls with values that cannot be hashed (lists,
        tracers) always run step by step.
    """

    def decorate(fun: F) -> F:
        program = make_api(fun, static)
        spent: dict[Any, float] = {}
        cleared_by(spent.clear)

        @functools.wraps(fun)
        def call(*args: Any, **kwargs: Any) -> Any:
            signature: Any = [arg.aval if type(arg) is ArrayImpl else arg for arg in args]
            signature = (*signature, *kwargs.items()) if kwargs else tuple(signature)
            try:
                past = spent.get(signature, 0.0)
            except TypeError:
                past = None  # run outside of this handler: an error of ``fun`` has nothing to do with this one
            if past is None:
                return fun(*args, **kwargs)
            if past >= _PATIENCE:
                return program(*args, **kwargs)
            start = _clock()
            result = fun(*args, **kwargs)
            if len(spent) >= _SIGNATURES:
                spent.clear()
            spent[signature] = past + min(_clock() - start, _LONGEST)
            return result

        register_wrapper(call, lambda local: (local["fun"], local["args"], local["kwargs"]))
        return call  # type: ignore[return-value]

    return decorate
