"""Gradients of which some are sparse: how a backward pass adds and keeps them.

`begin()` is called by the first operator that makes one. From then on cotangents are Values or sparse tensors, and a pass that meets a
sparse one is not kept for replay; before, no backward pass knows of it.
"""
from __future__ import annotations

from ..tensor.core.dispatch import wrap
from ..tensor.core.handle import read
from ..tensor.core.view import detached
from ..tensor.sparse import Sparse
from .backward import GradList, meet_sparse


def begin():
    """Let backward passes meet sparse gradients."""
    meet_sparse(GradSparse)


def _dense(g):
    return read(g.to_dense().detach()) if g.__class__ is Sparse else g


class GradSparse(GradList):
    """Arithmetic on cotangents as bare Values and sparse tensors."""

    @staticmethod
    def add(a, b):
        if a.__class__ is Sparse and b.__class__ is Sparse:
            return a.detach() + b.detach()
        if a.__class__ is Sparse or b.__class__ is Sparse:
            dense, sparse = (b, a) if a.__class__ is Sparse else (a, b)
            return read((wrap(dense) + sparse.detach()).detach())
        return GradList.add(a, b)

    @staticmethod
    def tensor(g):
        return g if g.__class__ is Sparse else wrap(g)

    @staticmethod
    def back(t):
        return t.detach() if t.__class__ is Sparse else read(t)

    @staticmethod
    def vjp(node, saved, cts):
        return GradList.vjp(node, saved, [_dense(g) for g in cts])

    @staticmethod
    def slice(g, steps):
        return GradList.slice(_dense(g), steps)

    @staticmethod
    def put(g, steps, part):
        return GradList.put(_dense(g), steps, _dense(part))

    @staticmethod
    def accumulate(leaf, g):
        """Into `leaf.grad`, where it or the gradient is sparse; whether this was so."""
        x = leaf._ts_more()
        old = x.grad
        if g.__class__ is not Sparse and old.__class__ is not Sparse:
            return False
        if old is None:
            x.grad = g
        elif old.__class__ is Sparse and g.__class__ is not Sparse:
            x.grad = (wrap(g) + old).detach()
        elif old.__class__ is Sparse:
            old.add_(g)
        else:
            detached(old).add_(g)
        return True
