"""Gradients of which some are tensors, sparse ones or operands: how a backward pass adds and keeps them.

Once `graph.sparse` is set, cotangents are Values, sparse tensors or operands that are their own gradients (`twice="operand"`), with
the histories that those have; a pass that meets one of these tensors is not kept for replay. Before, no backward pass knows of them.
"""
from __future__ import annotations

from ..ops.views import LazyOp
from ..tensor.core import graph
from ..tensor.core.dispatch import wrap
from ..tensor.core.handle import edge, meta, read
from ..tensor.core.view import detached
from ..tensor.sparse import Sparse
from ..tensor.sparse.arithmetic import fitting, strung
from ..tensor.sparse.base import alias, like, made, write
from ..tensor.core.tensor import Tensor
from .backward import accumulate_grad
from .cotangents import GradList, passed_by_program
from .saved import saved_tensors
from .second_order import is_own_gradient, of_more


def begin():
    """Let backward passes meet sparse gradients."""
    graph.sparse = True


def _dense(g):
    return read(g.to_dense().detach()) if g.__class__ is Sparse else read(g) if isinstance(g, Tensor) else g


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


def _passed(plan):
    """Which gradients of a node are what comes in, an empty one."""
    found = None if isinstance(plan.vjp.inst.op, LazyOp) else of_more(plan)
    return () if found is None else [k for k, _ in passed_by_program(*found)]


class GradSparse(GradList):
    """Arithmetic on cotangents as bare Values, sparse tensors and operands."""

    @staticmethod
    def add(a, b):
        if a.__class__ is Sparse and b.__class__ is Sparse:
            return _held(strung(a, b))
        if a.__class__ is Sparse or b.__class__ is Sparse:
            dense, sparse = (b, a) if a.__class__ is Sparse else (a, b)
            return read((wrap(_dense(dense)) + alias(sparse)).detach())
        return GradList.add(_dense(a), _dense(b))

    @staticmethod
    def tensor(g):
        return g if isinstance(g, Tensor) else wrap(g)

    @staticmethod
    def back(t):
        if t.__class__ is not Sparse and not meta(t).numel and edge(t) is not None:
            return t                           # it may be an operand
        return t if t.__class__ is Sparse and t._ts_edge is None else alias(t) if t.__class__ is Sparse else read(t)

    @staticmethod
    def given(t):
        return _held(alias(t)) if t.__class__ is Sparse else read(t)

    @staticmethod
    def vjp(node, saved, cts, part=None):
        if is_own_gradient(node):
            return saved_tensors(node, saved)[:1]
        made = GradList.vjp(node, saved, [_dense(g) for g in cts], part)
        if part is None and len(cts) == 1 and isinstance(cts[0], Tensor) and cts[0].__class__ is not Sparse:
            for k in _passed(node._ts_plan):
                made[k] = cts[0]
        return made

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
        if g.__class__ is not Sparse and isinstance(g, Tensor):
            accumulate_grad(leaf, read(g), GradSparse)
            return True
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
