"""torch.distributed.autograd with one process: gradients that gather in a context, and not in the tensors."""
from __future__ import annotations

import itertools

from ..autograd import grad

_contexts: dict = {}
_ids = itertools.count()


def is_available():
    """Whether this package is there: True."""
    return True


class DistAutogradContext:
    """What the gradients of one context gather in, in torch: a name for annotations here, and NotImplementedError when made."""

    def __init__(self):
        raise NotImplementedError("torchshim: torch.distributed.autograd.DistAutogradContext")


class context:
    """`with context() as context_id`: what `backward` computes is kept under this number until the end."""

    def __enter__(self):
        self._id = next(_ids)
        _contexts[self._id] = {}
        return self._id

    def __exit__(self, kind, value, traceback):
        del _contexts[self._id]


def _of(context_id):
    if context_id not in _contexts:
        raise RuntimeError(f"Could not find autograd context with id: {context_id}")
    return _contexts[context_id]


def _leaves(roots):
    """The tensors at which gradients of the roots would gather."""
    found, seen, ahead = {}, set(), [r.grad_fn for r in roots if r.grad_fn is not None]
    found.update({id(r): r for r in roots if r.grad_fn is None})
    while ahead:
        node = ahead.pop()
        if node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            found[id(node.variable)] = node.variable
        ahead += [n for n, _ in node.next_functions if n is not None]
    return list(found.values())


def backward(context_id, roots, retain_graph=False):
    """Add the gradients of scalars to those of a context. RuntimeError for one that is not there, and for roots that are no scalars."""
    held = _of(context_id)
    if not roots:
        raise RuntimeError("No tensors provided for gradient computation.")
    for r in roots:
        if not r.requires_grad:
            raise RuntimeError("requires_grad not set on root")
        if r.numel() != 1:
            raise RuntimeError(f"{r}is not a scalar, all roots need to be scalar")
    leaves = _leaves(roots)
    for leaf, g in zip(leaves, grad(roots, leaves, retain_graph=retain_graph, allow_unused=True)):
        if g is not None:
            held[leaf] = held[leaf] + g if leaf in held else g


def get_gradients(context_id):
    """{tensor: its gradient} of a context."""
    return dict(_of(context_id))
