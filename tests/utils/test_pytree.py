"""torch.utils._pytree: order, structures, paths and errors as torch's."""
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

import torchshim as torch
from torchshim.utils import _pytree as pytree

Point = namedtuple("Point", "x y")
TREE = {"b": 1, "a": [2, (3, None), Point(4, 5)], "o": OrderedDict(z=6), "d": deque([7], maxlen=3), "dd": defaultdict(int, {1: 8})}


def test_flatten_and_back():
    leaves, spec = pytree.tree_flatten(TREE)
    assert leaves == [1, 2, 3, None, 4, 5, 6, 7, 8]
    assert (spec.num_leaves, spec.num_nodes, spec.num_children) == (9, 16, 5)
    assert pytree.tree_unflatten(leaves, spec) == TREE
    assert spec == pytree.tree_structure(TREE) and hash(spec) == hash(pytree.tree_structure(TREE))
    assert repr(pytree.tree_structure([1, (2,)])) == "TreeSpec(list, None, [*,\n  TreeSpec(tuple, None, [*])])"
    with pytest.raises(ValueError, match="`leaves` has length 1 but"):
        spec.unflatten([1])


def test_map():
    assert pytree.tree_map(lambda x, y: x + y, (1, [2]), (3, [4])) == (4, [6])
    assert pytree.tree_map_only(int, lambda x: x + 1, [1, "a"]) == [2, "a"]
    assert type(pytree.tree_map(lambda x: x, torch.ones(2, 2).max(0))) is torch.return_types.max
    with pytest.raises(ValueError, match="Node type mismatch; expected <class 'list'>, but got <class 'int'>"):
        pytree.tree_map(lambda x, y: x, ([1],), (1,))


def test_paths():
    assert [pytree.keystr(p) for p, _ in pytree.tree_leaves_with_path({"a": [1, Point(2, 3)]})] == ["['a'][0]", "['a'][1].x", "['a'][1].y"]


def test_registered_classes_and_json():
    class Pair:
        def __init__(self, x, y):
            self.x, self.y = x, y
    pytree.register_pytree_node(Pair, lambda p: ([p.x], p.y), lambda children, y: Pair(*children, y))
    try:
        assert vars(pytree.tree_map(lambda x: 2 * x, Pair(1, 1))) == {"x": 2, "y": 1}
        with pytest.raises(ValueError, match="already registered"):
            pytree.register_pytree_node(Pair, None, None)
    finally:
        pytree._deregister_pytree_node(Pair)
    spec = pytree.tree_structure([1, {"a": (2,)}])
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
