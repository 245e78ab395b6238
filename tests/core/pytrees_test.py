"""Taking pytrees apart, putting them together, and mapping over them."""

import operator
import pickle
from collections import OrderedDict, defaultdict, namedtuple

import pytest

import arrax.tree
import arrax.tree_util
from arrax.core import pytrees
from arrax.core.pytrees import (
    register_pytree_node_class,
    tree_flatten,
    tree_leaves,
    tree_map,
    tree_structure,
    tree_unflatten,
)

Point = namedtuple("Point", "x y")


class Special:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __eq__(self, other):
        return isinstance(other, Special) and (self.x, self.y) == (other.x, other.y)


pytrees.register_pytree_node(Special, lambda node: ((node.x, node.y), None), lambda _, children: Special(*children))

# fmt: off
TREES = {  # repr of the structure: (tree, leaves)
    "PyTreeDef(*)":                                        (1.0, [1.0]),
    "PyTreeDef(None)":                                     (None, []),
    "PyTreeDef(())":                                       ((), []),
    "PyTreeDef([*, (*, *)])":                              ([1.0, (2.0, 3.0)], [1.0, 2.0, 3.0]),
    "PyTreeDef((*, {'a': *, 'b': *}))":                    ((1.0, {"b": 2.0, "a": 3.0}), [1.0, 3.0, 2.0]),
    "PyTreeDef((*, {'a': [*, None]}))":                    ((1, {"a": [2, None]}), [1, 2]),
    "PyTreeDef(CustomNode(namedtuple[Point], [*, *]))":    (Point(1.0, 2.0), [1.0, 2.0]),
    "PyTreeDef(CustomNode(Special[None], [*, [*]]))":      (Special(1, [2]), [1, 2]),
    "PyTreeDef(CustomNode(OrderedDict[('b', 'a')], [*, *]))": (OrderedDict(b=1, a=2), [1, 2]),
    "PyTreeDef(CustomNode(defaultdict[(<class 'int'>, ('a', 'b'))], [*, *]))": (defaultdict(int, b=1, a=2), [2, 1]),
}
# fmt: on
each_tree = pytest.mark.parametrize(("text", "tree", "leaves"), [(text, *rest) for text, rest in TREES.items()])


@each_tree
def test_leaves_and_the_structure_of_a_tree(text, tree, leaves):
    assert tree_flatten(tree) == (leaves, tree_structure(tree))
    assert tree_leaves(tree) == leaves
    assert repr(tree_structure(tree)) == text


@each_tree
def test_unflattening_undoes_flattening(text, tree, leaves):
    rebuilt = tree_unflatten(tree_structure(tree), iter(leaves))
    assert rebuilt == tree
    assert type(rebuilt) is type(tree)


@each_tree
def test_structures_survive_pickling(text, tree, leaves):
    structure = tree_structure(tree)
    assert pickle.loads(pickle.dumps(structure)) == structure


def test_structures_are_equal_and_of_one_hash_whatever_their_leaves():
    one, other = tree_structure({"a": [1], "b": 2}), tree_structure({"b": "x", "a": [object()]})
    assert one == other
    assert hash(one) == hash(other)
    assert one != tree_structure({"a": (1,), "b": 2})


def test_a_default_dictionary_keeps_its_factory():
    assert tree_map(lambda x: x, defaultdict(list, a=1))["new"] == []


def test_a_leaf_predicate_stops_the_descent():
    assert tree_leaves([None, (1, 2)], is_leaf=lambda node: node is None or isinstance(node, tuple)) == [None, (1, 2)]


def test_subclasses_of_containers_are_leaves():
    many = type("Many", (list,), {})([1])
    assert tree_leaves([many]) == [many]


def test_unflattening_counts_the_leaves():
    with pytest.raises(ValueError, match="Too few leaves"):
        tree_unflatten(tree_structure([1, 2]), [1])
    with pytest.raises(ValueError, match="Too many leaves"):
        tree_unflatten(tree_structure([1, 2]), [1, 2, 3])


