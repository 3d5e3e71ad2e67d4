"""Graph: the steps of a program in their order."""
from __future__ import annotations

import contextlib
import copy
import inspect
import warnings

from ..nn import Module, Parameter
from .codegen import CodeGen, PythonCode, _PyTreeCodeGen, _PyTreeInfo, _snake_case, magic_methods, reflectable_magic_methods    # noqa: F401
from .namespace import Namespace as _Namespace
from .node import Node, _get_qualified_name, _type_repr, map_arg        # noqa: F401

_KINDS = ("placeholder", "call_method", "call_module", "call_function", "get_attr", "output")
_NO_ATTRIBUTE = ("Attempted to insert a get_attr Node with no underlying reference in the owning GraphModule! Call "
                 "GraphModule.add_submodule to add the necessary submodule, GraphModule.add_parameter to add the necessary Parameter, or "
                 "nn.Module.register_buffer to add the necessary buffer")
_NO_MODULE = ("Attempted to insert a call_module Node with no underlying reference in the owning GraphModule! Call "
              "GraphModule.add_submodule to add the necessary submodule")


def _is_attribute(module, name):
    """Whether a module has a parameter, buffer or module of a dotted name; warns where a module on the way is missing."""
    path, _, leaf = name.rpartition(".")
    try:
        holder = module.get_submodule(path)
    except AttributeError:
        warnings.warn(f"Failed to fetch module {path}!", stacklevel=3)
        return False
    return isinstance(getattr(holder, leaf, None), (Module, Parameter)) or leaf in holder._buffers


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
        self._insert, self._graph_namespace, self._codegen = self._root.prepend, _Namespace(), CodeGen()
        self.owning_module, self._tracer_cls, self._tracer_extras = owning_module, tracer_cls, tracer_extras
        self._co_fields = {}

    @property
    def nodes(self):
        """The steps, in order."""
        return _node_list(self)

    # -- adding ------------------------------------------------------------------------------------------------------------------
    def create_node(self, op, target, args=None, kwargs=None, name=None, type_expr=None):
        """Add a step; its name is made from the target unless given."""
        if op not in _KINDS:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        args, kwargs = () if args is None else args, {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError(f"args must be a tuple, got {type(args)}")
        if not isinstance(kwargs, dict):
            raise AssertionError(f"kwargs must be a dict, got {type(kwargs)}")
        name = self._graph_namespace.create_name(name if name is not None else self._target_to_str(target))
        node = Node(self, name, op, target, args, kwargs, type_expr)
        self._graph_namespace.associate_name_with_obj(name, node)
        self._insert(node)
        return node

    @staticmethod
    def _target_to_str(target):
        if callable(target):
            name = target.__name__
        else:
            if not isinstance(target, str):
                raise AssertionError(f"Expected target to be str, got {type(target)}")
            name = target
        if name.startswith("__") and name.endswith("__"):
            name = name[2:-2]
        return _snake_case(name)

    def placeholder(self, name, type_expr=None, default_value=inspect.Signature.empty):
        """A parameter of the program."""
        return self.create_node("placeholder", name, () if default_value is inspect.Signature.empty else (default_value,),
                                type_expr=type_expr)

    def get_attr(self, qualified_name, type_expr=None):
        """A parameter, buffer or other attribute of the module; warns where that has none."""
        if self.owning_module and not _is_attribute(self.owning_module, qualified_name):
            warnings.warn(_NO_ATTRIBUTE, stacklevel=2)
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name, args=None, kwargs=None, type_expr=None):
        """A call of a submodule. AttributeError where the module has none of that name."""
        if self.owning_module and self.owning_module.get_submodule(module_name) is None:
            warnings.warn(_NO_MODULE, stacklevel=2)
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
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = copy.copy(node.meta)
        return made

    def graph_copy(self, g, val_map, return_output_node=False):
        """Add copies of another graph's steps; val_map gets {step there: step here}. Returns what it returns, None without an output."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], val_map.__getitem__)
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, val_map.__getitem__)
        return None

    # -- changing ------------------------------------------------------------------------------------------------------------------
    def inserting_before(self, n=None):
        """Steps are added before n (before the first if none is given) from now on, or for as long as what is returned is a context."""
        return self.inserting_after(self._root) if n is None else _Inserting(self, n, n.prepend)

    def inserting_after(self, n=None):
        """Steps are added right after n, the latest first (at the end if none is given), from now on, or for as long as what is returned is
        a context."""
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
        to_erase._remove_from_list()
        to_erase._erased = True
        to_erase._update_args_kwargs((), {})
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
        """RuntimeError where a step uses one that comes later or is not of this graph,
        where a name comes twice or an attribute is missing."""
        seen, names = set(), set()
        for node in self.nodes:
            if node.op not in _KINDS:
                raise RuntimeError(f"Node {node} had unknown opcode {node.op}!")
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for n in node.all_input_nodes:
                if n.graph is not self:
                    raise RuntimeError(f"Argument '{n}' of Node '{node}' does not belong to this Graph, but was used as an argument! If "
                                       f"you are copying nodes from another graph, make sure to use ``arg_transform`` on node_copy() to "
                                       f"remap values\n{self}")
                if n not in seen:
                    raise RuntimeError(f"Argument '{n}' of Node '{node}' was used before it has been defined! Please check that Nodes in "
                                       f"the graph are topologically ordered\n{self}")
            seen.add(node)
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            names.add(node.name)
        if self.owning_module:
            for node in self.nodes:
                if node.op in ("get_attr", "call_module"):
                    self._lint_target(node)

    def _lint_target(self, node):
        parts, at = node.target.split("."), self.owning_module
        for k, part in enumerate(parts):
            found = getattr(at, part, None)
            where = ".".join(parts[:k])
            if found is None:
                raise RuntimeError(f"Node {node} target {node.target} references nonexistent attribute {part} of {where}")
            if k + 1 == len(parts):
                if node.op == "call_module" and not isinstance(found, Module):
                    raise RuntimeError(f"Node {node} target {node.target} {part} of {where} does not reference an nn.Module")
                if node.op == "get_attr" and not isinstance(found, (Module, Parameter)) and part not in at._buffers:
                    warnings.warn(f"Node {node} target {node.target} {part} of {where} does not reference an nn.Module, nn.Parameter, or "
                                  "buffer, which is what 'get_attr' Nodes typically target", stacklevel=3)
            at = found

    def find_nodes(self, *, op, target=None, sort=True):
        """The steps of a kind, in order; of calls of a function those of this one. AssertionError for such without a target."""
        if op == "call_function" and target is None:
            raise AssertionError("target must not be None for call_function op")
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    def output_node(self):
        """The output."""
        return next(n for n in reversed(self.nodes) if n.op == "output")

    def __deepcopy__(self, memo=None):
        g = Graph(tracer_cls=self._tracer_cls)
        val_map = memo if memo else {}
        result = g.graph_copy(self, val_map, return_output_node=True)
        g._codegen = copy.deepcopy(self._codegen)
        if result is not None:
            new = g.output(result[0], type_expr=getattr(result[1], "type", None))
            new.meta = copy.copy(result[1].meta)
        return g

    # -- as text -----------------------------------------------------------------------------------------------------------------
    def __str__(self):
        return "\n    ".join(["graph():", *[n.format_node() for n in self.nodes]])

    def print_tabular(self):
        """Print the steps as a table, spaced as the package tabulate does it for PyTorch."""
        rows = [("opcode", "name", "target", "args", "kwargs")]
        rows += [(n.op, n.name, str(n.target), str(n.args), str(n.kwargs)) for n in self.nodes]
        widths = [max(len(rows[0][k]) + 2, *[len(r[k]) for r in rows]) for k in range(5)]
        lines = ["  ".join([c.ljust(w) for c, w in zip(r, widths)]).rstrip() for r in rows]
        print("\n".join([lines[0], "  ".join(["-" * w for w in widths]), *lines[1:]]))

    # -- as code -----------------------------------------------------------------------------------------------------------------
    def python_code(self, root_module, *, verbose=False, include_stride=False, include_device=False, colored=False, expanded_def=False,
                    record_func=False, additional_meta=None):
        """The program as a function `forward(self, ...)`: `src`, and the `globals` that it needs. root_module: what it calls the module.

        verbose: with the places where the program made the steps.
        """
        if include_stride or include_device or expanded_def or record_func or additional_meta:
            raise NotImplementedError("torchshim: python_code with more than verbose")
        namespace, nodes = _Namespace(), list(self.nodes)
        before = [n._repr_fn for n in nodes]
        for n in nodes:
            n._repr_fn = lambda node: namespace.create_name(node.name, node)
        try:
            return self._codegen._gen_python_code(nodes, root_module, namespace, verbose=verbose)
        finally:
            for n, how in zip(nodes, before):
                n._repr_fn = how

    def set_codegen(self, codegen):
        """Let another CodeGen write the code."""
        self._codegen = codegen

    def process_inputs(self, *args):
        """The values of the placeholders, from the arguments of a call."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out):
        """What a call returns, from the value of the output."""
        return self._codegen.process_outputs(out)

    def on_generate_code(self, make_transformer):
        """Have the code changed. make_transformer: from the transformer that there is, or None, a function (lines) -> lines.

        The lines are those of the body. As a context it lasts as long as that.
        """
        before = self._codegen._body_transformer
        self._codegen._body_transformer = make_transformer(before)

        @contextlib.contextmanager
        def until():
            try:
                yield
            finally:
                self._codegen._body_transformer = before
        return until()


class _node_list:
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
