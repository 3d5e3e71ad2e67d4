"""torch.utils.module_tracker: which modules are running, forward or backward."""
from __future__ import annotations

import weakref

from .. import Tensor
from ..autograd.graph import register_multi_grad_hook
from ..autograd.variable import Variable
from ..engine import context
from ..nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from ._pytree import tree_leaves

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """A context in which `parents` is the set of the modules that run, by name: "Global" always, "Net" for an outermost module's class,
    "Net.layers.0" for what is inside of it. In a backward pass a module runs from its result's gradient to its arguments'."""

    def __init__(self):
        self.parents, self._queued = {"Global"}, False
        self._names, self._seen = weakref.WeakKeyDictionary(), weakref.WeakSet()
        self._handles, self._hooks = [], []

    @property
    def is_bw(self):
        """Whether a backward pass runs."""
        return context.modes.get("graph task") is not None

    def _name(self, module):
        name = self._names.setdefault(module, type(module).__name__)
        if module not in self._seen:
            self._seen.add(module)
            for key, child in module.named_children():
                self._names[child] = f"{name}.{key}"
                self._name(child)
        return name

    def _enter(self, name):
        self.parents.add(name)

    def _leave(self, name):
        self.parents.discard(name)

    def _enter_backward(self, name):
        if not self._queued:
            self._queued = True
            Variable._execution_engine.queue_callback(self._end_backward)
        self._enter(name)

    def _end_backward(self):
        self.parents, self._queued = {"Global"}, False

    def _watch(self, values, what, name):
        tensors = [t for t in tree_leaves(values) if isinstance(t, Tensor) and t.requires_grad]
        if tensors:
            self._hooks.append(register_multi_grad_hook(tensors, lambda grads: what(name)))

    def _before(self, module, args):
        name = self._name(module)
        self._enter(name)
        self._watch(args, self._leave, name)

    def _after(self, module, args, result):
        name = self._name(module)
        self._leave(name)
        self._watch(result, self._enter_backward, name)

    def __enter__(self):
        self._handles = [register_module_forward_pre_hook(self._before), register_module_forward_hook(self._after)]
        return self

    def __exit__(self, *exc):
        for handle in self._handles + self._hooks:
            handle.remove()
        self._handles, self._hooks = [], []
