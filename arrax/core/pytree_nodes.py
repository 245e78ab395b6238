"""Which classes are nodes of pytrees: the registries, and the ways to register a class of one's own."""

from __future__ import annotations

import dataclasses
import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from operator import methodcaller
from typing import Any, NamedTuple, TypeVar

from arrax.core.pytree_mismatch import child_keys
from arrax.core.tracebacks import bound_methods
from arrax.native.runtime import pytree

Class = TypeVar("Class", bound=type)
KeyChild = tuple[Any, Any]

DictKey = pytree.DictKey
"""Key of a dictionary's child, written ``['name']``. Example: ``DictKey("a").key`` is ``'a'``."""
SequenceKey = pytree.SequenceKey
"""Key of a list's or tuple's child, written ``[0]``. Example: ``SequenceKey(0).idx`` is 0."""
GetAttrKey = pytree.GetAttrKey
"""Key of a named tuple's or dataclass's child, written ``.name``. Example: ``GetAttrKey("x").name`` is ``'x'``."""
FlattenedIndexKey = pytree.FlattenedIndexKey
"""Key of a child whose class names no keys: its number, written ``[<flat index 0>]``."""

default_registry = pytree.default_registry()
"""The registry of all functions here; in it None is a node without children."""
none_leaf_registry = pytree.PyTreeRegistry(enable_none=False)
"""The same classes, but None is a leaf: for parameters such as ``in_axes``, where None means something."""
call_registry = pytree.PyTreeRegistry()
"""The registry of compiled calls: the same classes, and beside them arrays of keys, whose words are what C++ passes on."""
_registries = (default_registry, none_leaf_registry, call_registry)


class NodeFunctions(NamedTuple):
    """How instances of a class of nodes are taken apart, into (children, static data), and built from the two."""

    to_iter: Callable[[Any], tuple[Iterable[Any], Hashable]]
    from_iter: Callable[[Any, Any], Any]


registered_nodes: dict[type, NodeFunctions] = {
    tuple: NodeFunctions(lambda node: (node, None), lambda _, children: tuple(children)),
    list: NodeFunctions(lambda node: (node, None), lambda _, children: list(children)),
    dict: NodeFunctions(
        lambda node: default_registry.flatten_one_level(node),
        lambda keys, children: dict(zip(keys, children, strict=True)),
    ),
    type(None): NodeFunctions(lambda _: ((), None), lambda _, __: None),
}
"""The functions of each class of nodes; named tuples are nodes without being registered."""

# A treedef pickles its registry by name, so that these names must lead back here.
default_registry.__module__, default_registry.__name__ = __name__, "default_registry"
none_leaf_registry.__module__, none_leaf_registry.__name__ = __name__, "none_leaf_registry"
call_registry.__module__, call_registry.__name__ = __name__, "call_registry"


def register_pytree_node(
    nodetype: type,
    flatten_func: Callable[[Any], tuple[Iterable[Any], Hashable]],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_with_keys_func: Callable[[Any], tuple[Iterable[KeyChild], Hashable]] | None = None,
) -> None:
    """Make instances of a class nodes of pytrees, so that functions here look inside them.

    Only the class itself is registered, not its subclasses. The unflattening function may be given other children than
    it would like (``object()``, None, other pytrees): it should build the container without looking at them.

    Args:
      nodetype: the class.
      flatten_func: from an instance to (children, static data); the latter must be hashable and comparable.
      unflatten_func: from static data and a tuple of children to an instance.
      flatten_with_keys_func: like ``flatten_func``, with (key, child) pairs for children. If None, keys are numbers.
    Raises: ValueError if the class is registered already; TypeError for what is no class or no function.
    Example: ``register_pytree_node(Box, lambda box: ((box.value,), None), lambda _, children: Box(*children))``.
    """
    _require_class("register_pytree_node", nodetype)
    functions = {"flatten_func": flatten_func, "unflatten_func": unflatten_func}
    if flatten_with_keys_func is not None:
        functions["flatten_with_keys_func"] = flatten_with_keys_func
    for name, function in functions.items():
        if not callable(function):
            raise TypeError(f"register_pytree_node: {name} must be a function, got {function!r}")
    for registry in _registries:
        registry.register_node(nodetype, flatten_func, unflatten_func, flatten_with_keys_func)
    registered_nodes[nodetype] = NodeFunctions(flatten_func, unflatten_func)


