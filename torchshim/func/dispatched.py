"""grad and vjp under a dispatch mode (make_fx among them): a function on inputs of its own, and torch.autograd.grad of what it returns."""
from __future__ import annotations

from .._dispatch.python import TRANSFORM, do, stand_in, unseen
from ..autograd import grad
from ..autograd.grad_mode import grad_mode
from ..engine import context
from ..tensor.core.handle import TensorBase, edge
from ..utils._pytree import tree_flatten, tree_map, tree_unflatten


def _inner(t):
    if edge(t) is not None:                    # of an outer transform: its history goes on behind it
        with grad_mode(True):
            return do("alias", t)
    with unseen():
        made = t.detach().requires_grad_()
    return stand_in(made, t)


class Run:
    """One call of a function whose arguments `which` are to be differentiated."""

    def __init__(self, func, args, which, kwargs):
        given, self.form = tree_flatten(tuple([args[k] for k in which]))
        for x in given:
            if not isinstance(x, TensorBase):
                raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
        self.deep = any([edge(x) is not None for x in given])
        self.ins = [_inner(x) for x in given]
        full = list(args)
        for k, a in zip(which, tree_unflatten(self.ins, self.form)):
            full[k] = a
        with grad_mode(True), context.mode(TRANSFORM, True):
            self.value = func(*full, **(kwargs or {}))

    def plain(self, x):
        """A result, with a history only where it leads out of the function."""
        def ended(t):
            if not isinstance(t, TensorBase) or edge(t) is None or self.deep:
                return t
            with unseen():
                made = t.detach()
            return stand_in(made, t)
        return tree_map(ended, x)

    def back(self, outs, cts):
        """The gradients of the inputs, zeros where there are none."""
        from .. import zeros_like
        with_history = [k for k, o in enumerate(outs) if edge(o) is not None]
        found = [None] * len(self.ins)
        if with_history:
            given = None if cts is None else [cts[k] for k in with_history]
            with grad_mode(True):
                found = grad([outs[k] for k in with_history], self.ins, given, create_graph=self.deep, retain_graph=True, allow_unused=True)
        return tree_unflatten([zeros_like(t) if g is None else g for g, t in zip(found, self.ins)], self.form)

