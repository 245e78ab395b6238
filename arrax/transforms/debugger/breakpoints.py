"""``debug.breakpoint``: a program pauses, and a prompt looks at the frames of the functions that it was made of."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from arrax.core.interpreter import Context, current
from arrax.core.pytrees import tree_flatten, tree_unflatten
from arrax.core.types import typeof
from arrax.lax.effectful_callbacks import attended_effect, ordered_attended_effect, watch_on_host
from arrax.lax.pure_callbacks import pure_callback
from arrax.transforms.custom_jvp import custom_jvp
from arrax.transforms.debugger.frames import calling_frames, record_frames
from arrax.transforms.debugger.prompt import Prompt
from arrax.transforms.debugger.web import WebPrompt
from arrax.xla.callers import in_caller

BACKENDS: dict[str, Callable[..., Prompt]] = {"cli": Prompt, "colab": Prompt, "web": WebPrompt}


def breakpoint(
    *,
    backend: str | None = None,
    filter_frames: bool = True,
    num_frames: int | None = None,
    ordered: bool = False,
    token: Any = None,
    **kwargs: Any,
) -> Any:
    """Pause a program where it comes by, also a compiled or transformed one, and read commands from a prompt.

    The prompt evaluates expressions over the variables of the functions on Python's stack; traced ones have the values that
    the program has. ``vmap`` pauses for each example, ``grad`` in the forward pass. Whoever has called the program waits
    for it, and the prompt runs in that thread. Commands: help, p, pp, u(p), d(own), w(here) or bt, l(ist), vars,
    c(ont(inue)), q(uit) or exit, which ends the process (SystemExit).

    Args:
      backend: ``"cli"``: standard input and output, in a notebook the cell's; ``"web"``: a page in the browser;
        ``"colab"``: like ``"cli"``. None for ``"cli"``.
      filter_frames: leave out frames of this package, and of libraries that want theirs left out.
      num_frames: how many frames to keep, the innermost ones; None for all.
      ordered: whether it happens in the order of the program, among other ordered effects.
      token: in place of ``ordered``: a pytree of arrays. The breakpoint happens when they have been computed, and before
        anything that uses what it returns; where nothing does, it may be left out.
      kwargs: of the backend: ``stdin``, ``stdout``, ``completekey`` of "cli", ``host``, ``port`` of "web".
    Returns: ``token``.
    Raises:
      ValueError: an unknown backend, a ``num_frames`` that is not positive, both ``token`` and ``ordered``.
      TypeError: an argument that the backend does not have.
      SystemExit: the prompt was told to end the program.
    Example: ``pausing = arrax.jit(lambda x: arrax.debug.breakpoint())``.
    """
    if backend is not None and backend not in BACKENDS:
        raise ValueError(f"breakpoint: backend must be one of {[*BACKENDS, None]}, got {backend!r}")
    if num_frames is not None and num_frames < 1:
        raise ValueError(f"breakpoint: num_frames must be positive, got {num_frames}")
    if token is not None and ordered:
        raise ValueError("breakpoint: give token or ordered, not both")
    make_prompt = BACKENDS[backend or "cli"]
    try:
        inspect.signature(make_prompt).bind([], **kwargs)
    except TypeError as error:
        raise TypeError(f"breakpoint: backend {backend or 'cli'}: {error}") from None
    record, tracers = record_frames(filter_frames, num_frames)

    def pause(*values: Any) -> None:
        def run() -> None:
            frames = [one.with_values(values) for one in record.inside]
            if record.staged:  # the program may run long after it was made, called from elsewhere
                left = None if num_frames is None else num_frames - len(frames)
                frames += calling_frames(filter_frames, left) or [one.with_values(values) for one in record.outside]
            with current(Context.interpreter):  # the prompt evaluates, whatever is being traced
                make_prompt(frames, **kwargs).run()

        in_caller(run) if record.staged else run()

    if token is None:
        watch_on_host("debug.breakpoint", pause, tracers, {}, ordered_attended_effect if ordered else attended_effect)
        return None
    return _through(pause, token, tracers)


def _through(pause: Callable[..., None], token: Any, tracers: Sequence[Any]) -> Any:
    """The token, from a call on the host without which nothing that uses it can run."""
    leaves, tree = tree_flatten(token)
    kinds = [typeof(leaf) for leaf in leaves]

    @custom_jvp
    def through(given: Sequence[Any], values: Sequence[Any]) -> Any:
        def call(given: Sequence[Any], values: Sequence[Any]) -> Sequence[Any]:
            pause(*values)
            return given

        return pure_callback(call, kinds, given, values, vmap_method="sequential")

    through.defjvp(lambda primals, tangents: (through(*primals), tangents[0]))
    return tree_unflatten(tree, through(leaves, tracers))
