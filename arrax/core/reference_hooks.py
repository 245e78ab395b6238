"""What tracing, compiling and mapping ask of references: nothing, until references are loaded and fill this in.

Programs without references pay for them with a comparison with None here and there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class ReferenceHooks:
    """The slots; those that may be None are None while no reference was made.

    Attributes:
      refuse: raises where a program that was recorded returns a reference: ``(outputs, what the function is)``.
      discharge: from a program to the same one without references of its own.
      read: a staged function that may close over references, as one of what these hold.
      holds: whether a traced function takes references or closes over them: ``(types of its arguments, program)``.
      run: the call of such a jitted function: ``(jitted, trace, leaves, call)``.
      lowered, run_compiled: its stages: the program to be lowered, and the call of the compiled one.
      among: whether references are among some values.
      shard: the call of a function per device with references among its arguments: ``(function, arguments, leaves, tree)``.
      returned: a reference that a function made and returns, as one outside of its transformation: ``(what, reference, from
        the values that it may hold to those outside)``.
      join: an argument of ``vmap`` or ``jvp``, as the function sees it: ``(interpreter, value, axis or tangent)``.
    """

    __slots__ = (
        "refuse",
        "discharge",
        "read",
        "holds",
        "run",
        "lowered",
        "run_compiled",
        "among",
        "shard",
        "returned",
        "join",
    )
    holds: Callable[[Any, Any], bool]
    lowered: Callable[..., Any]
    run_compiled: Callable[..., Any]
    among: Callable[..., bool]
    shard: Callable[..., Any]
    returned: Callable[..., Any]

    def __init__(self) -> None:
        self.refuse: Callable[..., None] | None = None
        self.discharge: Callable[..., Any] | None = None
        self.read: Callable[..., Any] | None = None
        self.run: Callable[..., Any] | None = None
        self.join: Callable[[Any, Any, Any], Any] | None = None


reference_hooks = ReferenceHooks()
