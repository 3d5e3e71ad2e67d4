"""Backward for many cotangents at once: the rows of a Jacobian. Each node's vjp is recorded once, over a batch of cotangents, so the user's
function runs once, is never traced, and stays at its place in the trie like any other code."""
from __future__ import annotations

from ..engine import TRACED, Batched, context, meta_of, record, row_of, value_of
from ..tensor.core.dispatch import apply, wrap
from ..tensor.core.graph import AccumulateGrad, Node
from ..tensor.core.handle import TensorBase, edge, meta, read
from ..tensor.core.storage import Get, Put, split_steps
from ..tensor.core.write import CopySlices
from . import anomaly_mode
from .backward import _reach, run
from .saved import Entrance, end_of, saved_tensors
from .second_order import correct, of_part
from .grad_ops import ADD, zeros_value


class _Batch:
    """Stands where the array of a batch would be."""

    def _refused(self, *_, op="item", **__):
        raise RuntimeError(f"Batching rule not implemented for aten::{op}. We could not generate a fallback.")

    __array__ = _refused

    def __repr__(self):
        self._refused(op="is_nonzero")


class GradRows:
    """Arithmetic on cotangents that are `n` rows, as bare Values."""
    graph = narrow = False

    def __init__(self, n):
        self.n = n

    tensor, back = staticmethod(wrap), staticmethod(read)

    def hooked(self, box, run):
        """Hooks run once and see one example of the batch."""
        keys, made = list(box), []
        if not keys:
            return run({})

        def examples(ts):
            found = run(dict(zip(keys, ts)))
            made[:] = found
            return list(found.values())
        rows = walked_once(examples, [self.tensor(g) for g in box.values()])
        return {k: self.back(t) for k, t in zip(made, rows)}

    def retained(self, g):
        """What a tensor retains: a batch, at which nobody can look."""
        v = value_of(_Batch(), row_of(meta(self.tensor(g))))
        v.extra = TRACED
        return wrap(v)

    def record(self, op, vals, mapped, nums=(), kinds=""):
        r = record(context, Batched.of(op, mapped), (), vals, nums, kinds)[0]
        return r if r.__class__ is list else [r]

    def add(self, a, b):
        return record(context, ADD, (), (a, b))[0]

    def zeros(self, meta):
        return zeros_value(meta_of((self.n, *meta.shape), meta.dtype, meta.device))

    def vjp(self, node, saved, cts, part=None):
        plan, saved, nums = of_part(node, part, saved)
        return self.record(plan.vjp, saved + cts, (False,) * len(saved) + (True,) * len(cts), nums, plan.vjp_kinds)

    def slice(self, g, steps):
        insts, nums, kinds = split_steps(steps)
        return self.record(Get.of(insts), [g], (True,), nums, kinds)[0]

    def put(self, g, steps, part):
        insts, nums, kinds = split_steps(steps)
        return self.record(Put.of(insts), [g, part], (True, True), nums, kinds)[0]


class GradRowTensors(GradRows):
    """The same on tensors: the rows can be differentiated."""
    graph = narrow = True

    @staticmethod
    def tensor(g):
        return g

    back = tensor

    def record(self, op, tensors, mapped, nums=(), kinds=""):
        r = apply(Batched.of(op, mapped), tensors, (), nums, kinds)
        return list(r) if r.__class__ is tuple else [r]

    def add(self, a, b):
        return apply(ADD, (a, b), ())

    def zeros(self, meta):
        return wrap(super().zeros(meta))

    def vjp(self, node, saved, cts, part=None):
        if isinstance(node, Entrance):
            return cts
        saved = saved_tensors(node, saved)
        made = super().vjp(node, saved, cts, part)
        plan, given, _ = of_part(node, part, saved)
        correct(node, plan, given + cts, made, [meta(x) for x in given] + [row_of(meta(g)) for g in cts])
        return made


def row_gradients(outs, edges, cts, create_graph, retain_graph=True, hooked=False):
    """For each edge d(sum of cts * outs) / d edge as a tensor with the rows of `cts` first, None where nothing leads there. Returns None
    for all of it where a part of the graph wants to see one cotangent at a time: custom functions, and hooks, unless these are to be
    `hooked`."""
    roots = [edge(o) for o in outs]
    if anomaly_mode.on or "forward AD" in context.modes or not _plain(roots, edges, hooked):
        return None
    n = cts[0].shape[0]
    mode = GradRowTensors(n) if create_graph else GradRows(n)
    captured = run(roots, list(cts) if create_graph else [read(c) for c in cts], retain_graph, create_graph, edges, False,
                   mode)
    got = [captured.get(k) for k in range(len(edges))]
    return [g if g is None or create_graph else wrap(g) for g in got]


def _plain(roots, edges, hooked):
    """Whether all that leads from the roots to the edges are nodes of recorded operators, which nobody watches unless that is allowed."""
    order, needed, *_ = _reach(roots, edges)
    if hooked and any([_together(t) for t in order]):
        return False
    ends = {id(end_of(e)[0]) for e in (*edges, *roots)}
    for t in order:
        if id(t) not in needed and id(t) not in ends:
            continue                           # nothing happens there; hooks of roots run all the same
        if not isinstance(t, Node) or t.__class__ is AccumulateGrad:
            x = (t.variable if t.__class__ is AccumulateGrad else t)._ts_extra
            if x is not None and x.hooks and not hooked:
                return False
        elif t._ts_extra is not None and not hooked or needed.get(id(t)) and not _recorded(t):
            return False
    return True


def _together(t):
    """Whether a hook on a node or leaf goes by what others were given: they have to see one batch."""
    x = t._ts_extra
    if x is None:
        return False
    by_output = [x.hooks] if isinstance(t, TensorBase) else (x.tensor_hooks or {}).values()
    return any([hasattr(hook, "together") for hooks in by_output if hooks for hook in hooks.values()])


def _recorded(node):
    if isinstance(node, CopySlices):
        return node.fn is None or node.fn._ts_extra is None and _recorded(node.fn)
    return node._ts_plan is not None and node._ts_custom_backward is None


def walked_once(walk, cts):
    """What `walk`, which makes gradients, or None, of cotangents makes of all rows of those, batched as a whole."""
    from ..func.vmap import batched
    there = []

    def examples(ts):
        found = walk(ts)
        there[:] = [g is not None for g in found]
        return [g for g in found if g is not None]
    rows = iter(batched(examples, cts, [0] * len(cts), "old"))
    return [next(rows) if known else None for known in there]
