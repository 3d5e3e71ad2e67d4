"""torch's formulas for the gradients of operators that pick and place elements, and choose between them. What hooks on saved tensors give
back may be other places, of another kind or shape: then these are asked, and what does not fit is refused by the operators they are made of.

A formula gets the call: `g` the cotangent, what was saved by its names, the other arguments by theirs, and `of` the Metas of the operands.
"""
from __future__ import annotations

import numpy as np

from ..engine import context
from ..ops import promotion as P
from ..ops.layout import broadcast_shapes
from ..ops.registry import PACKED_SET, T, positions
from ..tensor.api.bind import FUNCTIONS
from ..tensor.api.index import placed
from ..tensor.api.picking import check_mask
from ..tensor.core.handle import meta
from .backward import fitted
from .saved import end_of


class Picked:
    """A call as its formulas see it."""

    def __init__(self, node, g, saved):
        """`saved`: by the numbers of operands, and (number,) of results, what the hooks gave back; a pair (mask, dimension) for each of the
        dimensions of a mask, whose places are indices here."""
        inst = node._ts_inst
        op = getattr(inst.op, "op", inst.op)
        self.g, self.of, n = g, dict(zip(positions(op.params, inst.layout), inst.in_metas)), 0
        for p, x in zip(op.params, inst.layout):
            if x is T:
                x, n = saved.get(n), n + 1
            elif x.__class__ is tuple and T in x:
                given = []
                for y in x:
                    y, n = (saved.get(n), n + 1) if y is T else (y, n)
                    if y.__class__ is not tuple:
                        given.append(y)
                    elif not y[1]:             # else it is of the mask before
                        given.append(y[0])
                x = given
            elif x in PACKED_SET:
                x = node._ts_nums[0] if node._ts_nums else None
            setattr(self, p.name, x)
        for k, name in enumerate(op.fields or ()):
            setattr(self, name, saved.get((k,)))

    def shape(self, name):
        """The shape of an operand: of what came back where it was saved."""
        t = getattr(self, name)
        return self.of[name].shape if t is None else t.shape

    def zeros(self, name):
        """Zeros in that shape."""
        return self.g.new_zeros(self.shape(name))


def _do(name, *args):
    return FUNCTIONS[name](*args)


def _at(name):
    """A function of the cotangent that picks from it along `dim` by `index`."""
    return lambda a: _do(name, a.g, a.dim, a.index)


def _rows(a):
    shape, alpha = a.shape("source"), getattr(a, "alpha", 1)
    g = _do("index_select", a.g, a.dim, a.index).expand(shape) if shape else _do("index_select", a.g, a.dim, a.index.squeeze(0))
    return g if alpha == 1 else g * alpha


def _masked_source(a):
    m = a.of["source"]
    chosen = _do("masked_select", a.g, a.mask)
    lacking = m.numel - chosen.numel()
    return (_do("cat", [chosen, a.g.new_zeros(lacking)]) if lacking > 0 else chosen).view(m.shape)


def _selected(a):
    whole = a.self.detach().expand(broadcast_shapes([a.self.shape, a.mask.shape]))
    return _do("zeros_like", whole).masked_scatter_(a.mask, a.g)


def _chosen(a):
    """The gradient of values that were taken from places along a dimension."""
    g, at = a.g, a.indices
    if a.of["self"].ndim and not getattr(a, "keepdim", True):
        g, at = g.unsqueeze(a.dim), at.unsqueeze(a.dim)
    return _do("scatter", a.zeros("self"), a.dim, at, g)


def _of_value(a):
    return _do("index_select", a.g, a.dim, a.index.unique(False)).sum()


def _put(a):
    return placed(False, a.g, a.indices, a.g.new_zeros(a.of["values"].shape if "values" in a.of else ()), gaps=True)


def _through_mask(f):
    """A formula of `indices` where these are one mask behind whole dimensions; the values had their own ones in its place."""
    def formula(a):
        a.indices = (*[None] * getattr(a, "first", 0), a.mask)
        made = f(a)
        if f is _put or "values" not in a.of:
            return made
        shape, n = a.of["values"].shape, a.of["mask"].ndim
        return made.sum_to_size(1).reshape(shape) if n > 1 and set(shape) <= {1} else made
    return formula


def _picked_values(a):
    d, m = 0, meta(a.g)
    for x in a.indices:
        masks = x is not None and x.dtype.np == np.bool_
        if masks and x.ndim and d < m.ndim and (d + x.ndim <= m.ndim or x.shape[0] != m.shape[d]):
            check_mask(meta(x), m, d)          # whose words come before those of the index
        d += x.ndim if masks else 1
    return a.g[tuple([slice(None) if x is None else x for x in a.indices])]