def register_pytree_with_keys(
    nodetype: type,
    flatten_with_keys: Callable[[Any], tuple[Iterable[KeyChild], Hashable]],
    unflatten_func: Callable[[Any, Any], Any],
    flatten_func: Callable[[Any], tuple[Iterable[Any], Hashable]] | None = None,
) -> None:
    """Make a class a node of pytrees whose children have keys, for key paths.

    Args:
      nodetype: the class.
      flatten_with_keys: from an instance to ((key, child) pairs, static data).
      unflatten_func: from static data and a tuple of children to an instance.
      flatten_func: from an instance to (children, static data): a quicker way where no keys are asked for.
    Raises: ValueError if the class is registered already.
    Example: ``register_pytree_with_keys(Box, lambda box: ([("value", box.value)], None), lambda _, c: Box(*c))``.
    """

    def without_keys(node: Any) -> tuple[list[Any], Hashable]:
        pairs, static = flatten_with_keys(node)
        return [child for _, child in pairs], static

    register_pytree_node(nodetype, flatten_func or without_keys, unflatten_func, flatten_with_keys)


def register_pytree_node_class(cls: Class) -> Class:
    """Class decorator: make a class with the methods ``tree_flatten`` and ``tree_unflatten`` a node of pytrees.

    Args:
      cls: class with ``tree_flatten(self) -> (children, static data)`` and a class method
        ``tree_unflatten(cls, static data, children)``.
    Returns: the class.
    Raises: ValueError if the class is registered already.
    Example: ``@register_pytree_node_class`` above ``class Box: ...``.
    """
    unflatten = cls.tree_unflatten  # type: ignore[attr-defined]
    register_pytree_node(cls, methodcaller("tree_flatten"), unflatten)
    return cls


def register_pytree_with_keys_class(cls: Class) -> Class:
    """Class decorator: make a class with ``tree_flatten_with_keys`` and ``tree_unflatten`` a node of pytrees.

    Args:
      cls: class with ``tree_flatten_with_keys(self) -> ((key, child) pairs, static data)`` and a class method
        ``tree_unflatten(cls, static data, children)``; if it has ``tree_flatten`` too, that is used without keys.
    Returns: the class.
    Raises: ValueError if the class is registered already.
    Example: ``@register_pytree_with_keys_class`` above ``class Box: ...``.
    """
    flatten = methodcaller("tree_flatten") if hasattr(cls, "tree_flatten") else None
    unflatten = cls.tree_unflatten  # type: ignore[attr-defined]
    register_pytree_with_keys(cls, methodcaller("tree_flatten_with_keys"), unflatten, flatten)
    return cls


