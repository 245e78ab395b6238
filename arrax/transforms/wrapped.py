"""What type checkers know of transformed functions: they take what the function takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, runtime_checkable

if TYPE_CHECKING:
    from arrax.transforms.stages import Lowered, Traced

P = ParamSpec("P")
R = TypeVar("R")
A = TypeVar("A")  # what is returned beside the result
F = TypeVar("F", bound=Callable[..., Any])  # other functions with the same arguments and kinds of results
Result = TypeVar("Result", covariant=True)


@runtime_checkable
class Wrapped(Protocol[P, Result]):
    """A jitted function: callable, and lowerable ahead of time. ``isinstance`` tells one from other callables.

    Example: ``isinstance(jit(jnp.sin), arrax.stages.Wrapped), isinstance(abs, arrax.stages.Wrapped)`` is
    ``(True, False)``.
    """

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Result: ...

    if TYPE_CHECKING:  # bound to an instance, it takes one argument less

        def __get__(self, instance: Any, owner: Any = None) -> Wrapped[..., Result]: ...

    def trace(self, *args: Any, **kwargs: Any) -> Traced: ...

    def lower(self, *args: Any, **kwargs: Any) -> Lowered: ...

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any: ...

    def clear_cache(self) -> None: ...
