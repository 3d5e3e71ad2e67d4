"""A program as the JSON of a PyTorch .pt2 archive (schema 8.20)."""
from __future__ import annotations

import operator

import torchshim as torch

from .. import Tensor
from .._ops import HigherOrderOperator
from .._toplevel import SymInt
from ..fx.node import Node
from ..library.namespaces import OpOverload
from ..utils import _pytree as pytree
from . import expressions
from .archive import tensor_meta
from .codes import FORMATS, LAYOUTS, NUMBERS, device_written, float_written
from .graph_signature import ConstantArgument, InputKind, OutputKind, SymIntArgument
from .sizes import SymbolicTensor, int_oo

SCHEMA = {"major": 8, "minor": 20}


def program(ep):
    """The whole JSON of a program, without its tensors."""
    graph = _Graph(ep.graph_module)
    signature = {"input_specs": [_input_spec(s) for s in ep.graph_signature.input_specs],
                 "output_specs": [_output_spec(s) for s in ep.graph_signature.output_specs]}
    return {"graph_module": {"graph": graph.written(), "signature": signature, "module_call_graph": [_call(c) for c in ep.module_call_graph],
                             "metadata": {}, "treespec_namedtuple_fields": {}},
            "opset_version": {"aten": 10}, "range_constraints": {str(k): _range(v) for k, v in ep.range_constraints.items()},
            "schema_version": SCHEMA, "verifiers": [ep.dialect], "torch_version": torch.__version__, "guards_code": []}


def _range(r):
    return {"min_val": int(r.lower), "max_val": None if r.upper == int_oo else int(r.upper)}


def _call(entry):
    s = entry.signature
    return {"fqn": entry.fqn, "signature": None if s is None else {
        "inputs": [], "outputs": [], "in_spec": pytree.treespec_dumps(s.in_spec), "out_spec": pytree.treespec_dumps(s.out_spec),
        "forward_arg_names": s.forward_arg_names}}


def _plain(x):
    """A number, a string or None."""
    if x is None:
        return {"as_none": True}
    for cls, kind in ((bool, "as_bool"), (int, "as_int"), (float, "as_float"), (str, "as_string")):
        if type(x) is cls:
            return {kind: float_written(x) if cls is float else x}
    raise NotImplementedError(f"torchshim: torch.export.save of a program with a {type(x).__name__} among its constants")


def _argument(arg):
    if isinstance(arg, ConstantArgument):
        return _plain(arg.value)
    return {"as_sym_int": {"as_name": arg.name}} if isinstance(arg, SymIntArgument) else {"as_tensor": {"name": arg.name}}


def _input_spec(s):
    kind, name = s.kind, {"name": s.arg.name}
    if kind is InputKind.USER_INPUT:
        if isinstance(s.arg, ConstantArgument):
            return {"constant_input": {**name, "value": _plain(s.arg.value)}}
        return {"user_input": {"arg": _argument(s.arg)}}
    if kind is InputKind.PARAMETER:
        return {"parameter": {"arg": name, "parameter_name": s.target}}
    if kind is InputKind.BUFFER:
        return {"buffer": {"arg": name, "buffer_name": s.target, "persistent": bool(s.persistent)}}
    if kind is InputKind.CONSTANT_TENSOR:
        return {"tensor_constant": {"arg": name, "tensor_constant_name": s.target}}
    raise NotImplementedError(f"torchshim: torch.export.save of a program with an input that is {kind.name}")


#: Kinds of outputs: how they are called, and what they are written to or belong to.
OUTPUTS = {OutputKind.LOSS_OUTPUT: ("loss_output", None), OutputKind.BUFFER_MUTATION: ("buffer_mutation", "buffer_name"),
           OutputKind.PARAMETER_MUTATION: ("parameter_mutation", "parameter_name"),
           OutputKind.USER_INPUT_MUTATION: ("user_input_mutation", "user_input_name"),
           OutputKind.GRADIENT_TO_PARAMETER: ("gradient_to_parameter", "parameter_name"),
           OutputKind.GRADIENT_TO_USER_INPUT: ("gradient_to_user_input", "user_input_name")}


def _output_spec(s):
    if s.kind is OutputKind.USER_OUTPUT:
        return {"user_output": {"arg": _argument(s.arg)}}
    if s.kind not in OUTPUTS:
        raise NotImplementedError(f"torchshim: torch.export.save of a program with an output that is {s.kind.name}")
    kind, target = OUTPUTS[s.kind]
    return {kind: {"arg": {"name": s.arg.name}, **({} if target is None else {target: s.target})}}


def _meta(t):
    return tensor_meta(t, [_size(e, t.of) for e in t.sizes] if isinstance(t, SymbolicTensor) else None)


def _size(e, of):
    if isinstance(e, int):
        return {"as_int": e}
    return {"as_expr": {"expr_str": expressions.written(e), "hint": {"as_int": e.at(of.cases[0])}}}


