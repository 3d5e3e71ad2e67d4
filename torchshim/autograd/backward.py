"""Backward: walk the graph from the roots in torch's order, recording each node's vjp like any other operator.

Without `create_graph` cotangents are bare engine Values; with it they are tensors, and the same records make nodes.
"""
from __future__ import annotations

import heapq
import re

from ..engine import context, record
from ..ops import promotion as P
from ..tensor.core import dispatch
from ..tensor.core.dispatch import CopySlices, TensorBase, apply, edge, read, wrap
from ..tensor.core.graph import AccumulateGrad, Node, accumulator, node_class
from ..tensor.core.storage import read_steps, write_steps
from . import anomaly_mode
from .grad_ops import ADD, ones_value, zeros_value
from .modes import grad_mode
from .replay import Log, replayed

_RELEASED = ("Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
             "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
             "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
             "after calling backward.")


class GradList:
    """Arithmetic on cotangents as bare Values."""
    graph = False

    @staticmethod
    def add(a, b):
        return record(context, ADD, (), (a, b))[0]

    @staticmethod
    def zeros(meta):
        return zeros_value(meta)

    @staticmethod
    def tensor(g):
        return wrap(g)

    @staticmethod
    def back(t):
        return read(t)

    @staticmethod
    def vjp(node, saved, cts):
        r = record(context, node.plan.vjp, (), saved + cts, node.nums, node.plan.vjp_kinds)[0]
        return r if r.__class__ is list else [r]

    @staticmethod
    def slice(g, steps):
        return read_steps(g, steps)

    @staticmethod
    def put(g, steps, part):
        return write_steps(g, steps, part)


class GradTensors:
    """Arithmetic on cotangents as tensors: the backward is itself differentiable."""
    graph = True

    @staticmethod
    def add(a, b):
        return apply(ADD, (a, b), ())

    @staticmethod
    def zeros(meta):
        return wrap(zeros_value(meta))

    @staticmethod
    def tensor(g):
        return g

    back = tensor

    @staticmethod
    def vjp(node, saved, cts):
        plan = node.plan
        tensors = []
        for k, v in enumerate(saved):
            if k < len(plan.args):
                e = node.next[plan.args[k]]
            else:
                nr = plan.outs[k - len(plan.args)]
                e = (node if len(node.inst.out_metas) == 1 else (node, nr)) if nr in node.inst.diff_outs else None
            tensors.append(_tensor_at(v, e))
        r = apply(plan.vjp, tensors + cts, (), node.nums, plan.vjp_kinds)
        return list(r) if r.__class__ is tuple else [r]

    @staticmethod
    def slice(g, steps):
        from ..tensor.core.storage import Get, split_steps
        insts, nums, kinds = split_steps(steps)
        return apply(Get.of(insts), (g,), (), nums, kinds)

    @staticmethod
    def put(g, steps, part):
        from ..tensor.core.storage import Put, split_steps
        insts, nums, kinds = split_steps(steps)
        return apply(Put.of(insts), (g, part), (), nums, kinds)


def _tensor_at(value, e):
    """A tensor with this value and history; a leaf is itself, so that gradients reach it."""
    if isinstance(e, TensorBase):
        return _LeafAlias.of(value, e)
    return wrap(value, e)


class _LeafAlias:
    """A saved leaf: the leaf's edge with the value it had."""

    @staticmethod
    def of(value, leaf):
        if read(leaf) is value:
            return leaf
        return wrap(value, accumulator(leaf))


_TYPE_NAMES = {"float32": "torch.FloatTensor", "float64": "torch.DoubleTensor", "float16": "torch.HalfTensor",
               "bfloat16": "CPUBFloat16Type", "complex64": "CPUComplexFloatType", "complex128": "CPUComplexDoubleType",
               "int64": "torch.LongTensor", "int32": "torch.IntTensor", "int16": "torch.ShortTensor", "int8": "torch.CharTensor",
               "uint8": "torch.ByteTensor", "bool": "CPUBoolType"}


