"""torch.utils.hooks: what registering a hook returns, and what the full backward hooks of modules see gradients with."""
from __future__ import annotations

from ..engine import context, warn
from ..tensor.core.graph import Node, RemovableHandle, forward_only
from ..tensor.core.handle import edge
from ..tensor.core.tensor import Tensor

__all__ = ["BackwardHook", "RemovableHandle", "unserializable_hook", "warn_if_has_hooks"]

_OUTPUTS_ONLY = ("Full backward hook is firing when gradients are computed with respect to module outputs since no inputs require "
                 "gradients. See "
                 "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html#torch.nn.Module.register_full_backward_hook for more "
                 "details.")


def unserializable_hook(f):
    """A decorator: the hook is left behind, with a warning, when its tensor is pickled."""
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor):
    """Warn of hooks that pickling leaves behind."""
    import warnings
    for hook in (getattr(tensor, "_backward_hooks", None) or {}).values():
        if not hasattr(hook, "__torch_unserializable__"):
            warnings.warn(f"backward hook {hook!r} on tensor will not be serialized.  If this is expected, you can decorate the function "
                          "with @torch.utils.hooks.unserializable_hook to suppress this warning", stacklevel=2)


class BackwardHook:
    """The full backward hooks of one call of a module.

    Identity nodes before and after the module see the gradients of its inputs and outputs. The hooks run when the
    inputs' gradients are there, or, where no input needs one, when the outputs' are.
    """

    def __init__(self, module, user_hooks, user_pre_hooks):
        self.module = module                   # alive as long as its gradients are to come
        self.hooks, self.pre_hooks = user_hooks, user_pre_hooks
        self.grad_outputs = None
        self.watches_input = False
        self.n_inputs = self.n_outputs = 0
        self.at_inputs = self.at_outputs = None

    def setup_input_hook(self, args):
        """The module's arguments behind an identity."""
        args, self.at_inputs, node = self._behind(args)
        self.n_inputs = len(args)
        if node is not None:
            self.watches_input = True
            node.register_hook(self._input_grads)
        return args

    def setup_output_hook(self, args):
        """The module's result behind an identity."""
        single = not isinstance(args, tuple)
        outs, self.at_outputs, node = self._behind((args,) if single else args)
        self.n_outputs = len(outs)
        if node is not None:
            node.register_hook(self._output_grads)
        return outs[0] if single else outs

    def _behind(self, values):
        at = [i for i, v in enumerate(values) if isinstance(v, Tensor)]
        level = context.modes.get("transform", (None,))[-1]
        if level is not None and (level.kind == "vmap" or level.pushes and not (level.traced and any(
                [p.requires_grad for p in self.module.parameters()]))):        # where torch sees no gradients
            return values, at, None
        edges = [edge(values[i]) for i in at]
        if not any([e is not None and not forward_only(e) for e in edges]):
            return values, at, None
        from ..nn.modules._functions import BackwardHookFunction
        made = BackwardHookFunction.apply(*[values[i] for i in at])
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

    def _output_grads(self, _, grad_outputs):
        full = self._spread(grad_outputs, self.at_outputs, self.n_outputs)
        changed = False
        for hook in self.pre_hooks:
            r = hook(self.module, full)
            if r is not None:
                full, changed = self._checked(r, full, "Backward pre hook", "grad_output"), True
        self.grad_outputs = full
        if not self.watches_input:
            if self.hooks:
                warn(_OUTPUTS_ONLY)
            for hook in self.hooks:
                r = hook(self.module, self._spread((), (), self.n_inputs), full)
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
            r = hook(self.module, grads, self.grad_outputs)
            if r is not None:
                grads, changed = self._checked(r, grads, "Backward hook", "grad_input"), True
        self.grad_outputs = None
        return tuple(grads[i] for i in self.at_inputs) if changed else None

    _input_grads.__name__ = _output_grads.__name__ = "hook"        # errors say who was it

    @staticmethod
    def _checked(r, old, what, name):
        """What a hook gave in place of `old`: anything that has as many parts, a tensor too."""
        if len(r) != len(old):
            raise RuntimeError(f"{what} returned an invalid number of {name}, got {len(r)}, but expected {len(old)}")
        return r
