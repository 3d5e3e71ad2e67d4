"""Nested containers as trees: their leaves taken out in order, and put back. Tuples, lists, dicts (in their own order), named tuples,
OrderedDict, defaultdict, deque, torch's named results, and what `register_pytree_node` adds are nodes; all else is a leaf, None too.
"""
from __future__ import annotations

import dataclasses
import json
from collections import OrderedDict, defaultdict, deque, namedtuple
from operator import attrgetter
from typing import Any, Callable, NamedTuple

from .. import Size
from ..tensor.api.return_types import ALL as _results


PyTree = Context = Any


class NodeDef(NamedTuple):
    """How a class is taken apart: flatten_fn(x) -> (children, context), unflatten_fn(children, context) -> x."""
    type: type
    flatten_fn: Callable
    unflatten_fn: Callable
    flatten_with_keys_fn: Callable | None


SUPPORTED_NODES: dict[type, NodeDef] = {}
SUPPORTED_SERIALIZED_TYPES: dict[type, tuple] = {}        # {class: (its name, context -> JSON, JSON -> context)}
SERIALIZED_TYPE_TO_PYTHON_TYPE: dict[str, type] = {}
BUILTIN_TYPES = {tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque}
CONSTANT_NODES: set[type] = set()


# -- paths ---------------------------------------------------------------------------------------------------------------------
@dataclasses.dataclass(frozen=True)
class SequenceKey:
    """One step of a path: into a sequence."""
    idx: int

    def __str__(self):
        return f"[{self.idx!r}]"

    def get(self, sequence):
        """The entry."""
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True)
class MappingKey:
    """One step of a path: into a mapping."""
    key: Any

    def __str__(self):
        return f"[{self.key!r}]"

    def get(self, mapping):
        """The entry."""
        return mapping[self.key]


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    """One step of a path: an attribute."""
    name: str

    def __str__(self):
        return f".{self.name}"

    def get(self, obj):
        """The attribute."""
        return getattr(obj, self.name)


def keystr(kp):
    """A path as Python would write it: ['a'][0].x."""
    return "".join([str(k) for k in kp])


def key_get(obj, kp):
    """What lies at the end of a path."""
    for k in kp:
        obj = k.get(obj)
    return obj


# -- node types ------------------------------------------------------------------------------------------------------------------
def register_pytree_node(cls, flatten_fn, unflatten_fn, *, serialized_type_name=None, to_dumpable_context=None, from_dumpable_context=None,
                         flatten_with_keys_fn=None):
    """Let instances of `cls` be nodes. ValueError if they are already."""
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _register_pytree_node(cls, flatten_fn, unflatten_fn, serialized_type_name=serialized_type_name, to_dumpable_context=to_dumpable_context,
                          from_dumpable_context=from_dumpable_context, flatten_with_keys_fn=flatten_with_keys_fn)


def _register_pytree_node(cls, flatten_fn, unflatten_fn, *, serialized_type_name=None, to_dumpable_context=None, from_dumpable_context=None,
                          flatten_with_keys_fn=None):
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered.")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    if serialized_type_name is not None:
        SUPPORTED_SERIALIZED_TYPES[cls] = (serialized_type_name, to_dumpable_context or json.dumps, from_dumpable_context or json.loads)
        SERIALIZED_TYPE_TO_PYTHON_TYPE[serialized_type_name] = cls


_private_register_pytree_node = _register_pytree_node


def _deregister_pytree_node(cls):
    """The reverse of `register_pytree_node`."""
    del SUPPORTED_NODES[cls]
    name = SUPPORTED_SERIALIZED_TYPES.pop(cls, (None,))[0]
    SERIALIZED_TYPE_TO_PYTHON_TYPE.pop(name, None)
    CONSTANT_NODES.discard(cls)


def register_constant(cls):
    """Let instances of `cls` (hashable, compared by value) be part of the structure, without leaves."""
    if cls.__eq__ is object.__eq__ or cls.__hash__ in (None, object.__hash__):
        raise TypeError(f"register_constant(cls) expects `cls` to have non-default `__eq__` and `__hash__` implementations; got {cls}")
    _register_pytree_node(cls, lambda x: ([], ConstantNode(x)), lambda children, context: context.value,
                          flatten_with_keys_fn=lambda x: ([], ConstantNode(x)))
    CONSTANT_NODES.add(cls)