def modified_error(meta, now, expected, producer=None, nr=0):
    """torch's error for a saved tensor that was written since; `producer` names the node that made it."""
    made = f", which is output {nr} of {re.sub('Backward[0-9]*$', '', producer)}," if producer else ""
    return RuntimeError("one of the variables needed for gradient computation has been modified by an inplace operation: "
                        f"[{_TYPE_NAMES.get(meta.dtype.name, meta.dtype.name)} {list(meta.shape)}]{made} is at version {now}; expected "
                        f"version {expected} instead. {_HINT_ON if anomaly_mode.on else _HINT}")


_HINT = ("Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
         "torch.autograd.set_detect_anomaly(True, check_nan=False).")
_HINT_ON = ("Hint: the backtrace further above shows the operation that failed to compute its gradient. The variable in question was changed "
            "in there or anywhere later. Good luck!")


def _residuals(node):
    """What a node saved, checked. A write through `.data` changes the saved tensor and is not noticed, as in torch."""
    saved, args = list(node.saved), node.plan.args
    for k, st, version, gen, steps in node.guard:
        if st.gen == gen:
            continue
        if st.version == version:
            saved[k] = read_steps(st.value, steps)
            continue
        if k >= len(args):
            nr = node.plan.outs[k - len(args)]
            raise modified_error(node.inst.out_metas[nr], st.version, version, node.name(), nr)
        target, nr = _targets(node.next[args[k]])
        producer = None
        if isinstance(target, Node) and target.__class__ is not AccumulateGrad:
            producer = getattr(st, "writer", None) or target.name()
        raise modified_error(node.inst.in_metas[args[k]], st.version, version, producer, nr)
    return saved


def _targets(e):
    """(node or leaf, output number) of an edge."""
    return e if e.__class__ is tuple else (e, 0)


def run(roots, cts, retain_graph, create_graph, inputs, accumulate):
    """Backward from `roots` (edges) with cotangents `cts`. Returns the gradients of `inputs` (edges) unless `accumulate`.

    With `inputs` only what leads to them runs.
    """
    mode = GradTensors if create_graph else GradList
    log = None
    apply_node = anomaly_mode.watched(_apply) if anomaly_mode.on else _apply
    if inputs is None and not create_graph and len(roots) == 1 and isinstance(roots[0], Node) and not context.eager and apply_node is _apply:
        if replayed(roots[0], cts[0], retain_graph):
            return {}
        log = Log(roots[0], cts[0])
    ready, buffers, missing = [], {}, {}
    wanted = None
    captured = {}
    if inputs is not None:
        wanted = {}
        for k, e in enumerate(inputs):
            target, nr = _targets(e)
            wanted.setdefault(id(target), []).append((nr, k))
    order, needed = _reach(roots, inputs)
    for target in order:                       # how many edges lead to each node
        if isinstance(target, TensorBase) or target.__class__ is AccumulateGrad:
            continue
        for e in target.next:
            if e is not None:
                t = e[0] if e.__class__ is tuple else e
                missing[id(t)] = missing.get(id(t), 0) + 1
    queued = set()

    def push(target):
        if id(target) not in queued:
            queued.add(id(target))
            leaf = isinstance(target, TensorBase) or target.__class__ is AccumulateGrad
            heapq.heappush(ready, (-(1 << 62) if leaf else -target.seq, len(queued), target))

    def give(e, g):
        target, nr = _targets(e)
        box = buffers.setdefault(id(target), {})
        if g is not None:
            box[nr] = g if nr not in box else mode.add(box[nr], g)
    for e, g in zip(roots, cts):
        give(e, g)
    for e in roots:
        t = _targets(e)[0]
        if not missing.get(id(t)):
            push(t)
    with grad_mode(create_graph):
        while ready:
            target = heapq.heappop(ready)[2]
            box = buffers.pop(id(target), {})
            leaf = target if isinstance(target, TensorBase) else target.variable if target.__class__ is AccumulateGrad else None
            if leaf is not None:
                _leaf(leaf, box.get(0), mode, wanted, captured, accumulate, log)
                continue
            node = target
            if needed is not None and id(node) not in needed:
                if box and node.extra is not None:
                    _tensor_hooks(box, mode, node.extra)
                grads = [None] * len(node.next)
            else:
                extra = node.extra
                if extra is not None:
                    _before(node, box, mode, extra)
                if wanted is not None and id(node) in wanted:
                    for nr, k in wanted[id(node)]:
                        if nr in box:
                            captured[k] = box[nr]
                if needed is not None and needed[id(node)] is False and not accumulate:
                    continue                   # only captured here: nothing below is asked for
                if not box:
                    grads = [None] * len(node.next)
                else:
                    if log is not None:
                        log.node(node)
                    grads = apply_node(node, box, mode)
                    if extra is not None and extra.post:
                        grads = _after(node, grads, box, mode, extra)
                    if not retain_graph:
                        node.release()
            for e, g in zip(node.next, grads):
                if e is None:
                    continue
                t = e[0] if e.__class__ is tuple else e
                give(e, g)
                missing[id(t)] -= 1
                if not missing[id(t)]:
                    push(t)
    if log is not None:
        log.keep()
    return captured


