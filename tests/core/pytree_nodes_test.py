"""Registering classes as nodes of pytrees."""

import dataclasses
import functools
import pickle
import traceback
from collections import OrderedDict, namedtuple

import pytest

import arrax
from arrax.core.pytree_nodes import (
    DictKey,
    FlattenedIndexKey,
    GetAttrKey,
    Partial,
    SequenceKey,
    flatten_one_level,
    flatten_one_level_with_keys,
    is_tree_node,
    register_dataclass,
    register_pytree_node,
    register_pytree_node_class,
    register_pytree_with_keys,
    register_pytree_with_keys_class,
    register_static,
    registered_nodes,
    static_,
)
from arrax.core.pytree_paths import generate_key_paths
from arrax.core.pytrees import tree_flatten, tree_leaves, tree_map, tree_structure

Point = namedtuple("Point", "x y")


def collect(*args, **kwargs):
    return args, kwargs


def test_a_class_with_methods():
    @register_pytree_node_class
    class Box:
        def __init__(self, value, name):
            self.value, self.name = value, name

        def tree_flatten(self):
            return (self.value,), self.name

        @classmethod
        def tree_unflatten(cls, name, children):
            return cls(*children, name)

    mapped = tree_map(lambda x: x + 1, Box([1], "b"))
    assert (mapped.value, mapped.name) == ([2], "b")
    assert str(tree_structure(mapped)) == "PyTreeDef(CustomNode(Box[b], [[*]]))"
    assert tree_structure(Box(1, "b")) != tree_structure(Box(1, "c"))
    assert generate_key_paths(Box(1, "b")) == [(FlattenedIndexKey(0),)]


def test_errors_of_a_classs_own_methods_show_no_other_frames():
    @register_pytree_node_class
    class Broken:
        def tree_flatten(self):
            raise KeyError("missing")

        @classmethod
        def tree_unflatten(cls, static, children):
            return cls()

    with pytest.raises(KeyError) as caught:
        arrax.jit(lambda x: x)(Broken())
    assert {frame.filename for frame in traceback.extract_tb(caught.value.__traceback__)} == {__file__}


def test_a_class_with_keys():
    class Box:
        def __init__(self, value):
            self.value = value

    register_pytree_with_keys(Box, lambda box: (((GetAttrKey("value"), box.value),), None), lambda _, c: Box(*c))
    assert tree_leaves(Box([1, 2])) == [1, 2]
    assert generate_key_paths(Box([1])) == [(GetAttrKey("value"), SequenceKey(0))]


def test_a_class_with_methods_and_keys():
    @register_pytree_with_keys_class
    class Box:
        def __init__(self, value):
            self.value = value

        def tree_flatten_with_keys(self):
            return ((DictKey("v"), self.value),), None

        @classmethod
        def tree_unflatten(cls, _, children):
            return cls(*children)

    assert tree_map(lambda x: -x, Box(1)).value == -1
    assert generate_key_paths(Box(1)) == [(DictKey("v"),)]


def test_a_class_is_registered_once():
    with pytest.raises(ValueError, match="Duplicate"):
        register_pytree_node(list, lambda x: (x, None), lambda _, c: list(c))


def test_only_classes_are_registered():
    with pytest.raises(TypeError, match="got 3"):
        register_pytree_node(3, lambda x: (x, None), lambda _, c: list(c))


@dataclasses.dataclass
class Layer:
    weight: object
    bias: object
    name: str = "layer"
    calls: int = dataclasses.field(default=0, init=False)


register_dataclass(Layer, data_fields=["weight", "bias"], meta_fields=["name"])


def test_a_dataclass_by_lists_of_fields():
    assert tree_map(lambda x: x + 1, Layer(1, [2], "first")) == Layer(2, [3], "first")
    assert generate_key_paths(Layer(1, 2)) == [(GetAttrKey("weight"),), (GetAttrKey("bias"),)]


def test_a_dataclass_by_declaration():
    @register_dataclass
    @dataclasses.dataclass
    class Declared:
        value: object
        name: str = static_(default="d", metadata={"unit": "m"})

    assert tree_flatten(Declared(1))[0] == [1]
    assert tree_map(lambda x: x, Declared(1, "e")) == Declared(1, "e")
    assert dataclasses.fields(Declared)[1].metadata == {"unit": "m", "static": True}