def test_unflattening_notices_swapped_arguments():
    with pytest.raises(TypeError, match="first argument is a treedef"):
        tree_unflatten([1], tree_structure([1]))


def test_mapping_over_several_trees():
    assert tree_map(operator.add, {"a": 1, "b": (2,)}, {"a": 10, "b": (20,)}) == {"a": 11, "b": (22,)}


def test_mapping_gives_subtrees_where_the_first_tree_has_leaves():
    assert tree_map(lambda x, y: (x, y), [1, None], [[2, 3], None]) == [(1, [2, 3]), None]


def test_mapping_takes_what_the_predicate_calls_a_leaf():
    assert tree_map(lambda x, y: (x, y), [1, None], [3, [4]], is_leaf=lambda x: x is None) == [(1, 3), (None, [4])]


def test_custom_nodes_may_hold_any_object():
    marker = object()
    assert tree_map(lambda _: marker, Special(1, 2)) == Special(marker, marker)


# fmt: off
@pytest.mark.parametrize(("first", "second", "message"), [
    ([1, 2], [1, 2, 3], "the root: the first tree has a list of length 2, where .* a list of length 3"),
    ({"a": [1]}, {"a": (1,)}, r"\['a'\]: the first tree has a list of length 1, where .* a tuple of length 1"),
    ([{"a": 1}], [{"b": 1}], r"\[0\]: .* keys \['a'\], .* keys \['b'\] \(only the former has \['a'\], only the latter"),
    ({"a": None}, {"a": 1}, r"\['a'\]: the first tree has None, where the second tree has a leaf of type int"),
    (Point([1], 2), Point((1,), 2), r"differ at \.x: .* list"),
    (Special(1, [2]), Special(1, 2), r"<flat index 1>.* list of length 1"),
    ([Special(1, 2)], [Point(1, 2)], r"\[0\]: the first tree has a node of class Special, .* class Point"),
])
# fmt: on
def test_mapping_over_trees_that_differ_names_the_place_and_both_structures(first, second, message):
    with pytest.raises(ValueError, match=message) as caught:
        tree_map(lambda x, y: x, first, second)
    assert str(tree_structure(first)) in str(caught.value)
    assert str(tree_structure(second)) in str(caught.value)


def test_mapping_says_which_of_many_trees_differs():
    with pytest.raises(ValueError, match="tree number 3 has a list of length 2"):
        tree_map(lambda x, y, z: x, [1], [1], [1, 2])


def test_mapping_hands_on_the_errors_of_the_function():
    with pytest.raises(ZeroDivisionError):
        tree_map(lambda x: 1 / x, [0])


def test_reducing_from_left_to_right():
    assert pytrees.tree_reduce(operator.sub, [10, (2, {"a": 3})]) == 5
    assert pytrees.tree_reduce(operator.sub, [1, 2], 10) == 7
    assert pytrees.tree_reduce(lambda found, x: (found, x), [1], None) == (None, 1)
    with pytest.raises(TypeError):
        pytrees.tree_reduce(operator.add, [])


def test_reducing_by_halves():
    combined = pytrees.tree_reduce_associative(lambda x, y: f"({x}{y})", list("abcdefg"))
    assert combined == "((a(bc))((de)(fg)))"
    assert pytrees.tree_reduce_associative(operator.add, [], identity=0) == 0
    with pytest.raises(TypeError, match="identity"):
        pytrees.tree_reduce_associative(operator.add, [])


def test_all_leaves_are_true():
    assert pytrees.tree_all([])
    assert pytrees.tree_all({"a": 1, "b": [True]})
    assert not pytrees.tree_all([1, (0,)])
    assert pytrees.tree_all([1, (0,)], is_leaf=lambda node: isinstance(node, tuple))


def test_transposing_a_tree_of_trees():
    outer, inner = tree_structure([0, 0]), tree_structure({"a": 0, "b": (0,)})
    tree = [{"a": 1, "b": (2,)}, {"a": 3, "b": (4,)}]
    expected = {"a": [1, 3], "b": ([2, 4],)}
    assert pytrees.tree_transpose(outer, inner, tree) == expected
    assert pytrees.tree_transpose(outer, None, tree) == expected