def register_dataclass(
    nodetype: Class,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] | None = None,
    drop_fields: Sequence[str] = (),
) -> Class:
    """Make a dataclass a node of pytrees, some of its fields children, the others static data.

    Unflattening calls the class with all these fields as keyword arguments.

    Args:
      nodetype: the class.
      data_fields: names of the children. May be left out, together with ``meta_fields``, for a dataclass: then static
        are the fields declared with :func:`arrax.tree.static`, and the other ones are children.
      meta_fields: names of static fields, whose values must be hashable and comparable.
      drop_fields: names of fields that get their default when the object is rebuilt.
    Returns: the class, so that it can be used as a decorator.
    Raises:
      TypeError: if only one of the two lists is given, or none and ``nodetype`` is not a dataclass.
      ValueError: if the lists overlap or are not the fields of the dataclass, or the class is registered already.
    Example: ``register_dataclass(Layer, data_fields=["weight", "bias"], meta_fields=["name"])``.
    """
    _require_class("register_dataclass", nodetype)
    if (data_fields is None) != (meta_fields is None):
        raise TypeError(
            "register_dataclass: data_fields and meta_fields must both be given, or neither; "
            f"got {data_fields=} and {meta_fields=}"
        )
    if data_fields is None or meta_fields is None:
        data_fields, meta_fields = _fields_by_declaration(nodetype, drop_fields)
    data, meta = tuple(data_fields), tuple(meta_fields)
    _check_fields(nodetype, data, meta, drop_fields)
    for registry in _registries:
        registry.register_dataclass_node(nodetype, data, meta)
    registered_nodes[nodetype] = NodeFunctions(
        lambda node: (tuple(getattr(node, name) for name in data), tuple(getattr(node, name) for name in meta)),
        lambda static, children: nodetype(**dict(zip(data + meta, (*children, *static), strict=True))),
    )
    return nodetype


def _init_fields(nodetype: type) -> list[dataclasses.Field[Any]]:
    return [field for field in dataclasses.fields(nodetype) if field.init]


def _fields_by_declaration(nodetype: type, dropped: Sequence[str]) -> tuple[list[str], list[str]]:
    if not dataclasses.is_dataclass(nodetype):
        raise TypeError(
            f"register_dataclass: {nodetype} is not a dataclass, so data_fields and meta_fields must be given"
        )
    fields = [field for field in _init_fields(nodetype) if field.name not in dropped]
    static = [field.name for field in fields if field.metadata.get("static")]
    return [field.name for field in fields if field.name not in static], static


def _check_fields(nodetype: type, data: tuple[str, ...], meta: tuple[str, ...], dropped: Sequence[str]) -> None:
    if overlap := sorted(set(data) & set(meta)):
        raise ValueError(f"register_dataclass: the fields {overlap} stand both in data_fields and in meta_fields")
    if not dataclasses.is_dataclass(nodetype):
        return
    own = {field.name for field in _init_fields(nodetype)}
    if missing := sorted(own - {*data, *meta, *dropped}):
        raise ValueError(
            f"register_dataclass: {nodetype.__name__} also has the fields {missing}, which must stand in data_fields, "
            "in meta_fields or (for their default) in drop_fields"
        )
    if unknown := sorted({*data, *meta} - own):
        raise ValueError(
            f"register_dataclass: {nodetype.__name__} has no fields {unknown} that its __init__ takes; "
            f"it has {sorted(own)}"
        )


def static_(**options: Any) -> Any:
    """A dataclass field that :func:`register_dataclass` takes as static data.

    Args:
      **options: those of ``dataclasses.field``, such as ``default``.
    Returns: the field.
    Example: ``name: str = arrax.tree.static(default="layer")``. Source: ``dataclasses.field``.
    """
    return dataclasses.field(**{**options, "metadata": {**(options.get("metadata") or {}), "static": True}})


def register_static(cls: Class) -> Class:
    """Class decorator: make instances nodes without children, themselves the static data.

    Args:
      cls: class whose instances are hashable and comparable.
    Returns: the class.
    Raises: ValueError if the class is registered already.
    Example: ``Settings = register_static(type('Settings', (), {})); tree_leaves(Settings())`` is ``[]``.
    """
    register_pytree_node(cls, lambda instance: ((), instance), lambda instance, _: instance, lambda i: ((), i))
    return cls


def is_tree_node(typ: type) -> bool:
    """Whether instances of a class are nodes of pytrees rather than leaves.

    Args:
      typ: the class.
    Returns: bool; True for ``NoneType``. Named tuples are nodes too.
    Example: ``is_tree_node(dict)`` is True, ``is_tree_node(set)`` False.
    """
    return default_registry.is_node(typ)


