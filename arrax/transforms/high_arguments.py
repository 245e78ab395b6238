"""Values of high types among what users pass to traced functions, which take the arrays that these consist of in their place."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from arrax.core.functions import function_name
from arrax.core.pytrees import PyTreeDef, register_pytree_node, tree_flatten, tree_unflatten
from arrax.core.types import type_of_any
from arrax.interpreters.high_contents import Kind
from arrax.interpreters.high_operations import belongs_here
from arrax.transforms.arguments import Split
from arrax.transforms.inspection import eval_shape, make_jaxpr
from arrax.transforms.jit import Jitted, make_jitted
from arrax.transforms.sharding_arguments import leaves_all_open

Kinds = tuple[Kind | None, ...]  # None: an array


def _values(kinds: Kinds, arrays: Iterator[Any]) -> list[Any]:
    return [next(arrays) if kind is None else kind.value(arrays) for kind in kinds]


def _arrays(kinds: Kinds, values: Sequence[Any]) -> list[Any]:
    each = ([value] if kind is None else kind.arrays(value) for kind, value in zip(kinds, values, strict=True))
    return [array for arrays in each for array in arrays]


class _Results:
    """What a function of arrays returns: the arrays of its results, and of the arguments that may have changed.

    Attributes:
      arrays: all of them. tree, kinds: of the results. given: for each result, which of the arguments it is, or None.
      states: of the arguments that may change, how they consist of arrays in the end.
    """

    def __init__(self, arrays: Sequence[Any], known: tuple[PyTreeDef, Kinds, tuple[int | None, ...], Kinds]) -> None:
        self.arrays, self.known = arrays, known
        self.tree, self.kinds, self.given, self.states = known


register_pytree_node(
    _Results, lambda results: (tuple(results.arrays), results.known), lambda known, arrays: _Results(arrays, known)
)


class OfArrays:
    """A function of values of high types as one of the arrays that they consist of.

    Args:
      split: arguments of a call, of which the static ones count. tree: the structure of the others.
      kinds: of the leaves of these. places: for each leaf, the first one that is the same object.
    """

    def __init__(
        self, fun: Callable[..., Any], split: Split, tree: PyTreeDef, kinds: Kinds, places: tuple[int, ...]
    ) -> None:
        self.fun, self.tree, self.kinds, self.places = fun, tree, kinds, places
        self.split = copy.copy(split)
        self.split.dynamic, self.split.dynamic_kwargs = (), {}
        self.__name__ = function_name(fun)

    def arrays(self, leaves: Sequence[Any]) -> list[Any]:
        """The arguments for a call with some leaves."""
        own = self.own
        return _arrays(tuple(self.kinds[n] for n in own), [leaves[n] for n in own])

    @property
    def own(self) -> list[int]:
        """The leaves that are no others."""
        return [n for n, place in enumerate(self.places) if n == place]

    @property
    def changing(self) -> list[int]:
        """The leaves that the function may change."""
        return [n for n in self.own if (kind := self.kinds[n]) is not None and kind.aval.has_qdd]

    def per_argument(self, each: Sequence[Any]) -> Any:
        """What is known of each array, in the structure of the arguments; in lists where these consist of arrays."""
        rest = iter(each)
        found = {
            n: next(rest) if (kind := self.kinds[n]) is None else list(islice(rest, kind.length())) for n in self.own
        }
        return tree_unflatten(self.tree, [found[place] for place in self.places])

    def per_result(self, results: _Results) -> Any:
        """What is known of each array of the results, in their structure; of an argument, it is its type."""
        rest = iter(results.arrays)
        found = [next(rest) if kind is None else list(islice(rest, kind.length())) for kind in results.kinds]
        return self._with_types(results, found)

    def structs(self, results: _Results) -> Any:
        """The results, made of the shapes of their arrays."""
        return self._with_types(results, _values(results.kinds, iter(results.arrays)))

    def _with_types(self, results: _Results, made: Sequence[Any]) -> Any:
        """Results in their structure, with its type for each that is an argument."""
        rest = iter(made)
        kinds = [None if n is None else self.kinds[n] for n in results.given]
        return tree_unflatten(results.tree, [next(rest) if kind is None else kind.aval for kind in kinds])

    def check(self, leaves: Sequence[Any]) -> None:
        """Refuse arguments that the function was not traced for.

        Raises:
          TypeError: they are of other types, or other ones of them are one object.
        """
        kinds = tuple(Kind.of(leaf, type_of_any(leaf)) for leaf in leaves)
        if kinds != self.kinds or _places(leaves, kinds) != self.places:
            shown = [kind and kind.aval for kind in kinds], [kind and kind.aval for kind in self.kinds]
            raise TypeError(
                f"{self.__name__} was compiled for other values of types of a library's own, or other ones of them were the same "
                f"object: called with {shown[0]}, compiled for {shown[1]} (None is an array)"
            )

    def __call__(self, *arrays: Any) -> _Results:
        values = dict(zip(self.own, _values(tuple(self.kinds[n] for n in self.own), iter(arrays)), strict=True))
        for n in self.changing:
            belongs_here(values[n])
        args, kwargs = self.split.merged(*tree_unflatten(self.tree, [values[place] for place in self.places]))
        leaves, tree = tree_flatten(self.fun(*args, **kwargs))
        changed = [values[n] for n in self.changing]
        numbers = {id(value): n for n, value in values.items() if self.kinds[n] is not None}
        given = tuple(numbers.get(id(leaf)) for leaf in leaves)
        results = [leaf for leaf, number in zip(leaves, given, strict=True) if number is None]
        kinds, states = (tuple(Kind.of(value, type_of_any(value)) for value in group) for group in (results, changed))
        return _Results([*_arrays(kinds, results), *_arrays(states, changed)], (tree, kinds, given, states))

    def result(self, results: _Results, leaves: Sequence[Any]) -> Any:
        """The result of a call, whose arguments are as the function left them."""
        arrays = iter(results.arrays)
        made = iter(_values(results.kinds, arrays))
        for n, kind in zip(self.changing, results.states, strict=True):
            assert kind is not None
            kind.aval.update_from_loval(kind.state, leaves[n], *islice(arrays, kind.length()))
        return tree_unflatten(results.tree, [next(made) if n is None else leaves[n] for n in results.given])


def _places(leaves: Sequence[Any], kinds: Kinds) -> tuple[int, ...]:
    first: dict[int, int] = {}
    return tuple(
        n if kind is None else first.setdefault(id(leaf), n)
        for n, (leaf, kind) in enumerate(zip(leaves, kinds, strict=True))
    )


def _of_arrays(
    fun: Callable[..., Any], split: Split, leaves: Sequence[Any], tree: PyTreeDef, avals: Sequence[Any]
) -> OfArrays:
    kinds = tuple(map(Kind.of, leaves, avals))
    return OfArrays(fun, split, tree, kinds, _places(leaves, kinds))


def jitted_of_arrays(
    jitted: Jitted, split: Split, leaves: Sequence[Any], tree: PyTreeDef, avals: Sequence[Any]
) -> tuple[OfArrays, Callable[..., _Results]]:
    """The function of arrays that stands for a jitted function of values of high types, and how it is compiled.

    Raises:
      NotImplementedError: the user said how arguments or results lie.
    """
    options = jitted.options
    if not leaves_all_open((options.in_shardings, options.out_shardings)):
        raise NotImplementedError(
            f"jit of {jitted.name}: in_shardings and out_shardings cannot be given where arguments are values of high types, "
            "such as variables of a library's own"
        )
    form = _of_arrays(jitted.fun, split, leaves, tree, avals)
    key = (tree, split.key, split.count, tuple(avals), form.kinds, form.places)
    known = jitted.high.get(key)
    if known is None:
        flat = options.replace(
            static_argnums=(),
            static_argnames=(),
            donate_argnums=(),
            donate_argnames=(),
            in_shardings=None,
            out_shardings=None,
        )
        known = jitted.high[key] = form, make_jitted(Jitted(form, flat))
    return known


def call(jitted: Jitted, split: Split, leaves: Sequence[Any], tree: PyTreeDef, avals: Sequence[Any]) -> Any:
    """The result of a call of a jitted function with values of high types among its arguments."""
    form, function = jitted_of_arrays(jitted, split, leaves, tree, avals)
    return form.result(function(*form.arrays(leaves)), leaves)


def shape(fun: Callable[..., Any], split: Split, leaves: Sequence[Any], tree: PyTreeDef, avals: Sequence[Any]) -> Any:
    """The types of the results of a function with values of high types among its arguments, which stay as they are."""
    form = _of_arrays(fun, split, leaves, tree, avals)
    results = eval_shape(form, *form.arrays(leaves))
    made = iter(_values(results.kinds, iter(results.arrays)))
    return tree_unflatten(results.tree, [next(made) if n is None else leaves[n] for n in results.given])


def program(
    fun: Callable[..., Any], split: Split, leaves: Sequence[Any], tree: PyTreeDef, avals: Sequence[Any]
) -> tuple[Any, Any]:
    """The program of the arrays that arguments and results consist of, and the types of the results."""
    form = _of_arrays(fun, split, leaves, tree, avals)
    made, results = make_jaxpr(form, return_shape=True)(*form.arrays(leaves))
    return made, form.structs(results)