def test_transposing_an_outer_tree_without_leaves():
    assert pytrees.tree_transpose(tree_structure([]), tree_structure((0, 0)), []) == ([], [])
    with pytest.raises(ValueError, match="inner_treedef must be given"):
        pytrees.tree_transpose(tree_structure([]), None, [])


def test_transposing_a_tree_of_another_structure_shows_both_structures():
    with pytest.raises(TypeError, match=r"PyTreeDef\(\[\*, \(\*, \*\)\]\)") as caught:
        pytrees.tree_transpose(tree_structure([0, 0]), tree_structure((0, 0)), [1, (2, 3)])
    assert "PyTreeDef([(*, *), (*, *)])" in str(caught.value)


def test_structures_have_children():
    assert pytrees.treedef_children(tree_structure([1, (2,)])) == [tree_structure(1), tree_structure((2,))]
    assert pytrees.treedef_is_leaf(tree_structure(1))
    assert not pytrees.treedef_is_leaf(tree_structure([1]))


def test_structures_make_a_structure_of_a_tuple():
    assert pytrees.treedef_tuple(map(tree_structure, (1, [2]))) == tree_structure((1, [2]))
    with pytest.raises(TypeError, match=r"treedef_tuple: treedefs\[1\] must be a treedef, got int"):
        pytrees.treedef_tuple([tree_structure(1), 2])


def test_whether_elements_are_leaves():
    assert pytrees.all_leaves([1, "a"])
    assert not pytrees.all_leaves([1, [2]])
    assert not pytrees.all_leaves([None])
    assert pytrees.all_leaves([1, [2]], is_leaf=lambda node: isinstance(node, list))


def test_building_a_tree_of_nested_iterables():
    assert pytrees.build_tree(tree_structure([1, {"a": 2}, None]), (5, iter([[6]]), ())) == [5, {"a": [6]}, None]
    with pytest.raises(ValueError, match="has 2 children, but got 3"):
        pytrees.build_tree(tree_structure([1, 2]), [1, 2, 3])


def test_the_registry_of_none_leaves_knows_the_same_classes():
    leaves, _ = pytrees.none_leaf_registry.flatten([None, Special(None, 1), OrderedDict(a=None)])
    assert leaves == [None, None, 1, None]


def test_short_names_are_those_of_the_long_ones():
    short = {name: getattr(arrax.tree, name) for name in arrax.tree.__all__ if name != "static"}
    assert short == {name: getattr(arrax.tree_util, f"tree_{name}") for name in short}


def test_the_faces_have_every_name_they_promise():
    for face in (arrax.tree, arrax.tree_util):
        assert all(hasattr(face, name) for name in face.__all__)


def test_nodes_that_keep_structures_can_be_transposed():
    @register_pytree_node_class
    class Flat:
        def __init__(self, leaves, structure):
            self.leaves, self.structure = leaves, structure

        @classmethod
        def of(cls, tree):
            return cls(*tree_flatten(tree))

        def tree_flatten(self):
            return self.leaves, self.structure

        @classmethod
        def tree_unflatten(cls, structure, leaves):
            return cls(list(leaves), structure)

    outer = tree_structure(Flat.of({"a": 1, "b": 2}))
    found = pytrees.tree_transpose(outer, tree_structure([1, 2]), Flat.of({"a": [3, 4], "b": [5, 6]}))
    assert [part.leaves for part in found] == [[3, 5], [4, 6]]


def test_the_end_of_an_iterator_reaches_the_caller():
    numbers = iter([1, 2])
    for mapped in (
        lambda: arrax.tree.map(lambda _: next(numbers), {"a": 0, "b": 0, "c": 0}),
        lambda: arrax.tree.map(lambda *_: next(numbers), [0], [0]),
        lambda: arrax.tree.map_with_path(lambda *_: next(numbers), [0]),
    ):
        with pytest.raises(StopIteration):
            mapped()
