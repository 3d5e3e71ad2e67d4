"""A vmap some parts of which a library replaced in `torch._functorch.vmap`, to map over containers of its own.

Such parts call `_add_batch_dim` and `_remove_batch_dim` for the tensors that they find. What is batched is a list of tensors, so each part
runs
twice: once to tell which tensors it asks for, once to be given them.
"""
from __future__ import annotations

import contextlib
import copy
import itertools
import sys

from ..autograd.levels import stand_ins
from ..tensor.core.handle import TensorBase

_numbers = itertools.count(1 << 20)            # beyond any level's, and never the same: containers remember what they answered for a number


def replaced():
    """(process inputs, create inputs, unwrap outputs) where any of them is no longer our own, else None."""
    module = sys.modules.get("torchshim._functorch.vmap")
    if module is None:
        return None
    parts = (module._process_batched_inputs, module._create_batched_inputs, module._unwrap_batched)
    return None if parts == module.PARTS else parts


_LATE = "torchshim: vmap over a container that batches its tensors only when the mapped function asks for them"


class _Asking:
    """Notes the tensors that are asked for; what it answers has the shape that the true answer has."""

    def __init__(self):
        self.found = []

    def add(self, t, dim):
        self.found.append((t, dim))
        return t.select(dim, 0) if t.shape[dim] else t.sum(dim)

    def remove(self, t, batch_size, out_dim):
        self.found.append((t, out_dim))
        at = out_dim % (t.ndim + 1)
        return t.unsqueeze(at).expand(*t.shape[:at], batch_size, *t.shape[at:])


class _Giving:
    """Answers with given tensors, in the order of the questions. A container that asks only when the mapped function looks asks too
    late."""

    def __init__(self, tensors):
        self.tensors = iter(tensors)

    def add(self, t, dim):
        found = next(self.tensors, None)
        if found is None:
            raise NotImplementedError(_LATE)
        return found

    def remove(self, t, batch_size, out_dim):
        return self.add(t, out_dim)


@contextlib.contextmanager
def _answering(by):
    number = next(_numbers)
    stand_ins[number] = by
    try:
        yield number
    finally:
        del stand_ins[number]


def _kept(leaf, dim):
    """A container as it is now: backward maps the function again, and what is in the caller's may be another by then."""
    if isinstance(leaf, TensorBase) or dim is None and not hasattr(leaf, "__copy__"):
        return leaf
    return copy.copy(leaf)


def mapped_by(parts, func, out_dims, leaves, structure, dims, n, kwargs, batched, randomness):
    """The results of `func` over the batches of the leaves, which the library's parts take apart and put together."""
    _, create, unwrap = parts
    asking, info = _Asking(), {}
    leaves = [_kept(leaf, d) for leaf, d in zip(leaves, dims)]
    with _answering(asking) as number:
        create(dims, leaves, number, structure)

    if not asking.found:
        raise NotImplementedError(_LATE)

    def examples(ts):
        with _answering(_Giving(ts)) as number:
            info["out"], wanted = func(*create(dims, leaves, number, structure), **kwargs), _Asking()
        with _answering(wanted) as number:
            unwrap(info["out"], out_dims, number, n, func)
        info["dims"] = [d for _, d in wanted.found]
        return [t for t, _ in wanted.found]
    made = batched(examples, [t for t, _ in asking.found], [d for _, d in asking.found], randomness)
    with _answering(_Giving([t.movedim(0, d) if d else t for t, d in zip(made, info["dims"])])) as number:
        return unwrap(info["out"], out_dims, number, n, func)
