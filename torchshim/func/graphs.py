"""What transforms ask of the autograd graph: where it leaves the function that they run, and gradients at any edge."""
from __future__ import annotations

from ..autograd.backward import make_cts, run
from ..autograd.function import FunctionNode
from ..engine import context
from ..tensor.core.dispatch import wrap
from ..tensor.core.graph import AccumulateGrad, OwnVersion, sequence
from ..tensor.core.handle import TensorBase, edge, offset_of, read, version


def now():
    """A mark in time: nodes made later have a larger number."""
    return next(sequence)


def leaf(t):
    """A fresh tensor as a leaf that wants a gradient, where its dtype can have one."""
    if not (t.is_floating_point() or t.is_complex()):
        raise RuntimeError("only Tensors of floating point dtype can require gradients")
    t._ts_edge = True
    return t


def auxiliary(t):
    """`t` as a leaf that only serves a computation: a history that ends there ends inside."""
    t.__dict__["_auxiliary"] = True
    return leaf(t)


def outside(tensors, since, own):
    """Edges where the graph of `tensors` leads to what was there before `since`, save to the leaves in `own`."""
    mine = {id(t) for t in own}
    found, seen, stack = {}, set(), [edge(t) for t in tensors]
    while stack:
        e = stack.pop()
        if e is None:
            continue
        target, nr = e if e.__class__ is tuple else (e, 0)
        if target.__class__ is AccumulateGrad:
            target = target.variable
        if isinstance(target, TensorBase):
            if id(target) not in mine and "_auxiliary" not in target.__dict__:
                found[id(target), 0] = target
        elif target._ts_seq < since:
            found[id(target), nr] = e
        elif id(target) not in seen:
            seen.add(id(target))
            stack.extend(target._ts_next)
    return list(found.values())


def gradients(outs, edges, cts, create_graph, ends=()):
    """d(sum of cts * outs) / d edge for each edge as tensors, None where nothing leads there. The graph is kept. `ends`: see `run`."""
    pairs = [(o, c) for o, c in zip(outs, cts) if edge(o) is not None and c is not None]
    if not pairs or not edges:
        return [None] * len(edges)
    cts = make_cts([o for o, _ in pairs], [c for _, c in pairs])
    if not create_graph and "forward AD" not in context.modes:
        cts = [read(c) for c in cts]
    captured = run([edge(o) for o, _ in pairs], cts, True, create_graph, edges, False, ends=ends)
    got = [captured.get(k) for k in range(len(edges))]
    return [g if g is None or isinstance(g, TensorBase) else wrap(g) for g in got]


def nodes(tensors):
    """The nodes that the graph of `tensors` consists of."""
    seen, stack = {}, [edge(t) for t in tensors]
    while stack:
        e = stack.pop()
        target = e[0] if e.__class__ is tuple else e
        if target is not None and not isinstance(target, TensorBase) and id(target) not in seen:
            seen[id(target)] = target
            stack.extend(target._ts_next)
    return seen.values()


def counted_with(tensors, pairs):
    """What the graph of `tensors` saved of the first of two tensors with the same values is a saved second one from now on: it may not be
    written before a backward pass."""
    places = {id(t._ts_st): other for t, other in pairs}
    for node in nodes(tensors):
        if any([id(g[1]) in places for g in node._ts_guard]):
            node._ts_guard = [_moved(g, places[id(g[1])]) if id(g[1]) in places else g for g in node._ts_guard]
        if isinstance(node, FunctionNode) and node._ts_saved:
            for k, entry in enumerate(node._ts_saved):
                t = entry[0] if entry.__class__ is tuple else None         # else a transform's node, which notes that it kept something
                other = None if t is None else places.get(id(t._ts_st))
                if other is not None and t._ts_view is None and edge(t) is edge(other):
                    node._ts_saved[k] = other, None, version(other), None


def _moved(entry, t):
    """An entry of a node's `_ts_guard` as one of what `t` sees."""
    st, vw, x = t._ts_st, t._ts_view, t._ts_extra
    if x is not None and x.version is not None:
        st = OwnVersion(st, x.version)
    k, _, _, _, steps, offset, creation = entry
    return k, st, st.version, st.gen, (() if vw is None else vw.steps) + steps, offset + offset_of(t), creation
