"""Hooks around a module's call, and the identity that watches gradients for backward hooks."""
from __future__ import annotations

import warnings
import weakref

from ...engine import user_site
from ...ops.registry import T, op
from ...tensor.core.dispatch import apply
from ...tensor.core.graph import Node, RemovableHandle
from ...tensor.core.handle import edge
from ...tensor.core.tensor import Tensor


class Handle(RemovableHandle):
    """Removes a hook, and the marks that were set for it."""

    def __init__(self, hooks, extra_dict=None):
        super().__init__(hooks)
        self.marks = () if extra_dict is None else tuple(extra_dict) if isinstance(extra_dict, (list, tuple)) else (extra_dict,)

    def remove(self):
        super().remove()
        for d in self.marks:
            d.pop(self.id, None) if isinstance(d, dict) else d.discard(self.id)


def add(hooks, hook, prepend=False, marks=()):
    """Put `hook` last (or first) into `hooks`; marks are dicts where its id is noted."""
    handle = Handle(hooks, list(marks))
    hooks[handle.id] = hook
    for d in marks:
        d[handle.id] = True
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


@op("backward_hook(Tensor[] tensors) -> Tensor[]", grad="BackwardHookFunctionBackward", function=False, method=False)
def _watch(tensors):
    """The tensors as they are: a node where gradients can be seen."""
    return list(tensors)


class Watch:
    """The full backward hooks of one call of a module.

    Identity nodes before and after the module see the gradients of its inputs and outputs. The hooks run when the
    inputs' gradients are there, or, where no input needs one, when the outputs' are.
    """

    def __init__(self, module, hooks, pre_hooks):
        self.module = weakref.ref(module)
        self.hooks, self.pre_hooks = hooks, pre_hooks
        self.grad_outputs = None
        self.watches_input = False
        self.n_inputs = self.n_outputs = 0
        self.at_inputs = self.at_outputs = None

    def inputs(self, args):
        """The module's arguments behind an identity."""
        args, self.at_inputs, node = self._behind(args)
        self.n_inputs = len(args)
        if node is not None:
            self.watches_input = True
            node.register_hook(self._input_grads)
        return args

    def outputs(self, out):
        """The module's result behind an identity."""
        single = not isinstance(out, tuple)
        outs, self.at_outputs, node = self._behind((out,) if single else out)
        self.n_outputs = len(outs)
        if node is not None:
            node.register_prehook(self._output_grads)
        return outs[0] if single else outs

    @staticmethod
    def _behind(values):
        at = [i for i, v in enumerate(values) if isinstance(v, Tensor) and edge(v) is not None]
        if not at:
            return values, at, None
        made = apply(_watch, [values[i] for i in at], ((T,) * len(at),))
        made = made if isinstance(made, tuple) else (made,)
        behind = list(values)
        for i, t in zip(at, made):
            behind[i] = t
        node = next((t.grad_fn for t in made if isinstance(t.grad_fn, Node)), None)
        return tuple(behind) if type(values) is tuple else type(values)(*behind), at, node

    @staticmethod
    def _spread(grads, at, n):
        full = [None] * n
        for i, g in zip(at, grads):
            full[i] = g
        return tuple(full)

    def _output_grads(self, grad_outputs):
        full = self._spread(grad_outputs, self.at_outputs, self.n_outputs)
        changed = False
        for hook in self.pre_hooks:
            r = hook(self.module(), full)
            if r is not None:
                full, changed = self._checked(r, full, "Backward pre hook", "grad_output"), True
        self.grad_outputs = full
        if not self.watches_input:
            if self.hooks:
                _warn_outputs_only()
            for hook in self.hooks:
                r = hook(self.module(), self._spread((), (), self.n_inputs), full)
                if r is not None and not (isinstance(r, tuple) and all(g is None for g in r)):
                    raise RuntimeError("Backward hook for Modules where no input requires gradient should always return None or "
                                       "None for all gradients.")
            self.grad_outputs = None
        return tuple(full[i] for i in self.at_outputs) if changed else None

    def _input_grads(self, grad_inputs, grad_outputs):
        if self.grad_outputs is None:      # only part of the graph ran: the outputs were not reached
            return None
        grads, changed = self._spread(grad_inputs, self.at_inputs, self.n_inputs), False
        for hook in self.hooks:
            r = hook(self.module(), grads, self.grad_outputs)
            if r is not None:
                grads, changed = self._checked(r, grads, "Backward hook", "grad_input"), True
        self.grad_outputs = None
        return tuple(grads[i] for i in self.at_inputs) if changed else None

    @staticmethod
    def _checked(r, old, what, name):
        r = r if isinstance(r, tuple) else (r,)
        if len(r) != len(old):
            raise RuntimeError(f"{what} returned an invalid number of {name}, got {len(r)}, but expected {len(old)}")
        return r


def watch_node(module, hooks, args, result):
    """The hooks of torch's old kind: on the node that made the (first) output, whatever that is."""
    first = result
    while not isinstance(first, Tensor):
        first = next(v for v in first.values() if isinstance(v, Tensor)) if isinstance(first, dict) else first[0]
    node = first.grad_fn
    if node is None:
        return
    ref = weakref.ref(module)

    def bound(hook):
        def run(grad_inputs, grad_outputs):
            if ref() is None:
                raise RuntimeError("You are trying to call the hook of a dead Module!")
            return hook(ref(), grad_inputs, grad_outputs)
        run.__name__ = getattr(hook, "__name__", "hook")
        return run
    for hook in hooks:
        node.register_hook(bound(hook))
    missing = _missing(args, result, node)
    if missing is not None:
        _warn_at_user(missing + " Please use register_full_backward_hook to get the documented behavior.", FutureWarning)


def _missing(args, result, node):
    """What an old hook on `node` does not see, in torch's words; None if nothing."""
    shape = "Using non-full backward hooks on a Module that does not {} a single Tensor or a tuple of Tensors is deprecated and will be removed " \
            "in future versions. This hook will be missing some of the {}."
    outs = result if isinstance(result, tuple) else (result,)
    if not all([isinstance(r, Tensor) for r in outs]):
        return shape.format("return", "grad_output")
    if not all([isinstance(a, Tensor) for a in args]):
        return shape.format("take as input", "grad_input")
    if len({id(r.grad_fn) for r in outs}) != 1:
        return ("Using a non-full backward hook when outputs are generated by different autograd Nodes is deprecated and will be removed in "
                "future versions. This hook will be missing some grad_output.")
    inputs = {id(a) if a.grad_fn is None else id(a.grad_fn) for a in args}
    below = {id(getattr(f, "variable", f)) for f, _ in node.next_functions if f is not None}
    if below != inputs:
        return ("Using a non-full backward hook when the forward contains multiple autograd Nodes is deprecated and will be removed in "
                "future versions. This hook will be missing some grad_input.")
    return None


_warned: dict = {}


def _warn_at_user(text, category):
    file, line, _ = user_site() or ("<unknown>", 1, "")
    warnings.warn_explicit(text, category, file, line, registry=_warned)


def _warn_outputs_only():
    _warn_at_user("Full backward hook is firing when gradients are computed with respect to module outputs since no inputs require gradients. "
                  "See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.register_full_backward_hook for "
                  "more details.", UserWarning)


def run_registration(hooks, module, name, value):
    for hook in hooks.values():
        r = hook(module, name, value)
        if r is not None:
            value = r
    return value