class _Graph:
    """A graph being written: of a program, or of a part that an operator takes."""

    def __init__(self, module):
        self.module, self.tensors, self.sizes, self.names = module, {}, {}, {}

    def written(self):
        """Its JSON."""
        inputs, nodes, outputs, single = [], [], [], False
        for node in self.module.graph.nodes:
            if node.op == "placeholder":
                val = node.meta.get("val")
                inputs.append(self.value(node) if isinstance(val, (Tensor, SymInt)) else _plain(val))
            elif node.op == "output":
                returned, = node.args
                single = isinstance(returned, Node)
                outputs = [self.argument(x, "") for x in ([returned] if single else returned)]
            elif node.op == "call_function" and node.target is not operator.getitem:
                nodes.append(self.step(node))
            elif node.op not in ("get_attr", "call_function"):
                raise NotImplementedError(f"torchshim: torch.export.save of a step that is a {node.op}")
        return {"inputs": inputs, "outputs": outputs, "nodes": nodes, "tensor_values": self.tensors, "sym_int_values": self.sizes,
                "sym_bool_values": {}, "is_single_tensor_return": single, "custom_obj_values": {}, "sym_float_values": {}}

    def step(self, node):
        """A call of an operator."""
        target, whole = node.target, isinstance(node.target, HigherOrderOperator)
        if isinstance(target, OpOverload):
            said = f"torch.ops.{target.namespace}.{target._overloadpacket.__name__}.{target._overloadname}"
        elif whole:
            said = f"torch.ops.higher_order.{target.name()}"
        elif getattr(target, "__module__", None) == "_operator":
            said = f"_operator.{target.__name__}"
        else:
            raise NotImplementedError(f"torchshim: torch.export.save of a step that calls {target}")
        kinds = {} if whole else self.kinds(target)
        names = list(kinds) or ([] if whole else ["a", "b"])
        given = [{"name": names[k] if k < len(names) else "", "arg": self.argument(x, kinds.get(names[k], "") if k < len(names) else ""),
                  "kind": 1} for k, x in enumerate(node.args)]
        given += [{"name": name, "arg": self.argument(x, kinds.get(name, "")), "kind": 2} for name, x in node.kwargs.items()]
        return {"target": said, "inputs": given, "outputs": self.results(node, whole), "metadata": _metadata(node.meta),
                "is_hop_single_tensor_return": isinstance(node.meta.get("val"), Tensor) if whole else None, "name": node.name}

    @staticmethod
    def kinds(target):
        """{name: type} of an operator's arguments."""
        schema = getattr(target, "_schema", None)
        return {a.name: a.type for a in schema.arguments} if schema is not None else {}

    def results(self, node, whole):
        """What a step makes; of several results those that nobody takes have names too."""
        val = node.meta.get("val")
        if val is None:
            return []
        if not isinstance(val, (tuple, list)):
            return [self.value(node)]
        taken = {user.args[1]: user for user in node.users if user.target is operator.getitem}
        if len(taken) < len(node.users) or any([not isinstance(v, Tensor) for v in val]):
            raise NotImplementedError(f"torchshim: torch.export.save of a program that passes on all results of {node.name} at once")
        made = []
        for k, v in enumerate(val):
            name = taken[k].name if k in taken else f"{node.name}_unused_{k}"
            self.tensors[name] = _meta(taken[k].meta["val"] if k in taken else v)
            made.append({"name": name})
        returns = getattr(getattr(node.target, "_schema", None), "returns", None)
        if returns is not None and len(returns) == 1:
            return [{"as_tensors": made}]
        return [{"as_tensor": m} for m in made]

    def value(self, node):
        """A step as an argument, noted with what is known of it."""
        val = node.meta["val"]
        if isinstance(val, Tensor):
            self.tensors[node.name] = _meta(val)
            return {"as_tensor": {"name": node.name}}
        if isinstance(val, SymInt):
            self.sizes[node.name] = _size(val.expr, val.of)
            return {"as_sym_int": {"as_name": node.name}}
        raise NotImplementedError(f"torchshim: torch.export.save of a program in which {node.name} is a {type(val).__name__}")

    def argument(self, x, kind):
        """An argument of the schema's type `kind`."""
        if isinstance(x, Node):
            if x.op == "get_attr":
                return {"as_graph": {"name": x.target, "graph": _Graph(self.module.get_submodule(x.target)).written()}}
            return self.value(x)
        if isinstance(x, (tuple, list)):
            return self.several(list(x), kind)
        for cls, name, table in ((torch.dtype, "as_scalar_type", NUMBERS), (torch.layout, "as_layout", LAYOUTS),
                                 (torch.memory_format, "as_memory_format", FORMATS)):
            if isinstance(x, cls):
                return {name: table[x]}
        if isinstance(x, torch.device):
            return {"as_device": device_written(x)}
        if isinstance(x, complex):
            return {"as_complex": {"real": float_written(x.real), "imag": float_written(x.imag)}}
        return _plain(x)

    def several(self, xs, kind):
        """A list."""
        if "Tensor" in kind and None in xs:
            return {"as_optional_tensors": [{"as_none": True} if x is None else self.value(x) for x in xs]}
        sizes = [isinstance(x, Node) and isinstance(x.meta.get("val"), SymInt) for x in xs]
        if any(sizes):
            return {"as_sym_ints": [self.value(x)["as_sym_int"] if s else {"as_int": int(x)} for x, s in zip(xs, sizes)]}
        if xs and all([isinstance(x, Node) for x in xs]) or not xs and "Tensor" in kind:
            return {"as_tensors": [self.value(x)["as_tensor"] for x in xs]}
        for cls, name in ((bool, "as_bools"), (int, "as_ints"), (float, "as_floats"), (str, "as_strings")):
            if all([type(x) is cls for x in xs]) and (xs or cls is int):
                return {name: [float_written(x) if cls is float else x for x in xs]}
        raise NotImplementedError(f"torchshim: torch.export.save of a program with the argument {xs}")


def _metadata(meta):
    found = {}
    if meta.get("stack_trace"):
        found["stack_trace"] = meta["stack_trace"]
    if meta.get("nn_module_stack"):
        found["nn_module_stack"] = ";".join([f"{key},{path},{cls}" for key, (path, cls) in meta["nn_module_stack"].items()])
    if meta.get("torch_fn"):
        found["torch_fn"] = ";".join(meta["torch_fn"])
    return found
