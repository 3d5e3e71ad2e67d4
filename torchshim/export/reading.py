"""A program from the JSON of a PyTorch .pt2 archive. What it names is looked up among operators: nothing that the file says is run."""
from __future__ import annotations

import functools
import math
import operator
import re

from .. import empty_strided, ops
from .._ops import HigherOrderOperator
from .._subclasses.fake_tensor import FakeTensorMode
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import Node
from ..library.namespaces import OpOverload
from ..nn import Module
from ..utils import _pytree as pytree
from . import expressions
from .codes import FORMATS, LAYOUTS, device_of, dtype_of, named
from .graph_signature import (ConstantArgument, ExportGraphSignature, InputKind, InputSpec, OutputKind, OutputSpec, SymIntArgument,
                              TensorArgument)
from .program import ExportedProgram, ModuleCallEntry, ModuleCallSignature
from .sizes import DynamicInt, Expr, Key, Symbol, Symbols, SymbolicTensor, ValueRanges, int_oo
from .tracing import entry
from .writing import OUTPUTS, SCHEMA

#: Python's operators that programs compute sizes with.
_ON_SIZES = frozenset("add sub mul floordiv truediv mod neg pow eq ne lt le gt ge and_ or_ not_".split())


def program(said, weights, constants, examples):
    """The program of a whole JSON and the tensors beside it. NotImplementedError for what is not known, and for another schema."""
    version = said["schema_version"]
    if version["major"] != SCHEMA["major"]:
        raise NotImplementedError(f"torchshim: exported programs of schema {version['major']}.{version['minor']}; "
                                  f"{SCHEMA['major']}.{SCHEMA['minor']} is known")
    module = said["graph_module"]
    ranges = {name: (r["min_val"], r["max_val"]) for name, r in said["range_constraints"].items()}
    symbols = Symbols(_symbols(module["graph"], ranges))
    read = _Graph(module["graph"], symbols)
    ins = [_input_spec(s) for s in module["signature"]["input_specs"]]
    root, graph = read.made([s.arg.name for s in ins])
    outs = [_output_spec(s) for s in module["signature"]["output_specs"]]
    entries = [ModuleCallEntry(e["fqn"], _call(e["signature"])) for e in module["module_call_graph"]]
    top = entries[0].signature
    guards = list(zip(_guarded(top), [_want(n.meta["val"]) for n, s in zip(graph.nodes, ins) if s.kind is InputKind.USER_INPUT]))
    return ExportedProgram(root, graph, ExportGraphSignature(ins, outs), weights,
                           {Key(n): ValueRanges(low, int_oo if most is None else most) for n, (low, most) in ranges.items()}, entries, examples,
                           constants, guards=([(name, *want) for name, want in guards],
                                              {n: (ranges[n][0] or 0, ranges[n][1]) for n in symbols.by_name if n in ranges}),
                           dialect=(said.get("verifiers") or ["TRAINING"])[0])


def _call(s):
    if s is None:
        return None
    names = s.get("forward_arg_names")
    return ModuleCallSignature([], [], pytree.treespec_loads(s["in_spec"]), pytree.treespec_loads(s["out_spec"]),
                               None if names is None else [_name(n) for n in names])


def _guarded(top):
    """How refusals call the inputs: x, d['key'][0]."""
    args, kwargs = pytree.tree_unflatten(list(range(top.in_spec.num_leaves)), top.in_spec)
    names = (top.forward_arg_names or [])[:len(args)]
    names += [f"arg_{k}" for k in range(len(names), len(args))]
    return [n + "".join([str(p) for p in path]) for n, x in [*zip(names, args), *kwargs.items()]
            for path, _ in pytree.tree_leaves_with_path(x)]


def _want(val):
    """(what an input is to be, {dimension: its size as an Expr})."""
    if isinstance(val, SymbolicTensor):
        return tuple([e if isinstance(e, int) else e.at(val.of.cases[0]) for e in val.sizes]), {
            k: e for k, e in enumerate(val.sizes) if not isinstance(e, int)}
    return (tuple(val.shape), {}) if hasattr(val, "shape") else (val, {})


def _symbols(graph, ranges):
    """{name: Symbol} of all that sizes in a graph are made of."""
    hints = {}
    for said in [s for m in graph["tensor_values"].values() for s in m["sizes"]] + list(graph["sym_int_values"].values()):
        if "as_expr" in said:
            expr = expressions.read(said["as_expr"]["expr_str"])
            hint = (said["as_expr"].get("hint") or {}).get("as_int")
            for name in expr.symbols():
                hints.setdefault(name, None)
            if expr.symbol() is not None and hint is not None:
                hints[expr.symbol()] = hint
    found = {}
    for name, hint in hints.items():
        low, most = ranges.get(name, (0, None))
        low = 0 if low is None or low == -math.inf else low
        found[name] = Symbol(name, max(low, 2) if hint is None else hint, low, most, None, False, name)
    return found