def _reach(roots, inputs):
    """All nodes below the roots; and, when `inputs` are given, which lead to one (False: is one, and leads to none)."""
    seen, order, stack = set(), [], [_targets(e)[0] for e in roots]
    while stack:
        t = stack.pop()
        if id(t) in seen:
            continue
        seen.add(id(t))
        order.append(t)
        if not isinstance(t, TensorBase) and t.__class__ is not AccumulateGrad:
            for e in t.next:
                if e is not None:
                    stack.append(e[0] if e.__class__ is tuple else e)
    if inputs is None:
        return order, None
    wanted = {id(_targets(e)[0]) for e in inputs}
    needed = {}
    # a node's inputs were made before it, so ascending sequence numbers are children first
    for t in sorted((t for t in order if isinstance(t, Node)), key=lambda t: t.seq):
        below = False
        if t.__class__ is not AccumulateGrad:
            for e in t.next:
                if e is not None:
                    c = e[0] if e.__class__ is tuple else e
                    if id(c) in wanted or needed.get(id(c)):
                        below = True
        if below:
            needed[id(t)] = True
        elif id(t) in wanted:
            needed[id(t)] = False
    return order, needed


def _apply(node, box, mode):
    """The gradients of a node's inputs, aligned with `node.next`."""
    if isinstance(node, CopySlices):
        return _copy_slices(node, box[0], mode)
    custom = getattr(node, "custom_backward", None)
    if custom is not None:
        return custom(box, mode)
    plan = node.plan
    if node.saved is None:
        raise RuntimeError(_RELEASED)
    saved = _residuals(node) if node.guard else list(node.saved)
    cts = [box[nr] if nr in box else mode.zeros(node.inst.out_metas[nr]) for nr in plan.cts]
    out = mode.vjp(node, saved, cts)
    grads = [None] * len(node.next)
    for i, g in zip(plan.needs, out):
        grads[i] = g
    return grads


def _copy_slices(node, g, mode):
    if node.saved is None:
        raise RuntimeError(_RELEASED)
    part = mode.slice(g, node.steps)
    if node.fn is None:
        inner = [None]
    else:
        inner = _apply(node.fn, {0: part}, mode)
    kept = inner[0]
    if kept is None:
        kept = mode.zeros(node.steps[-1][0].out_metas[0])
    first = mode.put(g, node.steps, kept) if node.next[0] is not None else None
    return [first] + inner[1:]


def _before(node, box, mode, extra):
    """Hooks on this node's outputs: tensor hooks, retained gradients, prehooks."""
    _tensor_hooks(box, mode, extra)
    if extra.pre:
        n = node.n_outputs
        gs = tuple(mode.tensor(box[k]) if k in box else None for k in range(n))
        for hook in list(extra.pre.values()):
            r = hook(gs)
            if r is not None:
                gs = r if isinstance(r, tuple) else (r,)
        for k, g in enumerate(gs):
            if g is not None:
                box[k] = mode.back(g)


