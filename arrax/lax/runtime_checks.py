"""The primitive behind ``checkify.check``: an operation that fails where its code is not 0, and what its codes mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from arrax.core.effects import Effect
from arrax.core.errors import frame_text, user_frames
from arrax.core.interpreter import Primitive
from arrax.core.pytrees import PyTreeDef, tree_structure, tree_unflatten
from arrax.core.types import Zero
from arrax.interpreters.batching import move_batch_axis, running_batch
from arrax.xla.arrays import Array
from arrax.xla.placement import array_from_host

if TYPE_CHECKING:
    from arrax.interpreters.annotations import Value
    from arrax.interpreters.lowering.contexts import LoweringContext
    from arrax.native import runtime
    from arrax.xla.arrays import ArrayLike


class JaxRuntimeError(ValueError):
    """A check failed.

    Example: ``error = JaxRuntimeError("division by zero")``.
    """


class JaxException(Exception):
    """What a check found, as ``checkify.Error.get_exception`` gives it; there is a class for each kind of check.

    Attributes:
      traceback_info: where the check was traced, as the runtime records it; None for several checks.
    """

    traceback_info: runtime.Traceback | None = None


class FailedCheckError(JaxException):
    """The predicate of a ``check`` was false."""


class OOBError(JaxException):
    """An index was out of bounds.

    Attributes:
      prim: the operation's name.
    """

    prim: str = ""


class NaNError(JaxException):
    """An operation gave NaN.

    Attributes:
      prim: the operation's name.
    """

    prim: str = ""


class DivisionByZeroError(JaxException):
    """Something was divided by zero."""


class BatchedError(JaxException):
    """Checks of a mapped function failed; the message has a line for each index."""


# A kind of error that ``checkify`` looks for: the class of exceptions that says it. Sets of them say which ones.
ErrorCategory: TypeAlias = type[JaxException]


class Place(str):
    """A user's line as ``file.py:3 (function)``, by which places are compared, and the traceback in which it stands."""

    traceback: runtime.Traceback | None = None


class Site(NamedTuple):
    """One check of a program.

    Attributes:
      category: what kind of check it is.
      message: text with fields for the values.
      tree: structure of the values, a pair of positional and named ones.
      place: ``file.py:3 (function)`` of the user's line; empty where it is not known.
      debug: whether it counts only under ``checkify``.
      key_dtypes: for each of the values the dtype of keys whose data it is, or None; empty where none are keys.
      slots: where the values stand in the payload.
      operation: the name of the operation that is checked; empty where it is not a single one.
    """

    category: ErrorCategory
    message: str
    tree: PyTreeDef
    place: str
    debug: bool = False
    key_dtypes: tuple[Any, ...] = ()
    slots: tuple[int, ...] = ()
    operation: str = ""

    def describe(self, values: Sequence[Any], index: tuple[int, ...], index_last: bool) -> str:
        """The message, with the values of the failed check, and its index where it is mapped."""
        arrays = [array_from_host(np.asarray(value)) for value in values]
        for number, dtype in enumerate(self.key_dtypes):
            if dtype is not None:
                arrays[number] = dtype.wrap(arrays[number])
        args, named = tree_unflatten(self.tree, arrays)
        text = self.message.format(*args, **named)
        place = f" at {self.place}" if self.place else ""
        text = f"{text} (check failed{place})" if self.category is FailedCheckError else text + place
        if not index:
            return text
        mapped = f"at mapped index {', '.join(map(str, index))}"
        return f"{text}, {mapped}" if index_last else f"{mapped}: {text}"


class MappedSite(NamedTuple):
    """Checks of a program that several devices run at once. The values are the code of each, and those of its checks.

    Attributes:
      sites: the checks of the program.
      tree: structure of the values.
      message, place, debug, slots: as of a ``Site``.
    """

    sites: Sites
    tree: PyTreeDef
    message: str
    place: str = ""
    debug: bool = False
    slots: tuple[int, ...] = ()

    def describe(self, values: Sequence[Any], index: tuple[int, ...], index_last: bool) -> str:
        """What failed, with a line for each index."""
        return describe_failures(values[0], self.sites, values[1:], index, index_last) or ""


Sites = tuple[Site | MappedSite, ...]


def mapped_site(sites: Sites, count: int) -> MappedSite:
    """One site for all checks of a program that several devices run, with ``count`` values besides the codes."""
    messages, debug = ", ".join(site.message for site in sites), all(site.debug for site in sites)
    return MappedSite(sites, tree_structure([0] * (1 + count)), messages, debug=debug, slots=tuple(range(1 + count)))


def exception_of(code: Any, sites: Sites, text: str) -> JaxException:
    """What a failure that is described by ``text`` is as an exception."""
    site = None if np.ndim(code) else sites[int(code) - 1]
    if not isinstance(site, Site):
        return BatchedError(text)
    found = site.category(text)
    found.traceback_info = getattr(site.place, "traceback", None)
    if isinstance(found, NaNError | OOBError):
        found.prim = site.operation
    return found


