"""Flattening that fails leaves the thread as it was."""

import subprocess
import sys
import threading

import pytest

from arrax.core import pytrees
from arrax.core.pytree_paths import tree_flatten_with_path


class Box:
    def __init__(self, value):
        self.value = value


class Broken:
    pass


def refuse(node):
    raise KeyError("broken")


pytrees.register_pytree_node(Box, lambda box: ((box.value,), None), lambda _, children: Box(*children))
pytrees.register_pytree_node(Broken, refuse, lambda _, children: Broken())


def nested(depth, wrap, tree=0):
    for _ in range(depth):
        tree = wrap(tree)
    return tree


def containing_itself(container, put):
    put(container)
    return container


def recursion_room():
    """How many calls the thread has left, of Python functions and through C."""

    def deeper(count):
        try:
            return max(map(deeper, [count + 1]))
        except RecursionError:
            return count

    return deeper(0)


def in_a_thread(function):
    """What the function returns, in a thread whose recursion budget nobody else needs."""
    results = []
    thread = threading.Thread(target=lambda: results.append(function()))
    thread.start()
    thread.join()
    return results[0]


def raised_and_room_lost(function, times=3):
    def attempt():
        before, errors = recursion_room(), []
        for _ in range(times):
            try:
                function()
            except Exception as error:
                errors.append(error)
        return errors, before - recursion_room()

    return in_a_thread(attempt)


def no_leaf(node):
    return False


def list_in_itself():
    return containing_itself([], lambda node: node.append(node))


def dict_in_itself():
    return containing_itself({}, lambda node: node.update(a=node, b=node))


def box_in_itself():
    return containing_itself(Box(0), lambda node: setattr(node, "value", node))


# fmt: off
TOO_DEEP = {
    "lists":           lambda: pytrees.tree_flatten(nested(20_000, lambda tree: [tree])),
    "tuples":          lambda: pytrees.tree_leaves(nested(20_000, lambda tree: (tree,))),
    "dicts":           lambda: pytrees.tree_structure(nested(20_000, lambda tree: {"a": tree})),
    "boxes":           lambda: pytrees.tree_map(lambda leaf: leaf, nested(20_000, Box)),
    "with a predicate": lambda: pytrees.tree_leaves(nested(20_000, lambda tree: [tree]), no_leaf),
    "with paths":      lambda: tree_flatten_with_path(nested(20_000, lambda tree: [tree])),
    "boxes with paths": lambda: tree_flatten_with_path(nested(20_000, Box)),
    "list in itself":  lambda: pytrees.tree_leaves(list_in_itself()),
    "dict twice in itself": lambda: pytrees.tree_leaves(dict_in_itself()),
    "box in itself":   lambda: pytrees.tree_leaves(box_in_itself()),
    "list in itself, with a predicate": lambda: pytrees.tree_leaves(list_in_itself(), no_leaf),
}
# fmt: on


@pytest.mark.parametrize("flatten", TOO_DEEP.values(), ids=TOO_DEEP)
def test_trees_without_end_raise_a_recursion_error_and_leave_the_thread_usable(flatten):
    errors, lost = raised_and_room_lost(flatten)
    assert [type(error) for error in errors] == [RecursionError] * 3
    assert "contains itself" in str(errors[0])
    assert abs(lost) <= 30


# fmt: off
RAISING = {
    "keys that cannot be sorted": (ValueError, lambda: pytrees.tree_flatten(nested(20, lambda t: [t], {1: 0, "a": 0}))),
    "a class that refuses":       (KeyError, lambda: pytrees.tree_map(id, nested(20, lambda t: [t], Broken()))),
    "a predicate that refuses":   (KeyError, lambda: pytrees.tree_leaves(
        nested(20, lambda t: [t]), lambda node: refuse(node) if node == 0 else False)),
    "a predicate of paths":       (KeyError, lambda: tree_flatten_with_path(
        nested(20, lambda t: [t]), lambda path, node: refuse(node) if len(path) == 20 else False, True)),
}
# fmt: on


@pytest.mark.parametrize(("expected", "flatten"), RAISING.values(), ids=RAISING)
def test_errors_while_flattening_cost_no_recursion_however_many(expected, flatten):
    errors, lost = raised_and_room_lost(flatten, times=200)
    assert [type(error) for error in errors] == [expected] * 200
    assert lost == 0


def test_errors_while_flattening_name_the_node():
    with pytest.raises(KeyError) as caught:
        pytrees.tree_leaves({"a": [0, Broken()]})
    assert caught.value.__notes__ == ["This happened while flattening a pytree, at its node ['a'][1]."]


def test_errors_at_the_root_come_unchanged():
    with pytest.raises(KeyError) as caught:
        pytrees.tree_leaves(Broken())
    assert not hasattr(caught.value, "__notes__")


def test_structures_of_any_depth_can_be_used():
    one = pytrees.tree_structure([0])
    structure = pytrees.tree_structure(0)
    for _ in range(14):
        one = one.compose(one)
    structure = one.compose(structure)
    assert structure == one
    assert hash(structure) == hash(one)
    assert len(str(structure)) > 2**14
    tree, depth = structure.unflatten([1]), 0
    while isinstance(tree, list):
        tree, depth = tree[0], depth + 1
    assert depth == 2**14


def test_a_process_that_met_an_endless_tree_ends_well():
    program = (
        "from arrax.core import pytrees\n"
        "d = {}\n"
        "d.update(a=d, b=d)\n"
        "for _ in range(5):\n"
        "    try: pytrees.tree_leaves(d)\n"
        "    except RecursionError: print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["refused"] * 5, "")
