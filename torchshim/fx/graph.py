"""Graph: steps in their order, and the Python code that they stand for."""
from __future__ import annotations

import builtins
import keyword
import operator
import re
import sys
import types
import typing

from .node import Node, _type_text, map_arg, qualified_name

_INFIX = {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "truediv": "/", "mod": "%", "pow": "**", "lshift": "<<", "rshift": ">>",
          "and_": "&", "or_": "|", "xor": "^", "matmul": "@", "eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">="}
_FORMATS = {getattr(operator, k): f"{{}} {v} {{}}" for k, v in _INFIX.items()}
_FORMATS.update({operator.getitem: "{}[{}]", operator.neg: "-{}", operator.pos: "+{}", operator.invert: "~{}"})
_TYPING = {list: typing.List, dict: typing.Dict, set: typing.Set, frozenset: typing.FrozenSet, tuple: typing.Tuple}
_TAKEN = {"torch", "device", "inf", "nan", "NoneType", "self"}


class CodeGen:
    """How code is written; torch lets programs change it, here it is one."""


class _Names:
    """Names of steps, each used once."""

    def __init__(self):
        self.used = set()

    def new(self, wanted):
        name = re.sub(r"[^0-9a-zA-Z_]+", "_", wanted) or "_unnamed"
        name = f"_{name}" if name[0].isdigit() else name
        match = re.fullmatch(r"(.*)_(\d+)", name)
        base, number = (match.group(1), int(match.group(2))) if match else (name, None)
        while name in self.used or number is None and (name in _TAKEN or keyword.iskeyword(name) or hasattr(builtins, name)):
            number = 1 if number is None else number + 1
            name = f"{base}_{number}"
        self.used.add(name)
        return name


def _snake(s):
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", s).lower()


class _Code:
    """Source text with the global names that it needs."""

    def __init__(self, src, globals):
        self.src, self.globals = src, globals


class _Inserting:
    """The place where a graph adds steps, changed as soon as this is made; as a context it is put back."""

    def __init__(self, graph, n, insert):
        assert n.graph is graph, "Node to insert at is not in graph."
        self.graph, self.before, graph._insert = graph, graph._insert, insert

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        self.graph._insert = self.before


class Graph:
    """A program: placeholders first, one output last. Steps are added at the insert point, which is the end at first."""

    def __init__(self, owning_module=None, tracer_cls=None, tracer_extras=None):
        self._root = Node(self, "", "root", "", (), {})
        self._insert, self._names, self._codegen = self._root.prepend, _Names(), CodeGen()
        self.owning_module, self._tracer_cls = owning_module, tracer_cls

    @property
    def nodes(self):
        """The steps, in order."""
        return _Nodes(self)

    # -- adding ------------------------------------------------------------------------------------------------------------------
    def create_node(self, op, target, args=None, kwargs=None, name=None, type_expr=None):
        """Add a step; its name is made from the target unless given."""
        assert op in ("call_function", "call_method", "get_attr", "call_module", "placeholder", "output")
        wanted = name if name is not None else self._wanted(target)
        node = Node(self, self._names.new(wanted), op, target, args or (), kwargs or {}, type_expr)
        self._insert(node)
        return node

    @staticmethod
    def _wanted(target):
        return _snake(target.__name__.strip("_") if target.__name__.startswith("__") else target.__name__) if callable(target) else (
            target.lstrip("*") if "." not in target else target)

    def placeholder(self, name, type_expr=None, default_value=...):
        """A parameter of the program."""
        return self.create_node("placeholder", name, () if default_value is ... else (default_value,), type_expr=type_expr)

    def get_attr(self, qualified_name, type_expr=None):
        """A parameter, buffer or other attribute of the module."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name, args=None, kwargs=None, type_expr=None):
        """A call of a submodule."""
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name, args=None, kwargs=None, type_expr=None):
        """A call of a method of args[0]."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(self, the_function, args=None, kwargs=None, type_expr=None, name=None):
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name, type_expr)

    def output(self, result, type_expr=None):
        """What the program returns."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node, arg_transform=lambda x: x):
        """Add a copy of another graph's step; `arg_transform` tells which step here stands for one there."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        copy = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        copy.meta = dict(node.meta)
        return copy

    def graph_copy(self, g, val_map, return_output_node=False):
        """Add copies of another graph's steps; val_map gets {step there: step here}. Returns what it returns."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], val_map.__getitem__)
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, val_map.__getitem__)

    # -- changing ------------------------------------------------------------------------------------------------------------------
    def inserting_before(self, n=None):
        """Steps are added before n (before the first if none is given) from now on, or for as long as what is returned is a context."""
        return self.inserting_after(self._root) if n is None else _Inserting(self, n, n.prepend)

    def inserting_after(self, n=None):
        """Steps are added right after n, the latest first (at the end if none is given), from now on, or for as long as what is returned is a
        context."""
        return self.inserting_before(self._root) if n is None else _Inserting(self, n, n.append)

    def erase_node(self, to_erase):
        """Remove a step; RuntimeError if another uses it."""
        if to_erase.users:
            raise RuntimeError(f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                               f"{to_erase.users}!")
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            return
        to_erase._remove()
        to_erase._erased = True
        to_erase._update((), {})
        if self._insert == to_erase.prepend:
            self._insert = to_erase.next.prepend
        elif self._insert == to_erase.append:
            self._insert = to_erase.prev.append

    def eliminate_dead_code(self, is_impure_node=None):
        """Remove steps that nothing uses; whether there were any."""
        self.lint()
        before = len(self.nodes)
        for node in reversed(self.nodes):
            if not (is_impure_node or Node.is_impure)(node) and not node.users:
                self.erase_node(node)
        return len(self.nodes) < before

    def lint(self):
        """RuntimeError where a step uses one that comes later or is not of this graph."""
        seen = set()
        for node in self.nodes:
            for n in node.all_input_nodes:
                if n.graph is not self:
                    raise RuntimeError(f"Argument '{n}' of Node '{node}' does not belong to this Graph, but was used as an argument! If you are "
                                       "copying nodes from another graph, make sure to use ``arg_transform`` on node_copy() to remap values")
                if n not in seen:
                    raise RuntimeError(f"Argument '{n}' of Node '{node}' was used before it has been defined! Please check that Nodes in the "
                                       f"graph are topologically ordered\n{self}")
            seen.add(node)

    def find_nodes(self, *, op, target=None, sort=True):
        """The steps of a kind."""
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    def output_node(self):
        """The output."""
        return next(n for n in reversed(self.nodes) if n.op == "output")

    def __deepcopy__(self, memo=None):
        g = Graph(tracer_cls=self._tracer_cls)
        val_map = {}
        result = g.graph_copy(self, val_map, return_output_node=True)
        if result is not None:
            new = g.output(result[0], result[1].type)
            new.meta = dict(result[1].meta)
        if memo is not None:
            memo[id(self)] = g
        return g

    # -- as text -------------------------------------------------------------------------------------------------------------------
    def __str__(self):
        return "\n    ".join(["graph():", *[n.format_node() for n in self.nodes]])

    def print_tabular(self):
        """Print the steps as a table."""
        rows = [("opcode", "name", "target", "args", "kwargs")]
        rows += [(n.op, n.name, str(n.target), str(n.args), str(n.kwargs)) for n in self.nodes]
        widths = [max([len(r[k]) for r in rows]) for k in range(5)]
        lines = ["  ".join([c.ljust(w) for c, w in zip(r, widths)]).rstrip() for r in rows]
        print("\n".join([lines[0], "  ".join(["-" * w for w in widths]), *lines[1:]]))

    def python_code(self, root_module, **options):
        """The program as a function `forward(self, ...)`: `src`, and the `globals` that it needs."""
        torch = sys.modules[__name__.partition(".")[0]]
        needed = {"torch": torch, "device": torch.device, "inf": float("inf"), "nan": float("nan"), "NoneType": type(None)}
        last = {}
        for node in self.nodes:
            for n in node.all_input_nodes:
                last[n] = node
        doomed = {}
        for n, user in last.items():
            doomed.setdefault(user, []).append(n)
        parameters, body, result = [], [], ""
        for node in self.nodes:
            if node.op == "placeholder":
                default = f" = {self._value(node.args[0], needed)}" if node.args else ""
                parameters.append(f"{node.target}{self._annotation(node, needed)}{default}")
                name = node.target.lstrip("*")
                if name != node.name:
                    body.append(f"{node.name} = {name}")
                continue
            if node.op == "output":
                result = "" if node.type is None else f" -> {self._type_source(node.type, needed)}"
                body.append(f"return {self._value(node.args[0], needed)}")
                continue
            gone = [n.name for n in node.all_input_nodes if n in doomed.get(node, ())] + ([node.name] if not node.users else [])
            line = f"{node.name}{self._annotation(node, needed)} = {self._expression(node, needed)}"
            body.append(line + (f";  {' = '.join(gone)} = None" if gone else ""))
        lines = "".join([f"    {line}\n" for line in body or ["pass"]])
        return _Code(f"\n\n\ndef forward({', '.join(['self', *parameters])}){result}:\n{lines}    ", needed)

    def _annotation(self, node, needed):
        return "" if node.type is None else f" : {self._type_source(node.type, needed)}"

    def _type_source(self, kind, needed):
        """An annotation as source; what it names goes into `needed`."""
        if kind == ():
            return "()"
        arguments, origin = typing.get_args(kind), getattr(kind, "__origin__", None)
        if isinstance(kind, types.UnionType):
            return "|".join([self._type_source(a, needed) for a in arguments])
        if origin is not None:
            if isinstance(kind, typing._GenericAlias) and origin in _TYPING:
                name = f"typing_{_TYPING[origin]._name}"
                needed[name] = _TYPING[origin]
            else:
                name = self._type_source(origin, needed)
            return f"{name}[{','.join([self._type_source(a, needed) for a in arguments])}]" if arguments else name
        name = getattr(kind, "__name__", None)
        if isinstance(kind, type) and getattr(needed["torch"], name, None) is kind:
            return f"torch.{name}"
        if isinstance(kind, type) and getattr(builtins, name, None) is kind:
            return name
        if isinstance(kind, type) and kind.__module__.startswith("torch."):
            found = needed["torch"]
            for part in (path := _type_text(kind)).split(".")[1:]:
                found = getattr(found, part, None)
            if found is kind:
                return path
        name = re.sub("[^0-9a-zA-Z_]+", "_", _type_text(kind) if kind is not type(None) else "NoneType")
        while needed.get(name, kind) != kind:
            name += "_"
        needed[name] = kind
        return name

    def _expression(self, node, needed):
        args, kwargs = [self._value(a, needed) for a in node.args], [f"{k} = {self._value(v, needed)}" for k, v in node.kwargs.items()]
        call = ", ".join([*args, *kwargs])
        if node.op == "get_attr":
            return _path("self", node.target)
        if node.op == "call_module":
            return f"{_path('self', node.target)}({call})"
        if node.op == "call_method":
            return f"{args[0]}.{node.target}({', '.join([*args[1:], *kwargs])})"
        form = _FORMATS.get(node.target)
        if form is not None and not kwargs and len(args) == form.count("{}"):
            return form.format(*args)
        if node.target is getattr and len(args) == 2 and isinstance(node.args[1], str) and node.args[1].isidentifier():
            return f"{args[0]}.{node.args[1]}"
        return f"{self._function(node.target, needed)}({call})"

    @staticmethod
    def _function(f, needed):
        name = qualified_name(f)
        if name.startswith("builtins."):
            return f.__name__
        if name.startswith("torch.") and getattr(needed["torch"], name.split(".")[1], None) is not None:
            found = needed["torch"]
            for part in name.split(".")[1:]:
                found = getattr(found, part, None)
            if found is f:
                return name
        alias = name.replace(".", "_").replace("<", "_").replace(">", "_")
        while needed.get(alias, f) is not f:
            alias += "_"
        needed[alias] = f
        return alias

    def _value(self, a, needed):
        if isinstance(a, Node):
            return a.name
        if isinstance(a, tuple) and not hasattr(a, "_fields"):
            return f"({', '.join([self._value(x, needed) for x in a])}{',' if len(a) == 1 else ''})"
        if isinstance(a, list):
            return f"[{', '.join([self._value(x, needed) for x in a])}]"
        if isinstance(a, dict):
            return "{" + ", ".join([f"{k!r}: {self._value(v, needed)}" for k, v in a.items()]) + "}"
        if isinstance(a, slice):
            return f"slice({', '.join([self._value(x, needed) for x in (a.start, a.stop, a.step)])})"
        if a is None or a is ... or isinstance(a, (bool, int, float, complex, str, bytes, needed["torch"].dtype, needed["torch"].device)):
            return "Ellipsis" if a is ... else repr(a).replace("torchshim.", "torch.")
        if isinstance(a, type) or callable(a) and hasattr(a, "__name__"):
            return self._function(a, needed)
        alias = f"_{type(a).__name__.lower()}_{sum([k.startswith('_') for k in needed])}"
        needed[alias] = a
        return alias


class _Nodes:
    """The steps of a graph as a sequence that may be changed while it is gone through."""

    def __init__(self, graph):
        self.graph = graph

    def __iter__(self, step="_next"):
        at = getattr(self.graph._root, step)
        while at is not self.graph._root:
            if not at._erased:
                yield at
            at = getattr(at, step)

    def __reversed__(self):
        return self.__iter__("_prev")

    def __len__(self):
        return sum([1 for _ in self])


def _path(start, target):
    for part in target.split("."):
        start = f"{start}.{part}" if part.isidentifier() and not keyword.iskeyword(part) else f'getattr({start}, "{part}")'
    return start
