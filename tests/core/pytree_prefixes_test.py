"""Tree prefixes: spreading them, and saying where they do not fit."""

import pytest

from arrax.core.pytree_prefixes import (
    broadcast_prefix,
    flatten_axes,
    named_broadcast_prefix,
    prefix_errors,
    tree_broadcast,
)
from arrax.core.pytrees import register_pytree_node, tree_structure


class Validating:
    def __init__(self, value):
        if not isinstance(value, int):
            raise TypeError("only integers")
        self.value = value


register_pytree_node(Validating, lambda node: ((node.value,), None), lambda _, children: Validating(*children))


def is_none(node):
    return node is None


def test_each_leaf_of_a_prefix_is_repeated_for_its_subtree():
    assert broadcast_prefix([1, (2, 3)], [{"a": 0, "b": 0}, (0, [0, 0])]) == [1, 1, 2, 3, 3]
    assert broadcast_prefix(1, [0, None, ()]) == [1]


def test_a_prefix_takes_the_structure_of_the_full_tree():
    assert tree_broadcast([1, (2, 3)], [{"a": 0, "b": 0}, (0, [0, 0])]) == [{"a": 1, "b": 1}, (2, [3, 3])]


def test_none_is_a_node_of_a_prefix_unless_said_otherwise():
    assert tree_broadcast([None, 2], [None, 1]) == [None, 2]
    assert tree_broadcast([None, 2], [[0, 3], 1], is_leaf=is_none) == [[None, None], 2]
    with pytest.raises(ValueError, match=r"prefix_tree\[0\] does not fit: it has None, .* a list of length 2"):
        tree_broadcast([None, 2], [[0, 3], 1])


def test_a_prefix_that_does_not_fit_is_refused_with_its_place():
    with pytest.raises(ValueError, match=r"prefix_tree\[1\] .* tuple of length 2, .* tuple of length 1"):
        broadcast_prefix([1, (2, 3)], [0, (0,)])


def test_every_misfit_of_a_prefix_is_explained():
    errors = [make("in_axes") for make in prefix_errors([1, {"a": 1}, (3,)], [2, {"b": 1}, [2]])]
    assert [type(error) for error in errors] == [ValueError] * 2
    assert str(errors[0]).startswith("in_axes[1] does not fit: it has a dict with the keys ['a'], where the value has")
    assert str(errors[1]) == (
        "in_axes[2] does not fit: it has a tuple of length 1, where the value has a list of length 1"
    )


def test_a_prefix_that_fits_has_no_errors():
    assert prefix_errors([1, None], [[2, 3], None]) == []
    assert prefix_errors([None], [[2, 3]], is_none) == []


@pytest.mark.parametrize(
    ("tree", "axes", "expected"),
    [
        ((1, {"a": (2, 3)}), 0, [0, 0, 0]),
        ((1, {"a": (2, 3)}), None, [None, None, None]),
        ((1, {"a": (2, None)}), (None, {"a": 0}), [None, 0]),
        ((1, {"b": 2, "a": 3}), (None, {"a": 1, "b": None}), [None, 1, None]),
        ((None, 1), (None, 0), [0]),
        ((None, 1), (0, 0), [0]),
        ((), (), []),
    ],
)
def test_axes_are_spread_over_the_leaves_and_none_is_an_axis(tree, axes, expected):
    assert flatten_axes("in_axes", tree_structure(tree), axes) == expected


def test_axes_are_spread_without_rebuilding_nodes():
    assert flatten_axes("in_axes", tree_structure((Validating(1), 2)), (None, 0)) == [None, 0]
    assert flatten_axes("in_axes", tree_structure((Validating(1), 2)), (Validating(1), 0)) == [1, 0]


def test_axes_that_do_not_fit_are_refused_with_every_place():
    with pytest.raises(ValueError, match="vmap in_axes must be a tree prefix of the corresponding value") as caught:
        flatten_axes("vmap in_axes", tree_structure(({"b": 1}, 2, [3])), ({"a": 0}, [0], [0]))
    assert "vmap in_axes[0] does not fit: it has a dict with the keys ['a']" in str(caught.value)
    assert "vmap in_axes[1] does not fit: it has a list of length 1, where the value has a leaf" in str(caught.value)
    assert "vmap in_axes[2]" not in str(caught.value)


def test_axes_that_forgot_the_tuple_of_arguments_get_a_hint():
    with pytest.raises(ValueError, match="a tuple, one entry for each argument, was forgotten"):
        flatten_axes("in_axes", tree_structure(({"a": 1},)), {"a": 0}, tupled_args=True)


def test_all_places_where_a_prefix_does_not_fit_are_named():
    with pytest.raises(ValueError, match="device_put device must be a tree prefix") as caught:
        named_broadcast_prefix("device_put device", {"a": 1, "b": (1, 2), "c": [1]}, {"a": 1, "b": [1, 2], "c": 3})
    assert "device_put device['b'] does not fit" in str(caught.value)
    assert "device_put device['c'] does not fit" in str(caught.value)