def _embedded(a):
    rows = a.indices
    if rows.dtype.np not in (P.int32, P.int64):
        raise RuntimeError("Expected tensor for argument #2 'indices' to have one of the following scalar types: Long, Int; but got "
                           f"CPU{P.c_name(rows.dtype.np)}Type instead (while checking arguments for embedding_backward)")
    if a.scale_grad_by_freq or a.sparse:
        raise NotImplementedError("torchshim: an unpack hook that gives an embedding other indices, whose gradient is scaled or sparse")
    g = a.g.reshape(rows.numel(), a.g.shape[-1])
    if a.padding_idx >= 0:
        g = g.masked_fill((rows.reshape(-1) == a.padding_idx).unsqueeze(-1), 0)
    return _do("index_add", a.g.new_zeros(a.of["weight"].shape), 0, rows.reshape(-1), g)


_PLACED = {"self": lambda a: a.g if getattr(a, "accumulate", False) else _put(a), "values": _picked_values}
_MASKED = {name: _through_mask(f) for name, f in (("self", _put), ("values", _picked_values))}
_CHOSEN, _PASSED = {"self": _chosen}, {"self": lambda a: a.g}
_GATHERED = {"self": lambda a: _do("scatter_add", a.zeros("self"), a.dim, a.index, a.g)}
_SCATTERED = {"self": lambda a: _do("scatter", a.g, a.dim, a.index, 0), "src": _at("gather")}
_FILLED = {"self": lambda a: _do("index_fill", a.g, a.dim, a.index, 0), "value": _of_value}
_MASK_FILLED = {"self": lambda a: _do("masked_fill", a.g, a.mask, 0), "value": lambda a: _do("masked_select", a.g, a.mask).sum()}
_OF_PLACES = "max.dim min.dim kthvalue median.dim nanmedian.dim mode sort sort.stable topk".split()
FORMULAS = {
    "index.Tensor": {"self": lambda a: placed(False, a.zeros("self"), a.indices, a.g, True, True)},
    "index_put.values": _PLACED, "index_put.number": _PLACED, "index_put.mask": _MASKED, "index_put.mask_number": _MASKED,
    "index_put.mask_rows": _MASKED, "masked_select.places": {"self": _selected}, "masked_fill.number": _MASK_FILLED,
    "masked_fill.tensor": _MASK_FILLED,
    "masked_scatter.mask": {"self": _MASK_FILLED["self"], "source": _masked_source},
    "where.self": {"self": lambda a: _do("where", a.condition, a.g, 0), "other": lambda a: _do("where", a.condition, 0, a.g)},
    "take.flat": {"self": lambda a: _do("put", a.zeros("self"), a.index, a.g, True)},
    "put.flat": {"self": lambda a: a.g if a.accumulate else _do("put", a.g, a.index, a.zeros("source")),
                 "source": lambda a: _do("take", a.g, a.index).reshape(a.of["source"].shape)},
    "gather.along": _GATHERED, "gather.expanded": _GATHERED, "scatter.values": _SCATTERED, "scatter.number": _SCATTERED,
    "scatter_add.along": {**_PASSED, "src": _at("gather")},
    "index_select.rows": {"self": lambda a: _do("index_add", a.zeros("self"), a.dim, a.index, a.g)},
    "index_add.rows": {**_PASSED, "source": _rows}, "index_copy.rows": {"self": lambda a: _do("index_fill", a.g, a.dim, a.index, 0), "source": _rows},
    "embedding": {"weight": _embedded}, "index_fill.number": _FILLED, "index_fill.tensor": _FILLED,
    **dict.fromkeys(_OF_PLACES, _CHOSEN),
    **dict.fromkeys(("cummax", "cummin"), {"self": lambda a: _do("scatter_add", a.zeros("self"), a.dim, a.indices, a.g)})}
#: Of these the values of a mask decide about shapes, or torch writes one gradient over the other where two places are the same.
BY_VALUES = frozenset(("index.Tensor", "index_put.mask_rows", "masked_select.places", *_OF_PLACES))


def known(node):
    """The formulas of a node, {operand: formula}, or None."""
    op = node._ts_inst.op
    return FORMULAS.get(getattr(getattr(op, "op", op), "full_name", None))


def gradients(node, mode, ct, saved, differ):
    """The gradients of a node's operands from what hooks gave back, see `Picked`; None where there is no formula, or no need of one: nothing
    differs from what was saved in dtype or shape, and no values can tell."""
    op, formulas = getattr(node._ts_inst.op, "op", node._ts_inst.op), known(node)
    if formulas is None or not differ and op.full_name not in BY_VALUES or mode.hooked is not None or "pushing" in context.modes:
        return None
    call, grads = Picked(node, mode.tensor(ct), saved), [None] * len(node._ts_next)
    names, walk = positions(op.params, node._ts_inst.layout), context.modes["graph task"][2]
    for i in node._ts_plan.needs:
        target = end_of(node._ts_next[i])[0]
        if id(target) in walk.reached and not walk.executes(target):           # what nobody asks for refuses nothing
            continue
        g = formulas[names[i]](call)
        m = node._ts_inst.in_metas[i]
        grads[i] = mode.back(g if g._ts_meta.shape == m.shape else fitted(node, i, g, m.shape))
    return grads