@dataclasses.dataclass(frozen=True)
class ConstantNode:
    """The context of a registered constant."""
    value: Any


def is_constant_class(cls):
    """Whether `register_constant` was called for a class."""
    return isinstance(cls, type) and cls in CONSTANT_NODES


def register_dataclass(cls, *, field_names=None, drop_field_names=None, serialized_type_name=None):
    """Let instances of a dataclass be nodes, their fields (those of `field_names`, without `drop_field_names`) the children."""
    if field_names is None:
        field_names = [f.name for f in dataclasses.fields(cls) if f.init and f.name not in (drop_field_names or ())]

    def flatten(x):
        present = [n for n in field_names if getattr(x, n) is not None]
        return [getattr(x, n) for n in present], [present, [n for n in field_names if n not in present]]

    def with_keys(x):
        values, context = flatten(x)
        return [(GetAttrKey(n), v) for n, v in zip(context[0], values)], context

    def unflatten(values, context):
        return cls(**dict(zip(context[0], values)), **dict.fromkeys(context[1]))
    _register_pytree_node(cls, flatten, unflatten, serialized_type_name=serialized_type_name, flatten_with_keys_fn=with_keys)


def _numbered(x):
    return [(SequenceKey(i), v) for i, v in enumerate(x)]


def _tuple_flatten(t):
    return list(t), None


def _tuple_unflatten(values, context):
    return tuple(values)


def _list_flatten(x):
    return x, None


def _list_flatten_with_keys(x):
    return _numbered(x), None


def _list_unflatten(values, context):
    return list(values)


def _dict_flatten(d):
    return list(d.values()), list(d)


def _dict_flatten_with_keys(d):
    return [(MappingKey(k), v) for k, v in d.items()], list(d)


def _dict_unflatten(values, context):
    return dict(zip(context, values))


def _namedtuple_flatten(t):
    return list(t), type(t)


def _namedtuple_unflatten(values, context):
    return context(*values)


def _ordereddict_unflatten(values, context):
    return OrderedDict(zip(context, values))


_odict_flatten, _odict_unflatten = _dict_flatten, _ordereddict_unflatten


def _defaultdict_flatten(d):
    return list(d.values()), [d.default_factory, list(d)]


def _defaultdict_unflatten(values, context):
    return defaultdict(context[0], zip(context[1], values))


def _deque_flatten(d):
    return list(d), d.maxlen


def _deque_unflatten(values, context):
    return deque(values, maxlen=context)


def _register_builtin():
    for cls, name, flatten, unflatten, with_keys in (
            (tuple, "builtins.tuple", _tuple_flatten, _tuple_unflatten, lambda x: (_numbered(x), None)),
            (list, "builtins.list", _list_flatten, _list_unflatten, _list_flatten_with_keys),
            (dict, "builtins.dict", _dict_flatten, _dict_unflatten, _dict_flatten_with_keys),
            (namedtuple, "collections.namedtuple", _namedtuple_flatten, _namedtuple_unflatten,
             lambda x: ([(GetAttrKey(n), v) for n, v in zip(x._fields, x)], type(x))),
            (OrderedDict, "collections.OrderedDict", _dict_flatten, _ordereddict_unflatten, _dict_flatten_with_keys),
            (defaultdict, "collections.defaultdict", _defaultdict_flatten, _defaultdict_unflatten,
             lambda d: ([(MappingKey(k), v) for k, v in d.items()], [d.default_factory, list(d)])),
            (deque, "collections.deque", _deque_flatten, _deque_unflatten, lambda d: (_numbered(d), d.maxlen)),
            (Size, "torch.Size", _tuple_flatten, _tuple_unflatten, lambda x: (_numbered(x), None))):
        _register_pytree_node(cls, flatten, unflatten, serialized_type_name=name, flatten_with_keys_fn=with_keys)


_register_builtin()


_DICTS = (dict, OrderedDict, defaultdict)      # alike where one structure is compared with another


def is_namedtuple_class(cls):
    """Whether a class was made by `namedtuple`."""
    fields = getattr(cls, "_fields", None)
    return (isinstance(cls, type) and issubclass(cls, tuple) and isinstance(fields, tuple) and all([type(f) is str for f in fields])
            and callable(getattr(cls, "_make", None)) and callable(getattr(cls, "_asdict", None)))