def _plain(said):
    (kind, x), = said.items()
    return None if kind == "as_none" else float(x) if kind == "as_float" else x


def _argument(said):
    (kind, x), = said.items()
    if kind == "as_tensor":
        return TensorArgument(x["name"])
    if kind == "as_sym_int" and "as_name" in x:
        return SymIntArgument(x["as_name"])
    if kind in ("as_none", "as_bool", "as_int", "as_float", "as_string"):
        return ConstantArgument("", _plain(said))
    raise NotImplementedError(f"torchshim: an exported program with an input or output that is {kind}")


def _input_spec(said):
    (kind, s), = said.items()
    if kind == "user_input":
        return InputSpec(InputKind.USER_INPUT, _argument(s["arg"]), None)
    if kind == "constant_input":
        return InputSpec(InputKind.USER_INPUT, ConstantArgument(s["name"], _plain(s["value"])), None)
    if kind == "parameter":
        return InputSpec(InputKind.PARAMETER, TensorArgument(s["arg"]["name"]), _path(s["parameter_name"]))
    if kind == "buffer":
        return InputSpec(InputKind.BUFFER, TensorArgument(s["arg"]["name"]), _path(s["buffer_name"]), s["persistent"])
    if kind == "tensor_constant":
        return InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(s["arg"]["name"]), _path(s["tensor_constant_name"]))
    raise NotImplementedError(f"torchshim: an exported program with an input that is {kind}")


def _output_spec(said):
    (kind, s), = said.items()
    if kind == "user_output":
        return OutputSpec(OutputKind.USER_OUTPUT, _argument(s["arg"]), None)
    for known, (name, target) in OUTPUTS.items():
        if name == kind:
            return OutputSpec(known, TensorArgument(s["arg"]["name"]), s.get(target))
    raise NotImplementedError(f"torchshim: an exported program with an output that is {kind}")


def _operator(target):
    """What a step calls: one of torch's operators, of a program's own, or of Python's."""
    space, _, name = target.rpartition(".")
    if space == "_operator" and name in _ON_SIZES:
        return getattr(operator, name)
    found = None
    if target.startswith("torch.ops."):
        try:
            found = functools.reduce(getattr, target.split(".")[2:], ops)
        except AttributeError:
            pass
    if not isinstance(found, (OpOverload, HigherOrderOperator)):
        raise NotImplementedError(f"torchshim: an exported program that calls {target}")
    return found


def _name(text):
    """A name that becomes part of a graph's Python code; ValueError for anything else."""
    if not text.isidentifier():
        raise ValueError(f"{text!r} is not a name")
    return text


def _path(text):
    """The place of a tensor in a module, which becomes part of a graph's Python code, too."""
    if not re.fullmatch(r"\w+(\.\w+)*", text):
        raise ValueError(f"{text!r} is not a place in a module")
    return text


