"""What to do when flattening a pytree fails: say where, and give back the recursion budget that was lost.

jaxlib's recursive flattening counts its depth in Python's recursion counter. Two things go wrong there. When the
counter runs out between two containers, a result is returned with an exception set, which Python reports as a
``SystemError``. And when a callback or a comparison raises at depth ``d``, the counter is not wound back: the thread
has lost ``d`` levels of recursion for good. Some hundreds of caught errors, or a single tree that is too deep, leave it
unable to call anything. Both are mended here, after the fact, so that flattening itself pays next to nothing.

The mender needs to call functions itself, in a thread that may have no level left. So flattening is called through an
object (:func:`with_room_to_recover`), which takes one level and hands it back on the way out; with that level
``lend_recursion`` can be called; and each such call makes room for another one. At the end the accounts are settled.
"""

from __future__ import annotations

import ctypes
import functools
import sys
import threading
from collections.abc import Callable
from typing import Any

from arrax.core.pytree_mismatch import child_keys
from arrax.dtypes.wording import shown
from arrax.native.runtime import pytree

LOAN = 256  # levels that the mender itself may use
MAX_NODES_SEARCHED = 1_000_000  # a pytree that contains itself has no last node
DEEPEST_PROBED = 40_000  # above the budget of any Python that counts levels

lend_recursion = ctypes.pythonapi.Py_LeaveRecursiveCall
"""Give the thread one level of recursion more than it has."""
lend_recursion.argtypes = ()
lend_recursion.restype = None
_take_recursion = ctypes.pythonapi.Py_EnterRecursiveCall
_take_recursion.argtypes = (ctypes.c_char_p,)