def is_namedtuple_instance(obj):
    """Whether an object is a named tuple."""
    return is_namedtuple_class(type(obj))


def is_namedtuple(obj):
    """Whether an object is a named tuple, or such a class."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


_is_namedtuple_instance = is_namedtuple_instance


def is_structseq_class(cls):
    """Whether a class is one of torch's named results, or a structure of Python's own."""
    return isinstance(cls, type) and issubclass(cls, tuple) and isinstance(getattr(cls, "n_fields", None), int)


def is_structseq_instance(obj):
    """Whether an object is of such a class."""
    return is_structseq_class(type(obj))


def is_structseq(obj):
    """Whether an object is of such a class, or the class."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def _definition(x):
    """(key of SUPPORTED_NODES, its NodeDef) for a node; (None, None) for a leaf."""
    cls = type(x)
    d = SUPPORTED_NODES.get(cls)
    if d is None:
        if is_namedtuple_class(cls):
            cls, d = namedtuple, SUPPORTED_NODES[namedtuple]
        elif _results.get(cls.__name__) is cls:
            d = NodeDef(cls, _tuple_flatten, lambda values, context: cls(tuple(values)), lambda t: (_numbered(t), None))
            SUPPORTED_NODES[cls] = d
        else:
            return None, None
    return cls, d


def _get_node_type(tree):
    return namedtuple if tree is not None and type(tree) not in SUPPORTED_NODES and is_namedtuple_instance(tree) else type(tree)


def tree_is_leaf(tree, is_leaf=None):
    """Whether a tree is a single leaf."""
    return is_leaf is not None and bool(is_leaf(tree)) or _definition(tree)[1] is None


# -- structures ------------------------------------------------------------------------------------------------------------------
class TreeSpec:
    """The structure of a tree: the node's `type` (None for a leaf), its context, and the structures of its children."""
    __slots__ = ("type", "_context", "_children", "num_nodes", "num_leaves", "num_children")

    def __init__(self, type, context, children_specs):
        self.type, self._context, self._children = type, context, list(children_specs)
        self.num_children = len(self._children)
        self.num_nodes = 1 + sum([c.num_nodes for c in self._children])
        self.num_leaves = 1 if type is None else sum([c.num_leaves for c in self._children])

    context = property(attrgetter("_context"), doc="What the node's class needs to be rebuilt, besides its children.")
    children_specs = property(attrgetter("_children"), doc="The children's structures.")

    def children(self):
        """The children's structures."""
        return list(self._children)

    def child(self, index):
        """The structure of one child."""
        return self._children[index]

    def is_leaf(self):
        """Whether it is a single leaf."""
        return self.type is None

    def __repr__(self, indent=0):
        if self.type is None:
            return "*"
        parts = [c.__repr__(indent + 2) for c in self._children]
        gap = ",\n" + " " * (indent + 2)
        inner = parts[0] + (gap + gap.join(parts[1:]) if len(parts) > 1 else "") if parts else ""
        return f"TreeSpec({self.type.__name__}, {self._context}, [{inner}])"

    def __eq__(self, other):
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (self.type is other.type and self.num_children == other.num_children and self._context == other._context
                and self._children == other._children)

    def __hash__(self):
        return hash((self.type, self.num_nodes, self.num_leaves))

    def unflatten(self, leaves):
        """The tree with these leaves; ValueError for a wrong number of them."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that holds "
                             f"{self.num_leaves} items ({self}).")
        return self._build(iter(leaves))

    def _build(self, leaves):
        if self.type is None:
            return next(leaves)
        children = [c._build(leaves) for c in self._children]
        return SUPPORTED_NODES[self.type].unflatten_fn(children, self._context)

    def flatten_up_to(self, tree):
        """The parts of `tree` at this structure's leaves; ValueError where it has another structure."""
        out = []
        self._up_to(tree, out)
        return out

    def _up_to(self, tree, out):
        if self.type is None:
            out.append(tree)
            return
        cls, d = _definition(tree)
        if cls is not self.type and not (cls in _DICTS and self.type in _DICTS):
            raise ValueError(f"Node type mismatch; expected {self.type!r}, but got {cls if cls is namedtuple else type(tree)!r}.")
        if cls in _DICTS:
            keys = self._context[1] if self.type is defaultdict else self._context
            if set(keys) != set(tree):
                missing, extra = [k for k in keys if k not in tree], [k for k in tree if k not in keys]
                text = "".join([f"; {what} key(s): {set(some)}" for what, some in (("missing", missing), ("extra", extra)) if some])
                raise ValueError(f"Node keys mismatch{text}.")
            children = [tree[k] for k in keys]
        else:
            children, context = d.flatten_fn(tree)
            if len(children) != self.num_children:
                raise ValueError(f"Node arity mismatch; expected {self.num_children}, but got {len(children)}.")
            if self.type is not deque and context != self._context:
                raise ValueError(f"Node context mismatch for custom node type {self.type!r}.")
        for spec, child in zip(self._children, children):
            spec._up_to(child, out)