class _Graph:
    """A graph being read: of a program, or of a part that an operator takes."""

    def __init__(self, said, symbols):
        self.said, self.symbols, self.root, self.graph, self.steps, self.fake = said, symbols, Module(), Graph(), {}, FakeTensorMode()

    def made(self, names):
        """(module with its parts, graph); names: those of the inputs, of which some are numbers."""
        for given, name in zip(self.said["inputs"], names):
            (kind, x), = given.items()
            name = x["name"] if kind == "as_tensor" else x["as_name"] if kind == "as_sym_int" else name
            self.steps[name] = entry(self.graph, _name(name))
            self.steps[name].meta["val"] = self.value(name) if kind in ("as_tensor", "as_sym_int") else _plain(given)
        for node in self.said["nodes"]:
            self.call(node)
        returned = [self.argument(x) for x in self.said["outputs"]]
        out = self.graph.output(returned[0] if self.said["is_single_tensor_return"] else tuple(returned))
        out.meta["val"] = tuple([x.meta.get("val") if isinstance(x, Node) else x for x in returned])
        return self.root, self.graph

    def step(self, target, args, kwargs, name, meta):
        """A new call, of which `meta` and its value are told."""
        made = self.steps[name] = self.graph.create_node("call_function", target, args, kwargs, name=_name(name))
        made.meta.update(meta, val=self.value(name))

    def value(self, name):
        """What stands for the tensor or the size of that name."""
        if name in self.said["sym_int_values"]:
            size = self.size(self.said["sym_int_values"][name])
            return DynamicInt(self.symbols, size) if isinstance(size, Expr) else size
        meta = self.said["tensor_values"].get(name)
        if meta is None:
            return None
        sizes = [self.size(s) for s in meta["sizes"]]
        at = lambda e: e.at(self.symbols.cases[0]) if isinstance(e, Expr) else e
        with self.fake:
            made = empty_strided([at(e) for e in sizes], [at(self.size(s)) for s in meta["strides"]], dtype=dtype_of(meta["dtype"]),
                                 device=device_of(meta["device"]), requires_grad=meta["requires_grad"])
        if any([isinstance(e, Expr) for e in sizes]):
            made.__class__ = SymbolicTensor
            made.sizes, made.cases, made.of = sizes, (), self.symbols
        return made

    @staticmethod
    def size(said):
        """A number or an Expr."""
        if "as_int" in said:
            return said["as_int"]
        expr = expressions.read(said["as_expr"]["expr_str"])
        return expr if expr.constant() is None else expr.constant()

    def call(self, node):
        """A call of an operator, and what takes its results apart."""
        args, kwargs = [], {}
        target = _operator(node["target"])
        for given in node["inputs"]:
            if given.get("kind") == 2 or given.get("kind") is None and self.by_name(target, given["name"]):
                kwargs[_name(given["name"])] = self.argument(given["arg"])
            else:
                args.append(self.argument(given["arg"]))
        outputs, meta, single = node["outputs"], _metadata(node["metadata"]), node.get("is_hop_single_tensor_return")
        name = node.get("name")
        if len(outputs) == 1 and "as_tensors" not in outputs[0] and single is not False:
            (kind, x), = outputs[0].items()
            name = x.get("name") or x.get("as_name") if isinstance(x, dict) else name
            self.step(target, tuple(args), kwargs, name, meta)
            return
        several = outputs[0]["as_tensors"] if len(outputs) == 1 and "as_tensors" in outputs[0] else [
            o.get("as_tensor") or o.get("as_sym_int") for o in outputs]
        names = [None if x is None else x.get("name") or x["as_name"] for x in several]
        whole = self.graph.create_node("call_function", target, tuple(args), kwargs, name=name and _name(name))
        whole.meta.update(meta)
        for k, n in enumerate(names):
            if n is not None:
                self.step(operator.getitem, (whole, k), {}, n, meta)
        if outputs:
            whole.meta["val"] = tuple([None if n is None else self.steps[n].meta["val"] for n in names])

    @staticmethod
    def by_name(target, name):
        """Whether an operator takes an argument by its name only."""
        schema = getattr(target, "_schema", None)
        return schema is not None and any([a.name == name and a.kwarg_only for a in schema.arguments])

    def argument(self, said):
        """An argument of a step."""
        (kind, x), = said.items()
        one = _ONE.get(kind)
        if one is not None:
            return one(self, x)
        if kind.endswith("s") and kind[:-1] in _ONE:
            return [_ONE[kind[:-1]](self, y) for y in x]
        if kind == "as_graph":
            root, graph = _Graph(x["graph"], self.symbols).made([None] * len(x["graph"]["inputs"]))
            name = _name(x["name"])
            self.root.add_module(name, GraphModule(root, graph, name))
            return self.graph.create_node("get_attr", name, (), {}, name=name)
        raise NotImplementedError(f"torchshim: an exported program with an argument {kind}")


_ONE = {
    "as_none": lambda g, x: None, "as_tensor": lambda g, x: g.steps[x["name"]], "as_int": lambda g, x: x, "as_float": lambda g, x: float(x),
    "as_string": lambda g, x: x, "as_bool": lambda g, x: x, "as_scalar_type": lambda g, x: dtype_of(x),
    "as_sym_int": lambda g, x: g.steps[x["as_name"]] if "as_name" in x else x["as_int"],
    "as_sym_bool": lambda g, x: g.steps[x["as_name"]] if "as_name" in x else x["as_bool"],
    "as_sym_float": lambda g, x: g.steps[x["as_name"]] if "as_name" in x else float(x["as_float"]),
    "as_layout": lambda g, x: named(LAYOUTS, x), "as_memory_format": lambda g, x: named(FORMATS, x),
    "as_device": lambda g, x: device_of(x), "as_complex": lambda g, x: complex(float(x["real"]), float(x["imag"])),
    "as_optional_tensor": lambda g, x: None if "as_none" in x else g.steps[x["as_tensor"]["name"]],
    "as_int_list": lambda g, x: list(x), "as_float_list": lambda g, x: [float(y) for y in x],
    "as_nested_tensor": lambda g, x: [g.steps[y["name"]] for y in x]}


def _metadata(said):
    found = {}
    if "stack_trace" in said:
        found["stack_trace"] = said["stack_trace"]
    if said.get("nn_module_stack"):
        entries = [e.split(",") for e in said["nn_module_stack"].split(";")]
        found["nn_module_stack"] = {e[0]: (",".join(e[1:-1]), e[-1]) for e in entries}
    if said.get("torch_fn"):
        found["torch_fn"] = tuple(said["torch_fn"].split(";"))
    return found
