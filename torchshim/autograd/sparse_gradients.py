"""Gradients of which some are sparse: how a backward pass adds and keeps them.

Once `graph.sparse` is set, cotangents are Values or sparse tensors, and a pass that meets a sparse one is not kept for replay; before,
no backward pass knows of it.
"""
from __future__ import annotations

from ..tensor.core import graph
from ..tensor.core.dispatch import wrap
from ..tensor.core.handle import read
from ..tensor.core.view import detached
from ..tensor.sparse import Sparse
from ..tensor.sparse.arithmetic import fitting, strung
from ..tensor.sparse.base import alias, like, made, write
from .backward import GradList


def begin():
    """Let backward passes meet sparse gradients."""
    graph.sparse = True


def _dense(g):
    return read(g.to_dense().detach()) if g.__class__ is Sparse else g


def _held(s):
    """A sparse gradient that somebody else holds, too: a leaf gets a copy of it, which is known as coalesced where it is."""
    s.__dict__["_held"] = True
    return s


def _kept(g):
    """A gradient as a leaf keeps it."""
    if g.__class__ is not Sparse:
        return wrap(g).contiguous()
    if g._held or not g._vals.is_contiguous():
        return like(g, g._vals.clone(), [i.clone() for i in g._index])
    return made(g._layout, g._index, g._vals, g._ts_meta.shape)


class GradSparse(GradList):
    """Arithmetic on cotangents as bare Values and sparse tensors."""

    @staticmethod
    def add(a, b):
        if a.__class__ is Sparse and b.__class__ is Sparse:
            return _held(strung(a, b))
        if a.__class__ is Sparse or b.__class__ is Sparse:
            dense, sparse = (b, a) if a.__class__ is Sparse else (a, b)
            return read((wrap(dense) + alias(sparse)).detach())
        return GradList.add(a, b)

    @staticmethod
    def tensor(g):
        return g if g.__class__ is Sparse else wrap(g)

    @staticmethod
    def back(t):
        return t if t.__class__ is Sparse and t._ts_edge is None else alias(t) if t.__class__ is Sparse else read(t)

    @staticmethod
    def given(t):
        return _held(alias(t)) if t.__class__ is Sparse else read(t)

    @staticmethod
    def vjp(node, saved, cts, part=None):
        return GradList.vjp(node, saved, [_dense(g) for g in cts], part)

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
        if Sparse not in (leaf.__class__, g.__class__, old.__class__):
            return False
        if old is None:
            x.grad = _kept(g)
            if g.__class__ is Sparse:
                _held(g)                       # the next leaf that gets it
        elif old.__class__ is Sparse and g.__class__ is not Sparse:
            x.grad = (wrap(g) + old).detach()
        elif old.__class__ is Sparse:
            write(old, fitting("add", strung(old, g), old))
        else:
            detached(old).add_(wrap(g) if g.__class__ is not Sparse else g)
        return True