def _tensor_hooks(box, mode, extra):
    """What belongs to the tensors: they get to see their gradient even where the node itself is not asked for."""
    if extra.tensor_hooks:
        for nr, hooks in extra.tensor_hooks.items():
            if nr in box:
                box[nr] = _run_hooks(hooks, box[nr], mode)
    if extra.retain:
        for nr, ref in extra.retain.items():
            t = ref()
            if t is not None and nr in box:
                g = mode.tensor(box[nr])
                old = t._more().grad
                t._more().grad = g if old is None else old + g


def _after(node, grads, box, mode, extra):
    ins = tuple(None if g is None else mode.tensor(g) for g in grads)
    outs = tuple(mode.tensor(box[k]) if k in box else None for k in range(node.n_outputs))
    for hook in list(extra.post.values()):
        r = hook(ins, outs)
        if r is not None:
            ins = tuple(r) if isinstance(r, (tuple, list)) else (r,)
    return [None if g is None else mode.back(g) for g in ins]


def _run_hooks(hooks, g, mode):
    t = mode.tensor(g)
    for hook in list(hooks.values()):
        r = hook(t)
        if r is not None:
            if not isinstance(r, TensorBase):
                raise TypeError(f"hook for tensor must return None or a Tensor, not {type(r).__name__}")
            if r.shape != t.shape:
                raise RuntimeError(f"hook '{getattr(hook, '__name__', hook)}' has changed the size of value")
            t = r
    return mode.back(t)


def _leaf(leaf, g, mode, wanted, captured, accumulate, log):
    if g is None:
        return
    x = leaf._extra
    if x is not None and x.hooks:
        g = _run_hooks(x.hooks, g, mode)
    if wanted is not None:
        asked = wanted.get(id(leaf))
        if asked is None and x is not None and x.accumulator is not None:
            asked = wanted.get(id(x.accumulator()))
        if asked is None:
            return
        for _, k in asked:
            captured[k] = g
        if not accumulate:
            return
    old = x.grad if x is not None else None
    before = None if old is None else read(old)
    accumulate_grad(leaf, g, mode)
    if log is not None:
        log.leaf(leaf, before, read(leaf._extra.grad))
    if x is not None and x.post_hooks:
        for hook in list(x.post_hooks.values()):
            hook(leaf)


def accumulate_grad(leaf, g, mode):
    """Into `leaf.grad`: the first gradient becomes it, later ones are added in place."""
    x = leaf._more()
    old = x.grad
    if old is None:
        if mode.graph:
            x.grad = g.clone()
            if x.grad.grad_fn is not None:
                x.grad.grad_fn.__class__ = node_class("CopyBackwards")
        else:
            x.grad = wrap(g)
    elif mode.graph:
        x.grad = old + g
    else:
        dispatch.write(old, record(context, ADD, (), (read(old), g))[0])


def make_cts(outputs, grads):
    """Cotangents for the roots: the given ones checked, ones for scalars."""
    from ..tensor.core.tensor import Tensor
    out = []
    for k, (t, g) in enumerate(zip(outputs, grads)):
        m = read(t).meta
        if isinstance(g, Tensor):
            gm = read(g).meta
            if gm.shape != m.shape:
                raise RuntimeError(f"Mismatch in shape: grad_output[{k}] has a shape of {g.shape} and output[{k}] has a shape of "
                                   f"{t.shape}.")
            if P.kind_of(m.dtype) != P.kind_of(gm.dtype) and (P.kind_of(m.dtype) == 3) != (P.kind_of(gm.dtype) == 3):
                raise RuntimeError(f"For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch "
                                   f"in dtype: grad_output[{k}] has a dtype of {g.dtype} and output[{k}] has a dtype of {t.dtype}.")
            if gm.dtype != m.dtype:
                g = g.to(t.dtype)
            out.append(g)
        elif g is None:
            if edge(t) is None:
                out.append(None)
                continue
            if m.numel != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            if P.kind_of(m.dtype) != 2:
                raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {t.dtype}")
            out.append(wrap(ones_value(m)))
        else:
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
    return out
