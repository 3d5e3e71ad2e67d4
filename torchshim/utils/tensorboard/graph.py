"""A model's graph for TensorBoard: the functions that one call of it uses, in the folders of its modules."""
from __future__ import annotations

from ... import Tensor
from ...nn.modules import module as hooks
from ...overrides import TorchFunctionMode, resolve_name
from .events import data, integer


def _shapes(value):
    """An attribute of TensorFlow's graphs: the shapes of a node's results."""
    found = [v for v in (value if isinstance(value, (tuple, list)) else (value,)) if isinstance(v, Tensor)]
    shapes = b"".join([data(7, b"".join([data(2, integer(1, n)) for n in t.shape])) for t in found])
    return data(5, data(1, "_output_shapes") + data(2, data(1, shapes)))


class _Watch(TorchFunctionMode):
    """Notes each public function that makes tensors of tensors."""

    def __init__(self):
        super().__init__()
        self.nodes, self.made, self.scope, self.taken, self.kept = [], {}, [], {}, []

    def name(self, last):
        path = "/".join([*self.scope, last])
        n = self.taken[path] = self.taken.get(path, 0) + 1
        return path if n == 1 else f"{path}_{n - 1}"

    def add(self, name, op, inputs, value):
        body = data(1, name) + data(2, op) + b"".join([data(3, i) for i in dict.fromkeys(inputs)]) + _shapes(value)
        self.nodes.append(data(1, body))
        for v in value if isinstance(value, (tuple, list)) else (value,):
            if isinstance(v, Tensor):
                self.kept.append(v)            # alive while its id is a key
                self.made[id(v)] = name

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        found = result if isinstance(result, (tuple, list)) else (result,)
        if any([isinstance(v, Tensor) for v in found]):
            said = (resolve_name(func) or getattr(func, "__name__", "op")).removesuffix(".__get__").rpartition(".")[2].strip("_")
            self.add(self.name(said), f"aten::{said}", self.inputs((args, kwargs or {})), result)
        return result

    def inputs(self, value):
        if isinstance(value, Tensor):
            return [self.made[id(value)]] if id(value) in self.made else []
        if isinstance(value, dict):
            value = value.values()
        elif not isinstance(value, (tuple, list)):
            return []
        return [n for v in value for n in self.inputs(v)]


def graph(model, args):
    """An encoded GraphDef of `model(*args)`."""
    args = args if isinstance(args, tuple) else (args,)
    watch = _Watch()
    names = {m: name.rpartition(".")[2] for name, m in model.named_modules()}
    for k, a in enumerate(args):
        if isinstance(a, Tensor):
            watch.add(f"input/input_{k}", "IO Node", [], a)

    def enter(m, inputs):
        if m in names:
            watch.scope.append(f"{type(m).__name__}[{names[m]}]" if names[m] else type(m).__name__)
            for n, p in m.named_parameters(recurse=False):
                if id(p) not in watch.made:
                    watch.add("/".join([*watch.scope, n]), "prim::GetAttr", [], p)

    def leave(m, inputs, output):
        if m in names:
            watch.scope.pop()
    handles = [hooks.register_module_forward_pre_hook(enter), hooks.register_module_forward_hook(leave, always_call=True)]
    training = model.training
    try:
        model.train(False)
        with watch:
            result = model(*args)
    finally:
        model.train(training)
        for h in handles:
            h.remove()
    for k, v in enumerate(result if isinstance(result, (tuple, list)) else (result,)):
        if isinstance(v, Tensor):
            watch.add(f"output/output_{k}", "IO Node", watch.inputs(v), v)
    return b"".join(watch.nodes) + data(4, integer(1, 22))
