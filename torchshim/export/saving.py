"""Programs in files. They are torchshim's own: PyTorch's .pt2 archives are not read."""
from __future__ import annotations

import zipfile

from .. import ops, serialization
from .._dispatch.python import unseen
from ..fx.graph import Graph
from ..fx.node import Node, map_aggregate
from ..library.namespaces import OpOverload
from ..nn import Module
from .program import ExportedProgram
from .sizes import DynamicInt, Symbols, SymbolicTensor


class _Step:
    """A step, by its name."""

    def __init__(self, name):
        self.name = name


class _Operator:
    """An operator, by its name."""

    def __init__(self, name):
        self.name = name

    def found(self):
        """The operator of that name."""
        space, _, rest = self.name.partition("::")
        base, _, overload = rest.partition(".")
        return getattr(getattr(getattr(ops, space), base), overload or "default")


def _written(a):
    return map_aggregate(a, lambda x: _Step(x.name) if isinstance(x, Node) else x)


_META = ("nn_module_stack", "stack_trace", "torch_fn")


def save(ep, f, *, extra_files=None, opset_version=None, pickle_protocol=2):
    """Write a program for `load`; only torchshim reads it. TypeError for anything else."""
    if not isinstance(ep, ExportedProgram):
        raise TypeError(f"The 'ep' parameter must be an instance of 'ExportedProgram', got '{type(ep).__name__}' instead.")
    if list(ep.graph_module.named_children()):
        raise NotImplementedError("torchshim: torch.export.save of a program with parts that are modules")
    steps = [(n.op, n.name, _Operator(n.target.name()) if isinstance(n.target, OpOverload) else n.target, _plain(_written(n.args)),
              _plain(_written(n.kwargs)), {k: v for k, v in n.meta.items() if k in _META}, _described(n.meta.get("val")))
              for n in ep.graph.nodes]
    serialization.save({"torchshim_graph": steps, "signature": ep.graph_signature, "state": ep.state_dict, "constants": ep.constants,
                        "ranges": ep.range_constraints, "modules": ep.module_call_graph, "examples": ep.example_inputs,
                        "guards": ep._guards, "dialect": ep.dialect, "extra_files": dict(extra_files or {})}, f)


def _plain(a):
    """Without the containers that graphs keep."""
    if isinstance(a, tuple):
        return tuple([_plain(x) for x in a])
    if isinstance(a, list):
        return [_plain(x) for x in a]
    return {k: _plain(x) for k, x in a.items()} if isinstance(a, dict) else a


def _described(val):
    from .. import Tensor
    if isinstance(val, Tensor):
        with unseen():                         # the example's sizes
            said = "tensor", tuple(val.shape), val.stride(), val.dtype, str(val.device), val.requires_grad
        return (*said, list(val.sizes), val.of.by_name) if isinstance(val, SymbolicTensor) else said
    if isinstance(val, DynamicInt):
        return "size", val.expr, val.of.by_name
    if isinstance(val, (tuple, list)):
        return "several", type(val) is list, [_described(v) for v in val]
    return "value", val


def _valued(said, mode):
    from .. import empty_strided
    if said[0] == "tensor":
        with mode:
            made = empty_strided(said[1], said[2], dtype=said[3], device=said[4], requires_grad=said[5])
        if len(said) > 6:
            made.__class__ = SymbolicTensor
            made.sizes, made.cases, made.of = said[6], (), Symbols(said[7])
        return made
    if said[0] == "size":
        return DynamicInt(Symbols(said[2]), said[1])
    if said[0] == "several":
        made = [_valued(s, mode) for s in said[2]]
        return made if said[1] else tuple(made)
    return said[1]


def load(f, *, extra_files=None, expected_opset_version=None):
    """A program that `save` wrote; like `torch.load(weights_only=False)` it runs what the file says.

    NotImplementedError for PyTorch's files.
    """
    with serialization._opened(f, "rb") as file:
        at = file.tell()
        foreign = zipfile.is_zipfile(file) and not any([n.endswith("/data.pkl") for n in zipfile.ZipFile(file).namelist()])
        file.seek(at)
        found = None if foreign else serialization.load(file, weights_only=False)
    if not isinstance(found, dict) or "torchshim_graph" not in found:
        raise NotImplementedError("torchshim: torch.export.load of a file that PyTorch wrote")
    for k in extra_files or ():
        extra_files[k] = found["extra_files"].get(k, extra_files[k])
    from .._subclasses.fake_tensor import FakeTensorMode
    graph, steps, mode = Graph(), {}, FakeTensorMode()

    def read(a):
        return map_aggregate(a, lambda x: steps[x.name] if isinstance(x, _Step) else x)
    for op, name, target, args, kwargs, meta, val in found["torchshim_graph"]:
        node = graph.create_node(op, target.found() if isinstance(target, _Operator) else target, read(args), read(kwargs), name=name)
        node.meta.update(meta, **({} if op == "output" else {"val": _valued(val, mode)}))
        steps[name] = node
    return ExportedProgram(Module(), graph, found["signature"], found["state"], found["ranges"], found["modules"], found["examples"],
                           found["constants"], guards=found["guards"], dialect=found["dialect"])