def with_room_to_recover(flatten: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, called in such a way that one level of recursion is free after it raised.

    Args:
      flatten: method of a registry.
    Returns: callable, 60 ns slower.
    """

    class Call:
        __slots__ = ()
        __call__ = staticmethod(flatten)

    return Call()


def flattening_error(
    error: Exception,
    registry: pytree.PyTreeRegistry,
    tree: Any,
    is_leaf: Callable[..., bool] | None = None,
    takes_path: bool = False,
) -> Exception:
    """The exception to raise in place of one that flattening raised. ``lend_recursion()`` must have been called once.

    Args:
      error: what ``registry.flatten`` or ``registry.flatten_with_path`` raised.
      registry: the registry that raised it.
      tree: the pytree that was flattened.
      is_leaf: leaf predicate, or None.
      takes_path: whether ``is_leaf`` is called with path and value rather than value.
    Returns: ``error`` itself with a note naming the node, or a RecursionError for a pytree that is too deep, or a TypeError for
      what is no predicate.
    """
    for _ in _THE_REST_OF_THE_LOAN:
        lend_recursion()
    if isinstance(error, RecursionError) or isinstance(error.__cause__, RecursionError):
        _restore_budget()
        return _too_deep()
    if is_leaf is not None and not callable(is_leaf):
        _restore_budget()
        refused = TypeError(f"is_leaf must be a function or None, got {shown(is_leaf)}")
        refused.__suppress_context__ = True  # the runtime's words
        return refused
    ancestors = _ancestors_of_failure(registry, tree, is_leaf, takes_path)
    if ancestors is None:  # it does not fail a second time
        _restore_budget()
        return error
    _name_the_node(error, registry, ancestors)
    _give_back((len(ancestors) if _flattening_loses_recursion() else 0) - LOAN)
    return error


def _name_the_node(error: Exception, registry: pytree.PyTreeRegistry, ancestors: list[tuple[Any, int]]) -> None:
    try:
        path = "".join(map(str, _keys(registry, ancestors)))
    except Exception:  # keys too are the user's; the error to report is the first one
        return
    if path:
        error.add_note(f"This happened while flattening a pytree, at its node {path}.")


_THE_REST_OF_THE_LOAN = range(LOAN - 1)


def _too_deep() -> RecursionError:
    replacement = RecursionError(
        "This pytree is nested too deeply to be flattened, or contains itself. Pytrees are trees, without cycles; "
        f"their depth must stay below Python's recursion limit, here {sys.getrecursionlimit()}."
    )
    replacement.__suppress_context__ = True
    return replacement


def _ancestors_of_failure(
    registry: pytree.PyTreeRegistry, tree: Any, is_leaf: Callable[..., bool] | None, takes_path: bool
) -> list[tuple[Any, int]] | None:
    """The parents, and numbers of children, that lead to the first node, in flattening order, that cannot be opened."""
    # The way to a node is (way to its parent, parent, number).
    pending: list[tuple[tuple[Any, ...] | None, Any]] = [(None, tree)]
    for _ in range(MAX_NODES_SEARCHED):
        if not pending:
            break
        way, node = pending.pop()
        try:
            if is_leaf is not None and (is_leaf(_keys(registry, _steps(way)), node) if takes_path else is_leaf(node)):
                continue
            level = registry.flatten_one_level(node)
            children = [] if level is None else list(level[0])
        except Exception:
            return _steps(way)
        pending += [((way, node, i), child) for i, child in reversed(list(enumerate(children)))]
    return None


def _steps(way: tuple[Any, ...] | None) -> list[tuple[Any, int]]:
    steps = []
    while way is not None:
        way, parent, number = way
        steps.append((parent, number))
    return steps[::-1]


def _keys(registry: pytree.PyTreeRegistry, ancestors: list[tuple[Any, int]]) -> tuple[Any, ...]:
    return tuple(child_keys(registry, parent)[number] for parent, number in ancestors)


def _give_back(levels: int) -> None:
    for _ in range(levels):
        lend_recursion()
    for _ in range(-levels):
        _take_recursion(b"")


def _restore_budget() -> None:
    """Set the thread's recursion budget to what it should be, the loan included; for when nobody knows what was lost.

    Levels taken by C functions up the stack are overlooked, which errs on the side of a few levels too many.
    """
    chain = _chain()
    room = _deepest(chain)
    if room < len(chain):
        _give_back(_full_room(chain) - room)


def _full_room(chain: list[Any]) -> int:
    """How deep a pytree this thread should be able to flatten."""
    if sys.version_info < (3, 12):  # Python's own calls are counted too
        frame, frames = sys._getframe().f_back, 0
        while frame is not None:
            frame, frames = frame.f_back, frames + 1
        return sys.getrecursionlimit() - frames
    found: list[int] = []
    other = threading.Thread(target=lambda: found.append(_deepest(chain)))
    other.start()
    other.join()
    return found[0]


@functools.cache
def _flattening_loses_recursion() -> bool:
    """Whether this jaxlib and this Python have the fault; found by experiment, once, when first needed."""
    chain = _chain()
    before = _deepest(chain)
    if before == len(chain):  # depth is not counted (Python 3.14 looks at the stack instead)
        return False
    depth = min(64, before // 2)
    try:
        pytree.default_registry().flatten(chain[depth], _raise_at_the_end)
    except ZeroDivisionError:
        pass
    lost = before - _deepest(chain) > depth // 2
    if lost:
        _give_back(depth)
    return lost


def _raise_at_the_end(node: list[Any]) -> bool:
    return not node and bool(1 // len(node))


def _chain() -> list[Any]:
    """Nested lists, of which the nth is nested n deep."""
    chain: list[list[Any]] = [[]]
    while len(chain) < DEEPEST_PROBED:
        chain.append([chain[-1]])
    return chain


def _deepest(chain: list[Any]) -> int:
    """How deep a pytree this thread can flatten just now, by halving."""
    low, high = 0, len(chain)
    while low < high:
        middle = (low + high) // 2
        try:
            pytree.default_registry().flatten(chain[middle])
            low = middle + 1
        except (SystemError, RecursionError):
            high = middle
    return low
