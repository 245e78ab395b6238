"""Why a function is traced again: what is new about a call, against the nearest earlier one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from arrax.core.caches import cleared_by
from arrax.core.errors import frame_text, user_frames
from arrax.core.function_info import describe_function
from arrax.core.options import traced_options
from arrax.core.pytree_mismatch import mismatches
from arrax.core.pytree_nodes import default_registry
from arrax.core.pytree_paths import keystr
from arrax.core.pytrees import tree_unflatten
from arrax.core.types import ShapedArray
from arrax.native import runtime

logger = logging.getLogger("arrax")
_explained: set[str] = set()  # the functions whose first traces were explained
cleared_by(_explained.clear)


class TraceKey(NamedTuple):
    """What a trace depends on, besides the function.

    Attributes:
      tree, avals: structure and types of the dynamic arguments.
      static: static arguments by position, and by name.
      positional: number of positional arguments.
      settings: values of the options that traces depend on. axes: named axes around the call.
    """

    tree: Any
    avals: tuple[Any, ...]
    static: Any
    positional: int
    settings: tuple[Any, ...]
    axes: tuple[Any, ...]


class _Outline(NamedTuple):
    """Stands for a static value that must not be kept alive: what is said of it, and whether it was the same."""

    kind: str
    hash: int

    def __repr__(self) -> str:
        return f"a value of type {self.kind}"

    @property
    def value(self) -> _Outline:
        """What is shown."""
        return self


_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def _is_plain(value: Any) -> bool:
    return type(value) in _PLAIN or (type(value) is tuple and len(value) < 9 and all(map(_is_plain, value)))


def outline_of(key: tuple[Any, ...]) -> TraceKey:
    """What can be kept of a ``TraceKey``'s entries when the values are gone: of a structure and of static values little more
    than whether they were the same.
    """
    tree, avals, static, positional, settings, axes = key
    kept = tuple(
        tuple(
            (name, one if _is_plain(one.value) else _Outline(type(one.value).__name__, hash(one)))
            for name, one in entries
        )
        for entries in static
    )
    return TraceKey(hash(tree), avals, kept, positional, settings, axes)


def explain(
    fun: Callable[..., Any], key: tuple[Any, ...], earlier: Sequence[tuple[Any, ...]], names: Sequence[str] | None
) -> None:
    """Log why a call is traced.

    Args:
      key: a ``TraceKey``'s entries, of the call. earlier: those of the traces that exist.
      names: of the flat dynamic arguments.
    """
    frames = user_frames(runtime.Traceback.get_traceback(), 1)
    at = f" at {frame_text(frames[0])}" if frames else ""
    function = describe_function(fun, "jit").describe()
    if not earlier:
        hint = ", but another function of this definition was: define it once, outside of what is repeated"
        logger.warning(
            "TRACING CACHE MISS%s: %s was never traced before%s", at, function, hint * (function in _explained)
        )
        _explained.add(function)
        return
    listed = "".join(f"\n  * {difference.text}" for difference in nearest_differences(key, earlier, names))
    logger.warning(
        "TRACING CACHE MISS%s: %s was traced before, nearest to now for a call with other%s", at, function, listed
    )


class Difference(NamedTuple):
    """What is new about a call.

    Attributes:
      kind: "positional", "static", "tree", "shape", "dtype", "weak type", "type", "setting", "axes" or "keywords".
      what: the argument or the setting. text: a sentence with the values now and before.
    """

    kind: str
    what: str
    text: str


def nearest_differences(
    key: tuple[Any, ...], earlier: Sequence[tuple[Any, ...]], names: Sequence[str] | None
) -> list[Difference]:
    """What is new about a call, against the nearest of some earlier ones, the latest of these where several are."""
    now = TraceKey(*key)
    return min((list(_differences(now, TraceKey(*other), names)) for other in reversed(earlier)), key=len)


def _differences(now: TraceKey, before: TraceKey, names: Sequence[str] | None) -> Iterator[Difference]:
    if now.positional != before.positional:
        text = f"number of positional arguments: now {now.positional}, before {before.positional}"
        yield Difference("positional", "", text)
    yield from _static_differences(now.static, before.static)
    if now.tree != before.tree:
        yield from _tree_differences(now.tree, before.tree)
    else:
        for index, (new, old) in enumerate(zip(now.avals, before.avals, strict=True)):
            if new != old:
                name = names[index] if names is not None and index < len(names) else f"number {index}"
                yield _type_difference(name, new, old)
    # Those of libraries have no names; they stand last, and calls before one was made lack it.
    for option, new, old in zip_longest(traced_options(), now.settings, before.settings):
        if new != old:
            which = option or "of a user context"
            yield Difference("setting", which, f"setting {which}: now {new!r}, before {old!r}")
    if now.axes != before.axes:
        yield Difference("axes", "", f"named axes: now {_axes(now.axes)}, before {_axes(before.axes)}")


def _static_differences(now: Any, before: Any) -> Iterator[Difference]:
    for kind, new, old in zip(("argument", "keyword argument"), map(dict, now), map(dict, before), strict=True):
        for which in [*new, *(name for name in old if name not in new)]:
            texts = [repr(values[which].value) if which in values else "not static" for values in (new, old)]
            if new.get(which) != old.get(which):
                text = f"static {kind} {which}: now {texts[0]}, before {texts[1]}"
                yield Difference("static", str(which), text)


def _tree_differences(now: Any, before: Any) -> Iterator[Difference]:
    if isinstance(now, int):  # of outlines
        yield Difference("tree", "", "structure of the arguments: another one than before")
        return
    if now.children()[1] != before.children()[1]:
        new, old = (sorted(map(str, tree.children()[1].node_data()[1])) for tree in (now, before))
        if new != old:
            yield Difference("keywords", "", f"keyword arguments: now {new}, before {old}")
            return
    for mismatch in mismatches(
        tree_unflatten(now, range(now.num_leaves)), before, default_registry, full_is_treedef=True
    ):
        place = keystr(mismatch.path)
        text = f"structure of (args, kwargs){place}: {mismatch.describe('now it', 'before it')}"
        yield Difference("tree", place, text)


def _type_difference(name: str, new: ShapedArray, old: ShapedArray) -> Difference:
    if new.str_short(True) != old.str_short(True):
        kind = "shape" if getattr(new, "shape", ()) != getattr(old, "shape", ()) else "dtype"
        return Difference(kind, name, f"type of {name}: now {new.str_short(True)}, before {old.str_short(True)}")
    weak = [" weakly typed (as Python numbers are)" if getattr(aval, "weak_type", False) else "" for aval in (new, old)]
    text = f"type of {name}: now {new.str_short(True)}{weak[0]}, before {old.str_short(True)}{weak[1]}"
    return Difference("weak type" if weak[0] != weak[1] else "type", name, text)


def _axes(axes: Sequence[tuple[Any, int]]) -> str:
    return ", ".join(f"{name} of size {size}" for name, size in axes) or "none"
