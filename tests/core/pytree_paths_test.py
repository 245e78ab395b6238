"""Key paths of leaves."""

from collections import OrderedDict, defaultdict, namedtuple

import pytest

from arrax.core.pytree_nodes import DictKey, FlattenedIndexKey, GetAttrKey, SequenceKey
from arrax.core.pytree_paths import (
    generate_key_paths,
    keystr,
    tree_flatten_with_path,
    tree_leaves_with_path,
    tree_map_with_path,
)
from arrax.core.pytrees import tree_structure

Named = namedtuple("Named", "name")
TREE = [1, {"k1": 2, "k2": (3, 4)}, Named("foo")]


def test_leaves_come_with_their_paths():
    pairs, structure = tree_flatten_with_path(TREE)
    assert structure == tree_structure(TREE)
    assert [(keystr(path), leaf) for path, leaf in pairs] == [
        ("[0]", 1),
        ("[1]['k1']", 2),
        ("[1]['k2'][0]", 3),
        ("[1]['k2'][1]", 4),
        ("[2].name", "foo"),
    ]


def test_paths_are_tuples_of_keys():
    assert tree_leaves_with_path(TREE)[2] == ((SequenceKey(1), DictKey("k2"), SequenceKey(0)), 3)
    assert repr(generate_key_paths(TREE)[4]) == "(SequenceKey(idx=2), GetAttrKey(name='name'))"


@pytest.mark.parametrize("kind", [dict, OrderedDict, lambda **items: defaultdict(int, **items)])
def test_dictionaries_of_all_kinds_have_dictionary_keys(kind):
    assert generate_key_paths(kind(a=1)) == [(DictKey("a"),)]


def test_a_lone_leaf_has_the_empty_path():
    assert tree_leaves_with_path(1) == [((), 1)]
    assert keystr(()) == ""


def test_paths_in_other_words():
    path = (DictKey("a"), SequenceKey(0), GetAttrKey("x"), FlattenedIndexKey(2), "own")
    assert keystr(path) == "['a'][0].x[<flat index 2>]own"
    assert keystr(path, simple=True) == "a0x2own"
    assert keystr(path, simple=True, separator="/") == "a/0/x/2/own"


def test_mapping_with_paths():
    described = tree_map_with_path(lambda path, x, y: (keystr(path), x + y), {"a": [1]}, {"a": [10]})
    assert described == {"a": [("['a'][0]", 11)]}
    assert tree_map_with_path(lambda path, x: x, []) == []


def test_mapping_with_paths_over_trees_that_differ_names_the_place():
    with pytest.raises(ValueError, match=r"tree_map_with_path: the trees differ at \['a'\]"):
        tree_map_with_path(lambda path, x, y: x, {"a": [1]}, {"a": (1,)})


def test_a_predicate_may_look_at_the_value():
    assert tree_leaves_with_path([(1,)], lambda node: isinstance(node, tuple)) == [((SequenceKey(0),), (1,))]


def test_a_predicate_may_look_at_the_path():
    pairs, _ = tree_flatten_with_path([1, [2]], lambda path, _: len(path) == 1, is_leaf_takes_path=True)
    assert [leaf for _, leaf in pairs] == [1, [2]]
    mapped = tree_map_with_path(
        lambda path, x, y: (x, y),
        [1, [2]],
        [3, 4],
        is_leaf=lambda path, _: len(path) == 1,
        is_leaf_takes_path=True,
    )
    assert mapped == [(1, 3), ([2], 4)]