PyTreeSpec = TreeSpec


class LeafSpec(TreeSpec):
    """The structure of a single leaf."""
    __slots__ = ()

    def __init__(self):
        super().__init__(None, None, [])


_LEAF_SPEC = LeafSpec()


def treespec_leaf():
    """The structure of a leaf."""
    return _LEAF_SPEC


def treespec_tuple(iterable=()):
    """The structure of a tuple of structures."""
    return TreeSpec(tuple, None, list(iterable))


def treespec_dict(mapping=(), **kwargs):
    """The structure of a dict of structures."""
    d = dict(mapping, **kwargs)
    return TreeSpec(dict, list(d), list(d.values()))


# -- taking apart and putting together ---------------------------------------------------------------------------------------------
def _flatten(tree, leaves, is_leaf):
    cls, d = (None, None) if is_leaf is not None and is_leaf(tree) else _definition(tree)
    if d is None:
        leaves.append(tree)
        return _LEAF_SPEC
    children, context = d.flatten_fn(tree)
    return TreeSpec(cls, context, [_flatten(c, leaves, is_leaf) for c in children])


def tree_flatten(tree, is_leaf=None):
    """(leaves, structure); `is_leaf` stops at what it is true for."""
    leaves = []
    spec = _flatten(tree, leaves, is_leaf)
    return leaves, spec


def tree_unflatten(leaves, treespec):
    """The reverse of `tree_flatten`."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}.")
    return treespec.unflatten(leaves)


def tree_iter(tree, is_leaf=None):
    """The leaves, one after the other."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
        return
    for child in _definition(tree)[1].flatten_fn(tree)[0]:
        yield from tree_iter(child, is_leaf)


def tree_leaves(tree, is_leaf=None):
    """The list of leaves."""
    return list(tree_iter(tree, is_leaf))


def tree_structure(tree, is_leaf=None):
    """The structure."""
    return tree_flatten(tree, is_leaf)[1]


def arg_tree_leaves(*args, **kwargs):
    """The leaves of a call's arguments."""
    return tree_leaves([*args, *kwargs.values()])


