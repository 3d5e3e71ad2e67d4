"""torch.cond and torch.while_loop. They are what they mean: Python's `if` and `while`, which look at the values. torch.export alone captures
both branches.
"""
from __future__ import annotations

from . import Tensor
from ._dispatch.python import state


def cond(pred, true_fn, false_fn, operands=()):
    """true_fn(*operands) if pred, else false_fn(*operands); only that branch runs.

    pred: a number, or a tensor of one element, for which the branches must be callable and the operands tensors, which may be nested:
    RuntimeError for anything else.
    """
    if not isinstance(pred, (bool, int, float)):
        from .utils._pytree import tree_leaves
        if not isinstance(pred, Tensor):
            raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
        if pred.numel() != 1:
            raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
        if not callable(true_fn) or not callable(false_fn):
            raise RuntimeError("Expect both branches to be callable.")
        if not isinstance(operands, (tuple, list)) or not all(isinstance(x, Tensor) for x in tree_leaves(operands)):
            raise RuntimeError("Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of tensor leaves, but "
                               f"got {operands}.")
        mode = next(iter(reversed(state().stack)), None)
        if hasattr(mode, "branches"):
            return mode.branches(pred, true_fn, false_fn, operands)
    return true_fn(*operands) if pred else false_fn(*operands)


def while_loop(cond_fn, body_fn, carried_inputs):
    """carried_inputs after carried_inputs = body_fn(*carried_inputs) as long as cond_fn(*carried_inputs) is true."""
    if not (callable(cond_fn) and callable(body_fn)):
        raise RuntimeError("torch.while_loop: cond_fn and body_fn must be callable.")
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(f"torch.while_loop: carried_inputs must be a tuple or a list, not {type(carried_inputs).__name__}.")
    values = tuple(carried_inputs)
    while cond_fn(*values):
        made = body_fn(*values)
        made = tuple(made) if isinstance(made, (tuple, list)) else (made,)
        if len(made) != len(values):
            raise RuntimeError(f"torch.while_loop: body_fn must return as many values as it takes, {len(values)}, not {len(made)}.")
        values = made
    return values