def test_a_dataclass_with_a_dropped_field():
    @dataclasses.dataclass
    class Dropping:
        value: object
        note: str = "none"

    register_dataclass(Dropping, ["value"], [], drop_fields=["note"])
    assert tree_map(lambda x: x, Dropping(1, "some")) == Dropping(1, "none")


@dataclasses.dataclass
class Pair:
    a: object
    b: object


# fmt: off
@pytest.mark.parametrize(("arguments", "error", "message"), [
    ((Pair, ["a"], []),                ValueError, r"also has the fields \['b'\]"),
    ((Pair, ["a", "b", "c"], []),      ValueError, r"no fields \['c'\]"),
    ((Pair, ["a", "b"], ["b"]),        ValueError, r"\['b'\] stand both"),
    ((Pair, ["a", "b"]),               TypeError,  "both be given, or neither"),
    ((object,),                        TypeError,  "not a dataclass"),
])
# fmt: on
def test_lists_of_fields_that_do_not_fit(arguments, error, message):
    with pytest.raises(error, match=message):
        register_dataclass(*arguments)
    assert not is_tree_node(Pair)


def test_static_classes_are_part_of_the_structure():
    @register_static
    class Setting(str):
        pass

    assert tree_flatten([Setting("a"), 1]) == ([1], tree_structure([Setting("a"), 2]))
    assert tree_structure(Setting("a")) != tree_structure(Setting("b"))


def test_which_classes_are_nodes():
    assert [is_tree_node(kind) for kind in (list, type(None), Point, Partial, int, set)] == [True] * 4 + [False] * 2


def test_opening_one_level():
    assert flatten_one_level({"b": 1, "a": [2]}) == (([2], 1), ("a", "b"))
    with pytest.raises(ValueError, match="int, has no children"):
        flatten_one_level(3)


def test_opening_one_level_with_keys():
    assert flatten_one_level_with_keys([7]) == (((SequenceKey(0), 7),), None)
    assert flatten_one_level_with_keys(None) == ((), None)
    assert flatten_one_level_with_keys(Point(1, 2))[0] == [(GetAttrKey("x"), 1), (GetAttrKey("y"), 2)]
    with pytest.raises(ValueError, match="int, has no children"):
        flatten_one_level_with_keys(3)


def test_the_arguments_of_a_partial_are_leaves():
    partial = Partial(collect, 1, [2], key=3)
    assert tree_leaves(partial) == [1, 2, 3]
    assert tree_map(lambda x: 10 * x, partial)(4) == ((10, [20], 4), {"key": 30})


def test_the_function_of_a_partial_is_part_of_the_structure():
    assert tree_structure(Partial(collect, 1)) == tree_structure(Partial(collect, 2))
    assert tree_structure(Partial(collect, 1)) != tree_structure(Partial(max, 1))


@pytest.mark.parametrize("kind", [Partial, functools.partial])
def test_a_partial_of_a_partial_keeps_the_inner_one_whole(kind):
    inner = kind(collect, 1, key=3)
    outer = Partial(inner, 2)
    assert tree_leaves(outer) == [2]
    assert outer(4) == ((1, 2, 4), {"key": 3})
    assert tree_structure(outer) == tree_structure(Partial(inner, 5))


def test_partials_survive_pickling():
    assert pickle.loads(pickle.dumps(Partial(collect, 1, key=2)))(3) == ((1, 3), {"key": 2})
    assert pickle.loads(pickle.dumps(Partial(Partial(collect, 1), 2)))(3) == ((1, 2, 3), {})


@dataclasses.dataclass
class Twins:
    left: object
    right: object
    name: str = "twins"


register_dataclass(Twins, data_fields=["left", "right"], meta_fields=["name"])


@pytest.mark.parametrize("node", [(1, 2), [1, 2], {"b": 1, "a": 2}, None, Twins(1, 2, "ours"), OrderedDict(b=1, a=2)], ids=str)
def test_functions_of_a_registered_class_take_nodes_apart_and_build_them(node):
    functions = registered_nodes[type(node)]
    children, static = functions.to_iter(node)
    assert list(children) == tree_leaves(node)
    assert functions.from_iter(static, list(children)) == node
