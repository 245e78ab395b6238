"""Functions with transformations of their arguments and results around them, each written as one generator.

A transformation is a generator function: it gets the arguments, yields those of the function inside (a tuple and a dict), is
sent the answer, and yields its own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator, Mapping
from typing import Any, NamedTuple

Transformation = Callable[..., Generator[Any, Any, None]]


class StoreException(Exception):
    """A store was read before it was filled, or filled twice.

    Example: ``from arrax.extend import linear_util; linear_util.merge_linear_aux(Store(), Store())`` raises it.
    """


class Store:
    """A place for what a transformation says beside its result."""

    __slots__ = ("values",)

    def __init__(self) -> None:
        self.values: list[Any] = []

    def store(self, value: Any) -> None:
        """Fill the store.

        Raises:
          StoreException: it is full.
        """
        if self.values:
            raise StoreException("Store occupied")
        self.values.append(value)

    @property
    def val(self) -> Any:
        """What is in the store."""
        if not self.values:
            raise StoreException("Store empty")
        return self.values[0]

    def __call__(self) -> Any:
        return self.val


class EqualStore(Store):
    """A store that may be filled again, with what equals its value."""

    __slots__ = ()

    def store(self, value: Any) -> None:
        """Fill the store.

        Raises:
          StoreException: it is full of something else.
        """
        if self.values and self.values[0] != value:
            raise StoreException("Store occupied with another value")
        self.values[:] = [value]


class Around(NamedTuple):
    """A transformation that is a plain function of the function inside (and a store, where it has one) and of arguments."""

    function: Callable[..., Any]


class WrappedFun:
    """A function, keyword parameters for it, and transformations around it.

    Example: ``from arrax.extend import linear_util; linear_util.wrap_init(lambda v: v + 1).call_wrapped(2)`` is 3.
    """

    __slots__ = ("f", "transforms", "stores", "params", "in_type", "debug_info")

    def __init__(
        self, f: Callable[..., Any], transforms: tuple[tuple[Transformation | Around, tuple[Any, ...]], ...] = (),
        stores: tuple[Store | None, ...] = (), params: Mapping[str, Any] | None = None, in_type: Any = None,
        debug_info: Any = None,
    ) -> None:  # fmt: skip
        self.f, self.transforms, self.stores = f, transforms, stores
        self.params, self.in_type, self.debug_info = dict(params or {}), in_type, debug_info

    @property
    def __name__(self) -> str:
        return getattr(self.f, "__name__", "<unnamed wrapped function>")

    def wrap(self, transformation: Transformation | Around, given: tuple[Any, ...], store: Store | None) -> WrappedFun:
        """The function with one more transformation around it."""
        transforms = ((transformation, given), *self.transforms)
        return WrappedFun(self.f, transforms, (store, *self.stores), self.params, None, self.debug_info)

    def call_wrapped(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, the outermost transformation first."""
        return self._from(0, args, kwargs)

    def _from(self, depth: int, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call what is inside of so many transformations."""
        if depth == len(self.transforms):
            return self.f(*args, **{**self.params, **kwargs})
        (transformation, given), store = self.transforms[depth], self.stores[depth]
        if isinstance(transformation, Around):

            def inside(*inner_args: Any, **inner_kwargs: Any) -> Any:
                return self._from(depth + 1, inner_args, inner_kwargs)

            stored = () if store is None else (store,)
            return transformation.function(inside, *stored, *given, *args, **kwargs)
        generator = transformation(*given, *args, **kwargs)
        answer = generator.send(self._from(depth + 1, *next(generator)))
        if store is not None:
            answer, beside = answer
            store.store(beside)
        return answer

    def __repr__(self) -> str:
        return f"Wrapped function of {self.__name__} under {len(self.transforms)} transformations"


def wrap_init(f: Callable[..., Any], params: Mapping[str, Any] | None = None, *, debug_info: Any = None) -> WrappedFun:
    """A function without any transformation.

    Args:
      f: the function.
      params: keyword arguments that every call gets.
      debug_info: what messages should say of the function.
    Returns: ``WrappedFun``.
    Example: ``from arrax.extend import linear_util; linear_util.wrap_init(lambda v: v + 1).call_wrapped(2)`` is 3.
    """
    if not callable(f):
        raise TypeError(f"wrap_init: f must be a function, got {f!r}")
    return WrappedFun(f, params=params, debug_info=debug_info)


def transformation(generator: Transformation) -> Callable[..., WrappedFun]:
    """From a generator function, a function that puts it around a ``WrappedFun``; its other arguments come first in each call.

    Args:
      generator: yields ``(args, kwargs)`` for the function, gets its result, and yields that of the whole.
    Returns: function of a ``WrappedFun`` and further arguments to a ``WrappedFun``.
    Example: ``from arrax.extend import linear_util;
    doubled = linear_util.transformation(lambda *args: (yield 2 * (yield args, {})));
    doubled(linear_util.wrap_init(abs)).call_wrapped(-3)`` is 6.
    """

    @functools.wraps(generator)
    def around(fun: WrappedFun, *given: Any) -> WrappedFun:
        return fun.wrap(generator, given, None)

    return around


def transformation_with_aux(generator: Transformation) -> Callable[..., tuple[WrappedFun, Store]]:
    """Like ``transformation``, for generators that yield a pair at last: its second part is read from the store.

    Args:
      generator: yields ``(args, kwargs)`` for the function, gets its result, and yields ``(result, beside)``.
    Returns: function of a ``WrappedFun`` and further arguments to a ``WrappedFun`` and a store.
    Example: ``from arrax.extend import linear_util;
    sized = linear_util.transformation_with_aux(lambda *args: (yield (yield args, {}), len(args)));
    fun, count = sized(linear_util.wrap_init(max)); fun.call_wrapped(1, 5), count()`` is ``(5, 2)``.
    """

    @functools.wraps(generator)
    def around(fun: WrappedFun, *given: Any) -> tuple[WrappedFun, Store]:
        store = Store()
        return fun.wrap(generator, given, store), store

    return around


def transformation2(gen: Callable[..., Any], fun: WrappedFun, *gen_static_args: Any) -> WrappedFun:
    """Put a transformation around a ``WrappedFun`` that is a plain function, not a generator.

    Args:
      gen: called with the function inside, the further arguments, and those of the call.
      fun: what it is put around.
      gen_static_args: the further arguments.
    Example: ``from arrax.extend import linear_util;
    tenfold = linear_util.transformation2(lambda f, k, *args: k * f(*args), linear_util.wrap_init(abs), 10);
    tenfold.call_wrapped(-3)`` is 30.
    """
    return fun.wrap(Around(gen), gen_static_args, None)


def transformation_with_aux2(
    gen: Callable[..., Any], fun: WrappedFun, *gen_static_args: Any, use_eq_store: bool = False, unk_names: bool = False
) -> tuple[WrappedFun, Store]:
    """Like ``transformation2``, for functions that say something beside their result: they get a store for it.

    Args:
      gen: called with the function inside, the store, the further arguments, and those of the call.
      fun: what it is put around.
      gen_static_args: the further arguments.
      use_eq_store: whether the store may be filled again with what equals its value.
      unk_names: accepted, without effect.
    Returns: ``(function, store)``.
    Example: ``from arrax.extend import linear_util;
    fun, count = linear_util.transformation_with_aux2(
    lambda f, store, *args: (store.store(len(args)), f(*args))[1], linear_util.wrap_init(max));
    fun.call_wrapped(1, 5), count()`` is ``(5, 2)``.
    """
    store = EqualStore() if use_eq_store else Store()
    return fun.wrap(Around(gen), gen_static_args, store), store


def merge_linear_aux(aux1: Callable[[], Any], aux2: Callable[[], Any]) -> tuple[bool, Any]:
    """Of two stores the one that has been filled: (whether it is the first, what is in it).

    Args:
      aux1, aux2: stores, or functions without arguments.
    Raises:
      StoreException: both are empty, or both are filled.
    Example: ``from arrax.extend import linear_util; full, empty = Store(), Store(); full.store(7);
    linear_util.merge_linear_aux(full, empty)`` is ``(True, 7)``.
    """
    filled = [len(store.values) if isinstance(store, Store) else 1 for store in (aux1, aux2)]
    if sum(filled) != 1:
        raise StoreException("neither store occupied" if not any(filled) else "both stores occupied")
    return (True, aux1()) if filled[0] else (False, aux2())


def cache(call: Callable[..., Any], *, explain: Any = None) -> Callable[..., Any]:
    """Remember a function of a ``WrappedFun`` and hashable arguments by the function inside, its parameters and transformations.

    Args:
      call: function of a ``WrappedFun`` and hashable arguments.
      explain: accepted, without effect.
    Returns: the same function, which is run once for equal arguments; its ``cache_clear()`` forgets.
    Example: ``from arrax.extend import linear_util;
    traced = linear_util.cache(lambda fun, n: log.append(n) or fun.call_wrapped(n));
    add = linear_util.wrap_init(abs); traced(add, -3), traced(add, -3), log`` is ``(3, 3, [-3])``.
    """
    known: dict[Any, Any] = {}

    @functools.wraps(call)
    def remembering(fun: WrappedFun, *args: Any) -> Any:
        key = (fun.f, fun.transforms, tuple(sorted(fun.params.items())), fun.in_type, args)
        if key not in known:
            known[key] = (call(fun, *args), [store.values[:] if store is not None else None for store in fun.stores])
        result, values = known[key]
        for store, value in zip(fun.stores, values, strict=True):
            if store is not None:
                store.values[:] = value
        return result

    remembering.cache_clear = known.clear  # type: ignore[attr-defined]
    return remembering