def place_of(traceback: runtime.Traceback) -> Place:
    """The user's line of a recorded traceback."""
    frames = user_frames(traceback, 1)
    place = Place(frame_text(frames[0]) if frames else "")
    place.traceback = traceback
    return place


def side_by_side(parts: Sequence[tuple[Sites, Sequence[Any]]]) -> tuple[Sites, list[Any], list[list[int]]]:
    """The checks of several programs as those of one.

    Only the check that failed first shows its values, so scalars of one dtype of different parts stand in one slot.

    Args:
      parts: checks and types of payloads.
    Returns: the checks, the types of the payload, and for each part the slots of its values in it.
    """
    sites: list[Site | MappedSite] = []
    avals: list[Any] = []
    shared: dict[tuple[Any, int], int] = {}
    places: list[list[int]] = []
    for own_sites, own_avals in parts:
        seen: Counter[Any] = Counter()
        slots = []
        for aval in own_avals:
            slot = len(avals)
            if aval.shape == ():
                slot = shared.setdefault((aval.dtype, seen[aval.dtype]), slot)
                seen[aval.dtype] += 1
            avals += [aval] if slot == len(avals) else []
            slots.append(slot)
        places.append(slots)
        sites += [site._replace(slots=tuple(slots[slot] for slot in site.slots)) for site in own_sites]
    return tuple(sites), avals, places


def describe_failures(
    code: ArrayLike, sites: Sites, payload: Sequence[Any], outer: tuple[int, ...] = (), index_last: bool = False
) -> str | None:
    """What failed: one line, or one for each index of a mapped error, after ``outer`` ones; None if nothing did.

    Args:
      code, payload: which checks failed, and the values that they show.
      outer: indices of the axes that ``code`` has no more.
      index_last: whether a line begins with the message and ends with the index.
    """
    codes = np.asarray(code)
    if not codes.any():
        return None
    values = [np.asarray(value) for value in payload]
    lines = []
    for index in np.argwhere(codes):
        place = tuple(int(i) for i in index)
        site = sites[int(codes[place]) - 1]
        lines.append(site.describe([values[slot][place] for slot in site.slots], (*outer, *place), index_last))
    return "\n".join(lines)


class CheckEffect(Effect):
    """A check that may fail: it is neither left out nor moved out of a branch."""

    __slots__ = ()


check_effect = CheckEffect("Check")
check_p = Primitive("check", multiple_results=True)


def bind_check(code: ArrayLike, payload: Sequence[Any], sites: Sites) -> None:
    """Fail where ``code`` is not 0: it counts the sites from 1, which say where in the payload their values stand."""
    check_p.bind(code, *payload, sites=sites)


def _raise_at_once(code: Array, *payload: ArrayLike, sites: Sites) -> list[Any]:
    codes = np.asarray(code)
    counts = np.array([False, *(not site.debug for site in sites)])
    # of a program that devices run, programs look for the message at the beginning
    text = describe_failures(np.where(counts[codes], codes, 0), sites, payload, index_last=codes.ndim == 0)
    if text is not None:
        raise JaxRuntimeError(text)
    return []


def _lower(ctx: LoweringContext, *args: Value, sites: Sites) -> list[Any]:
    if all(site.debug for site in sites):
        return []
    raise ValueError(
        "Cannot abstractly evaluate a checkify.check which was not functionalized: a compiled program has no exceptions. "
        f"Transform the function with checkify.checkify before jit, scan or pmap{_listed(sites)}"
    )


def _listed(sites: Sites) -> str:
    places = [site.place for site in sites if site.place]
    return f" (the check is at {', '.join(places)})" if places else ""


def _batch(values: Sequence[Any], dims: Sequence[Any], **params: Any) -> tuple[list[Any], list[Any]]:
    size = running_batch().size
    check_p.bind(*(move_batch_axis(value, dim, size, 0) for value, dim in zip(values, dims, strict=True)), **params)
    return [], []


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[list[Any], list[Any]]:
    return check_p.bind(*primals, **params), []


def _transpose(cts: Sequence[Any], *args: Any, **params: Any) -> list[Any]:
    return [Zero(arg.aval.to_tangent_aval()) if hasattr(arg, "aval") else None for arg in args]


check_p.impl = _raise_at_once
check_p.type_rule = lambda *avals, **params: []
check_p.effects_rule = lambda *avals, **params: frozenset({check_effect})
check_p.lower[None] = _lower
check_p.batch = _batch
check_p.jvp = _jvp
check_p.transpose = _transpose
check_p.param_texts["sites"] = lambda sites: str([site.message for site in sites])