def flatten_one_level(tree: Any) -> tuple[Iterable[Any], Hashable]:
    """The children of a node and its static data.

    Args:
      tree: a node of pytrees.
    Returns: (iterable of children, static data).
    Raises: ValueError for a leaf.
    Example: ``flatten_one_level({"b": 1, "a": [2]})`` is ``(([2], 1), ('a', 'b'))``.
    """
    level = default_registry.flatten_one_level(tree)
    if level is None:
        raise ValueError(f"flatten_one_level: a leaf, here of type {type(tree).__name__}, has no children")
    return level


def flatten_one_level_with_keys(tree: Any) -> tuple[Iterable[KeyChild], Hashable]:
    """The children of a node, with their keys, and its static data.

    Args:
      tree: a node of pytrees.
    Returns: (iterable of (key, child) pairs, static data).
    Raises: ValueError for a leaf.
    Example: ``flatten_one_level_with_keys([7])`` is ``(((SequenceKey(idx=0), 7),), None)``.
    """
    level = default_registry.flatten_one_level_with_keys(tree)
    if level is None:
        raise ValueError(f"flatten_one_level_with_keys: a leaf, here of type {type(tree).__name__}, has no children")
    pairs = list(level[0])
    keyed = [(key, child) for key, (_, child) in zip(child_keys(default_registry, tree), pairs, strict=True)]
    return tuple(keyed) if type(tree) in _BUILT_IN else keyed, level[1]


_BUILT_IN = (list, tuple, dict, type(None))  # whose children come as a tuple


class _Callee:
    """A partial seen as a plain function: otherwise ``functools.partial`` would take it apart and merge arguments."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return self.function == (other.function if isinstance(other, _Callee) else other)

    def __hash__(self) -> int:
        return hash(self.function)

    def __repr__(self) -> str:
        return repr(self.function)


@bound_methods
class Partial(functools.partial[Any]):
    """``functools.partial`` as a node of pytrees: the arguments are children, the function is static data.

    A partial of a partial keeps the inner one, with its arguments, as its function.

    Args:
      func: function; two Partials have one tree structure only if their functions are equal.
      *args: first positional arguments of calls.
      **kw: keyword arguments of calls.
    Example: ``tree_map(lambda x: 10 * x, Partial(max, 1))(2)`` is 10. Source: ``functools.partial``.
    """

    def __new__(cls, func: Callable[..., Any], /, *args: Any, **kw: Any) -> Partial:
        return super().__new__(cls, _Callee(func) if isinstance(func, functools.partial) else func, *args, **kw)


def _require_class(function: str, nodetype: Any) -> None:
    if not isinstance(nodetype, type):
        raise TypeError(f"{function}: a class can be registered as a pytree node, but got {nodetype!r}")


register_pytree_node(
    Partial,
    lambda partial: ((partial.args, partial.keywords), partial.func),
    lambda function, children: Partial(function, *children[0], **children[1]),
)
register_pytree_node(
    OrderedDict,
    lambda tree: (list(tree.values()), tuple(tree.keys())),
    lambda keys, children: OrderedDict(zip(keys, children, strict=True)),
    lambda tree: ([(DictKey(key), child) for key, child in tree.items()], tuple(tree.keys())),
)


def _open_defaultdict(tree: defaultdict[Any, Any]) -> tuple[list[Any], Hashable]:
    keys = tuple(sorted(tree))
    return [tree[key] for key in keys], (tree.default_factory, keys)


def _open_defaultdict_with_keys(tree: defaultdict[Any, Any]) -> tuple[list[KeyChild], Hashable]:
    keys = tuple(sorted(tree))
    return [(DictKey(key), tree[key]) for key in keys], (tree.default_factory, keys)


register_pytree_node(
    defaultdict,
    _open_defaultdict,
    lambda static, children: defaultdict(static[0], zip(static[1], children, strict=True)),
    _open_defaultdict_with_keys,
)