def tree_map(func, tree, *rests, is_leaf=None):
    """The tree of func(leaf, ...), with leaves from further trees of the same structure."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *[spec.flatten_up_to(r) for r in rests]))


def tree_map_(func, tree, *rests, is_leaf=None):
    """Call func(leaf, ...) for its effects; returns the tree."""
    leaves, spec = tree_flatten(tree, is_leaf)
    for _ in map(func, leaves, *[spec.flatten_up_to(r) for r in rests]):
        pass
    return tree


def _chooser(types):
    if isinstance(types, (type, tuple)) or hasattr(types, "__args__"):
        return lambda x: isinstance(x, types)
    if callable(types):
        return types
    raise TypeError("Argument must be a type, a tuple of types, or a callable.")


def map_only(type_or_types_or_pred, /):
    """A decorator: the function is applied to such leaves only, others stay."""
    chosen = _chooser(type_or_types_or_pred)
    return lambda func: lambda x: func(x) if chosen(x) else x


def tree_map_only(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """`tree_map` for the leaves of some types (or for which a predicate is true)."""
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types_or_pred, /, func, tree, is_leaf=None):
    """`tree_map_` for the leaves of some types."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    """Whether pred is true for all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    """Whether pred is true for some leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types, /, pred, tree, is_leaf=None):
    """Whether pred is true for all leaves of some types."""
    return all([pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types)])


def tree_any_only(type_or_types, /, pred, tree, is_leaf=None):
    """Whether pred is true for some leaf of some types."""
    return any([pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types)])


def _broadcast_to_and_flatten(tree, treespec, is_leaf=None):
    """The leaves of `tree` spread over a structure that goes on where it has leaves; None if it does not fit."""
    if tree_is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    cls, d = _definition(tree)
    if treespec.type is not cls and not (cls in _DICTS and treespec.type in _DICTS):
        return None
    children, context = d.flatten_fn(tree)
    if len(children) != treespec.num_children:
        return None
    if cls in _DICTS:
        if set(tree) != set(treespec.context[1] if treespec.type is defaultdict else treespec.context):
            return None
    elif context != treespec.context:
        return None
    out = []
    for child, spec in zip(children, treespec.children()):
        part = _broadcast_to_and_flatten(child, spec, is_leaf)
        if part is None:
            return None
        out += part
    return out


# -- with paths --------------------------------------------------------------------------------------------------------------------
def _paths(path, tree, is_leaf):
    cls, d = (None, None) if is_leaf is not None and is_leaf(tree) else _definition(tree)
    if d is None:
        yield path, tree
        return
    if d.flatten_with_keys_fn is None:
        raise ValueError(f"Did not find a flatten_with_keys_fn for type: {cls}. Please pass a flatten_with_keys_fn argument to "
                         "register_pytree_node.")
    for key, child in d.flatten_with_keys_fn(tree)[0]:
        yield from _paths((*path, key), child, is_leaf)


def tree_leaves_with_path(tree, is_leaf=None):
    """The list of (path, leaf)."""
    return list(_paths((), tree, is_leaf))


def tree_flatten_with_path(tree, is_leaf=None):
    """(list of (path, leaf), structure)."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    """The tree of func(path, leaf, ...)."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    columns = [[p for p, _ in pairs], [x for _, x in pairs], *[spec.flatten_up_to(r) for r in rests]]
    return spec.unflatten(map(func, *columns))


# -- as JSON -----------------------------------------------------------------------------------------------------------------------
DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL = 1


def treespec_dumps(treespec, protocol=None):
    """A structure as JSON; NotImplementedError for classes registered without a serialized_type_name."""
    protocol = DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL if protocol is None else protocol
    if protocol != DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL}]")
    return json.dumps((protocol, _schema(treespec)))


def _schema(spec):
    if spec.type is None:
        return {"type": None, "context": None, "children_spec": []}
    if spec.type is namedtuple:
        raise NotImplementedError(f"Can't serialize TreeSpec of namedtuple class {spec.context} because we didn't register a "
                                  "serializated_type_name. Please register using `_register_namedtuple`.")
    if spec.type not in SUPPORTED_SERIALIZED_TYPES or spec.type is defaultdict:
        raise NotImplementedError(f"Serializing {spec.type} in pytree is not registered.")
    name, dump, _ = SUPPORTED_SERIALIZED_TYPES[spec.type]
    return {"type": name, "context": dump(spec.context), "children_spec": [_schema(c) for c in spec.children()]}


def treespec_loads(serialized):
    """The reverse of `treespec_dumps`."""
    protocol, schema = json.loads(serialized)
    if protocol != DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL:
        raise ValueError(f"Unknown protocol {protocol}. Available protocols: [{DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL}]")
    return _from_schema(schema)


def _from_schema(schema):
    if schema["type"] is None:
        return _LEAF_SPEC
    if schema["type"] not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(f'Deserializing {schema["type"]} in pytree is not registered.')
    cls = SERIALIZED_TYPE_TO_PYTHON_TYPE[schema["type"]]
    load = SUPPORTED_SERIALIZED_TYPES[cls][2]
    return TreeSpec(cls, load(schema["context"]), [_from_schema(c) for c in schema["children_spec"]])


def treespec_pprint(treespec):
    """The structure as a picture of the tree, with a star for each leaf."""
    class Star:
        def __repr__(self):
            return "*"
    return repr(tree_unflatten([Star()] * treespec.num_leaves, treespec))
