"""Backward: walk the graph from the roots in torch's order, recording each node's vjp like any other operator.

Without `create_graph` cotangents are bare engine Values; with it they are tensors, and the same records make nodes.
"""
from __future__ import annotations

import heapq
import itertools
from operator import attrgetter

from ..engine import Batched, Value, VjpOp, context, contiguous_strides, influences, record, writers
from ..ops import promotion as P
from ..ops.registry import T
from ..ops.memory_views import as_strided as AS_STRIDED
from ..ops.shape import CLONE
from ..tensor.core import graph
from ..tensor.core.dispatch import apply, wrap
from ..tensor.core.graph import AccumulateGrad, Node, Nowhere, accumulator, accumulator_hooks, leads_nowhere, node_class
from ..tensor.core.handle import TensorBase, log_grad, meta, read
from ..tensor.core.storage import lain, lie_there
from ..tensor.core.tensor import Tensor
from ..tensor.core.write import CopySlices, write
from . import anomaly_mode, node_hooks, turns
from .cotangents import GradTensors, arithmetic
from .grad_ops import ADD, ones_value
from .factors import release_product
from .grad_mode import grad_mode
from .replay import Log, plain, replayed, started
from .saved import RELEASED, end_of, residuals
from .second_order import part_of, part_with, with_lists

dispatching = None          # how cotangents flow where operators are dispatched, see torchshim/_dispatch/gradients.py
_tasks = itertools.count()  # backward passes, so that what is made for one is known from what is made for the next


def run(roots, cts, retain_graph, create_graph, inputs, accumulate, mode=None, ends=()):
    """Backward from `roots` (edges) with cotangents `cts`. Returns the gradients of `inputs` (edges) unless `accumulate`.

    With `inputs` only what leads to them runs. `mode`: the arithmetic on cotangents, where it is not the usual one. `ends`: those among the
    inputs that belong to another walk, which comes after this one: nothing goes beyond them, and their hooks are not run.
    """
    log = None
    if (mode is None and not ends and (inputs is None or not accumulate) and not create_graph and not context.eager and not anomaly_mode.on
            and "forward AD" not in context.modes):
        start = started(roots, cts)
        if start is not None:
            targets = None if inputs is None else [end_of(e) for e in inputs]
            found = replayed(start, targets, retain_graph)
            if found is not None:
                return found
            log = Log(start, targets)
            start[0].graph = True              # as while it was built: a cut in the middle would keep the walk from being kept
    walk = _Walk(roots, inputs, retain_graph, create_graph, accumulate, log, mode, ends)
    walk.send(roots, cts)
    walk.begin(roots)
    task = context.modes.get("graph task")
    context.modes["graph task"] = next(_tasks), inputs is not None or task is not None and task[1], walk
    try:
        with grad_mode(create_graph):
            walk.all()
        for callback in walk.callbacks:        # one may queue another
            callback()
    finally:
        context.modes["graph task"] = task
    if log is not None:
        log.keep(walk.captured)
    return walk.captured


class _Walk:
    """A walk from the roots down: a node's turn comes when all edges that lead to it were served, the latest node first
    and leaves before nodes, as in torch."""

    def __init__(self, roots, inputs, retain_graph, create_graph, accumulate, log, mode, ends=()):
        self.mode = mode or (GradTensors if create_graph or "forward AD" in context.modes else arithmetic())
        self.apply = anomaly_mode.watched(_apply) if anomaly_mode.on else _apply
        self.retain_graph, self.accumulate, self.log = retain_graph, accumulate, log
        self.boxes = {}                        # by id of the target: {output number: sum of the cotangents so far}
        self.ready, self.queued, self.box, self.at = [], set(), None, None      # at: whose turn it is
        self.captured, self.wanted, self.callbacks = {}, None, []
        self.only = end_of(roots[0])[0] if len(roots) == 1 else None
        if inputs is not None:
            self.wanted = {}
            for k, e in enumerate(inputs):
                target, nr = end_of(e)
                self.wanted.setdefault(id(target), []).append((nr, k))
        # missing: by id of the target, how many edges to it were not served yet
        self.ends = {id(end_of(e)[0]) for e in ends}
        _, self.needed, self.reached, self.missing, self.told = _reach(roots, inputs, self.ends)
        self.put, self.take = (turns.put, turns.take) if self.told else (heapq.heappush, heapq.heappop)

    def send(self, edges, grads):
        """Add gradients to what the edges' ends have got so far."""
        for e, g in zip(edges, grads):
            if e is None:
                continue
            target, nr = end_of(e)
            box = self.boxes.setdefault(id(target), {})
            if g is not None:
                box[nr] = g if nr not in box else self.mode.add(box[nr], g)

    def begin(self, roots):
        """The roots that nothing leads to; a single one whatever it leads to."""
        for e in roots:
            t = end_of(e)[0]
            if not self.missing.get(id(t)):
                self.push(t, len(roots) == 1)

    def push(self, target, anyway=False, later=0):
        if (anyway or self.executes(target)) and id(target) not in self.queued:
            self.queued.add(id(target))
            turn = target._ts_turn if isinstance(target, Node) else AccumulateGrad._ts_turn
            self.put(self.ready, (-target._ts_seq if turn is None else turn + later, len(self.queued), target))

    def serve(self, node, grads):
        """A node's gradients to its edges' ends, and these into the queue in torch's order."""
        self.send(node._ts_next, grads)
        order, by_heap = turns.order_of(node)
        for k, place in enumerate(range(len(grads)) if order is None else order):
            e = node._ts_next[place]
            if e is not None:
                target = end_of(e)[0]
                self.missing[id(target)] -= 1
                if not self.missing[id(target)]:
                    self.push(target, later=0 if order is None or by_heap else k)

    def all(self):
        """Node after node. One that is ready alone is next: it need not queue."""
        ready, boxes, missing, wanted, needed, mode = self.ready, self.boxes, self.missing, self.wanted, self.needed, self.mode
        log, keep, alone, parts = self.log, self.retain_graph, None, self.wanted is not None and self.mode.narrow is not False
        told = self.told
        while alone is not None or ready:
            if alone is None:
                target = self.take(ready)[2]
            else:
                target, alone = alone, None
            self.at = target
            i = id(target)
            box, asked = boxes.pop(i, None) or {}, False
            if wanted is not None:
                asked = i in wanted
                if not asked and not needed.get(i):
                    self.passed_by(target, box)
                    log = None
                    continue
            if not isinstance(target, Node):
                if 0 in box:
                    self.leaf(target, box[0])
                elif target._ts_extra is not None:
                    self.unreached(target, target._ts_extra)
                continue
            extra = target._ts_extra
            if log is not None and (extra is not None or not log.ok):
                log.ok, log, self.log = False, None, None
            if log is None and box and not asked and (extra is None or not extra.pre and not extra.post):       # as `node` does it
                if extra is not None:
                    node_hooks.tensor_hooks(box, mode, extra)
                self.box = box
                grads = self.apply(target, box, mode, self.part(target) if parts else None)
                if not keep:
                    target._ts_release()
            else:
                grads = self.node(target, box)
                if grads is None:
                    continue
            if graph.loose_shapes:
                grads = _fitting(target, grads, mode)
            if told:
                self.serve(target, grads)
                continue
            for e, g in zip(target._ts_next, grads):      # to its edges' ends: what waited for nothing else is ready
                if e is None:
                    continue
                nr = 0
                if e.__class__ is tuple:
                    e, nr = e
                if e.__class__ is AccumulateGrad:
                    e = e.variable
                i = id(e)
                box = boxes.get(i)
                if box is None:
                    boxes[i] = {} if g is None else {nr: g}
                elif g is not None:
                    box[nr] = g if nr not in box else mode.add(box[nr], g)
                missing[i] = left = missing[i] - 1
                if not left and (wanted is None or i in wanted or needed.get(i)):
                    if alone is None and not ready:
                        alone = e
                    else:
                        if alone is not None:
                            self.push(alone)
                            alone = None
                        self.push(e)

    def will_execute(self, e):
        """Whether this walk computes a gradient at an edge's end. torch does not count a single root."""
        target = end_of(e)[0]
        if target is self.only or id(target) not in self.reached:
            return False
        if self.wanted is not None and not self.accumulate and id(target) in self.wanted and not isinstance(target, Node):
            raise RuntimeError("A leaf node was passed to _will_engine_execute_node but we are currently running autograd.grad(). This is "
                               "currently not supported.")
        return self.executes(target)

    def executes(self, target):
        """Whether the gradient of what the walk reached is asked for, or leads to one that is."""
        return self.wanted is None or id(target) in self.wanted or bool(self.needed.get(id(target)))

    def part(self, node, led=None):
        """What a node computes where not all of its gradients lead to what is asked for: see `second_order.Part`. None where all do.
        `led`: for each edge whether its gradient is wanted, where somebody looks at them all."""
        plan, needs, edges = node._ts_plan, 0, node._ts_next
        if node.__class__ is CopySlices:
            e = edges[0]
            return WRITTEN_ALONE if e is not None and node.fn is not None and not self.executes(end_of(e)[0]) else None
        if plan is None or len(plan.needs) < 2 or node._ts_custom_backward is not None:
            return None
        if self.mode.narrow is None:
            if plan.inst.op.back_refuses is None:
                return None
            if self.log is not None:           # what is kept for replays knows whole nodes alone
                self.log.ok, self.log = False, None
        wanted, needed = self.wanted, self.needed
        for i in plan.needs:
            e = edges[i]
            if e is None:
                continue
            if e.__class__ is tuple:           # as `end_of`
                e = e[0]
            if e.__class__ is AccumulateGrad:
                e = e.variable
            e = id(e)
            if e in wanted or needed.get(e) or led is not None and led[i]:
                needs |= 1 << i
        return part_of(plan, needs) if needs and needs.bit_count() < len(plan.needs) else None

    def led(self, node):
        """For each edge whether hooks see its gradient: torch computes those alone that lead to what is asked for, but all of a list if any
        does."""
        leads, at = [e is not None and self.executes(end_of(e)[0]) for e in node._ts_next], 0
        for x in getattr(node._ts_inst, "layout", ()):
            if x.__class__ is tuple and T in x:
                n = x.count(T)
                leads[at:at + n] = [any(leads[at:at + n])] * n
                at += n
            else:
                at += x is T
        return leads

    def passed_by(self, root, box):
        """A root that leads to no input: only what belongs to its tensors happens."""
        if self.log is not None:               # a replay would not look whether it has hooks
            self.log.ok, self.log = False, None
        if isinstance(root, Node):
            if root._ts_extra is not None:
                node_hooks.tensor_hooks(box, self.mode, root._ts_extra)
        elif root._ts_extra is not None and root._ts_extra.hooks and 0 in box:
            node_hooks.run_hooks(root._ts_extra.hooks, box[0], self.mode)

    def node(self, node, box):
        """The gradients of a node's inputs, with all hooks; None where nothing below is asked for."""
        extra = node._ts_extra
        wanted = () if self.wanted is None else self.wanted.get(id(node), ())
        # torch's order: hooks come after what is asked for where the walk goes on, before it where it ends
        before = {k: box[nr] for nr, k in wanted if nr in box} if wanted and self.needed[id(node)] else None
        if extra is not None and id(node) not in self.ends:
            node_hooks.tensor_hooks(box, self.mode, extra)
        if self.wanted is not None:
            self.captured.update({k: box[nr] for nr, k in wanted if nr in box} if before is None else before)
            if self.needed[id(node)] is False and not self.accumulate:
                return None
        if extra is not None and extra.pre:
            node_hooks.before(node, box, self.mode, extra)
        if not box and not hasattr(node, "_ts_forward_cls"):      # a custom Function is run, with zeros
            grads = [None] * len(node._ts_next)
            if extra is not None and extra.pre:
                _unpacked_idly(node)
                if not self.retain_graph:
                    node._ts_release()
            return grads if extra is None or not extra.post else node_hooks.after(node, grads, box, self.mode, extra)
        if self.log is not None:
            self.log.node(node)
        self.box = box                         # for what unpacks saved tensors
        seen = extra is not None and extra.post and self.wanted is not None and not hasattr(node, "_ts_forward_cls")
        led = self.led(node) if seen else None
        part = with_lists(node) if extra is not None and extra.post and self.mode.narrow is not False else None
        if part is None and self.wanted is not None and self.mode.narrow is not False:
            part = self.part(node, led)
        grads = self.apply(node, box, self.mode, part)
        if extra is not None and extra.post:
            if seen:
                grads = [g if there else None for g, there in zip(grads, led)]
            grads = node_hooks.after(node, grads, box, self.mode, extra)
        if not self.retain_graph:
            node._ts_release()
        return grads

    def leaf(self, leaf, g):
        """A leaf's gradient is complete: hooks, and into `grad` where that is asked for."""
        x = leaf._ts_extra
        if leads_nowhere(leaf):
            return
        if x is not None and x.hooks and id(leaf) not in self.ends:
            g = node_hooks.run_hooks(x.hooks, g, self.mode)
        if self.wanted is not None:
            for _, k in self.wanted[id(leaf)]:
                self.captured[k] = g
            if not self.accumulate:
                return
        extra = None if x is None else accumulator_hooks(x)
        box = {0: g}
        if extra is not None and extra.pre:
            node_hooks.before(accumulator(leaf), box, self.mode, extra)
        if 0 in box and leaf._ts_edge not in (None, True) and leaf._ts_edge.__class__ is not AccumulateGrad:
            raise RuntimeError("leaf variable has been moved into the graph interior")
        if 0 in box and leaf._ts_edge is not None:        # torch asks again: `requires_grad` may be off since
            first = leaf._ts_extra is None or leaf._ts_extra.grad is None
            self.accumulated(leaf, box[0])
            if first and leaf._ts_extra.grad is not None:     # the gradient is the leaf's now: hooks may have written it
                box[0] = self.mode.back(leaf._ts_extra.grad)
        elif 0 in box and leaf._ts_extra is not None and leaf._ts_extra.post_hooks:
            _tell(leaf, leaf._ts_extra.post_hooks)
        if extra is not None and extra.post:
            node_hooks.after(accumulator(leaf), (), box, self.mode, extra)

    def accumulated(self, leaf, g):
        x, log = leaf._ts_extra, self.log
        with writers.hold():
            old = x.grad if x is not None else None
            if log is not None and (g.__class__ is not Value or old is not None and not plain(old)):
                log.ok, log = False, None       # sparse, or seen otherwise than as a whole
            before = None if log is None or old is None else read(old)
            accumulate_grad(leaf, g, self.mode)
            if log is not None:
                log.leaf(leaf, before, read(leaf._ts_extra.grad))
        if x is not None and x.post_hooks:
            _tell(leaf, x.post_hooks)

    def unreached(self, leaf, x):
        """A leaf's turn where no gradient has come: hooks are told so."""
        if x.hooks:
            node_hooks.told_of_nothing(x.hooks)
        if self.wanted is not None and not self.accumulate or leaf._ts_edge is not True:
            return
        extra = accumulator_hooks(x)
        if extra is not None and extra.pre:
            node_hooks.before(accumulator(leaf), {}, self.mode, extra)
        if x.post_hooks:
            if self.log is not None:
                self.log.ok = False
            _tell(leaf, x.post_hooks)
        if extra is not None and extra.post:
            node_hooks.after(accumulator(leaf), (), {}, self.mode, extra)


def _tell(leaf, hooks):
    """The hooks that follow the accumulation of a leaf's gradient."""
    given = leaf
    for hook in list(hooks.values()):
        made = hook(given)
        if made is not None and not isinstance(made, TensorBase):
            raise TypeError(f"expected Variable, but hook returned '{type(made).__name__}'")
        given = given if made is None else made
    if given is not leaf:
        raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def _reach(roots, inputs, ends=()):
    """(all that is below the roots; when `inputs` are given, which lead to one (False: is one, and leads to none); the ids of what is
    below the roots; how many edges lead to each of these ids; whether somebody can tell which leaf is first). Nothing goes beyond what has its
    id in `ends`."""
    seen, order, stack, missing, below, told = set(), [], [end_of(e)[0] for e in roots], {}, {}, False
    while stack:
        t = stack.pop()
        i = id(t)
        if i in seen:
            continue
        seen.add(i)
        order.append(t)
        if isinstance(t, Node):
            told = told or t._ts_turn is not None
            led = below[i] = []
            for e in t._ts_next if i not in ends else ():
                if e is not None:
                    if e.__class__ is tuple:
                        e = e[0]
                    if e.__class__ is AccumulateGrad:
                        e = e.variable
                    k = id(e)
                    led.append(k)
                    if k in missing:
                        missing[k] += 1
                    else:
                        missing[k] = 1
                        stack.append(e)
        elif not told:
            told = turns.tells(t)
    if inputs is None:
        return order, None, seen, missing, told
    wanted = {id(t) for t in [end_of(e)[0] for e in inputs] if isinstance(t, Node) or not leads_nowhere(t)}
    needed = {}
    # a node's inputs were made before it, so ascending sequence numbers are children first
    for t in sorted([t for t in order if isinstance(t, Node)], key=_SEQUENCE):
        i = id(t)
        for k in below[i]:
            if k in wanted or needed.get(k):
                needed[i] = True
                break
        else:
            if i in wanted:
                needed[i] = False
    return order, needed, seen, missing, told


_SEQUENCE = attrgetter("_ts_seq")
WRITTEN_ALONE = object()       # the part of a CopySlices whose gradient of what was there before nobody asks for


def _apply(node, box, mode, part=None):
    """The gradients of a node's inputs, aligned with `node._ts_next`."""
    if isinstance(node, CopySlices):
        return _copy_slices(node, box[0], mode, part is None)
    custom = node._ts_custom_backward
    if custom is not None:
        if isinstance(node, Nowhere) and node._ts_guard:
            residuals(node)                    # nothing comes of it, but torch looks
        return custom(box, mode)
    plan = node._ts_plan
    if node._ts_saved is None:
        raise RuntimeError(RELEASED)
    saved = node._ts_saved
    for g in node._ts_guard:
        if g[1].gen != g[3]:
            if "pushing" in context.modes:     # forward derivatives are of what was there when the call was made
                break
            try:
                saved = residuals(node, asked=(context.modes["graph task"][2], box))
            except RuntimeError:
                release_product(node, context.modes["graph task"][2], box)
                raise
            break
    cts, lacking = plan.cts, False
    if len(box) < len(cts):
        idle = node._ts_inst.op.idle
        if idle is not None and box.keys() <= {*idle(node._ts_inst)}:
            return [None] * len(node._ts_next)
        part, lacking = part_with(plan, part, tuple([nr for nr in cts if nr in box])), True
        cts = cts if part is None else part.plan.cts
    cts = [box[cts[0]]] if len(cts) == 1 and box else [box[nr] if nr in box else mode.zeros(node._ts_inst.out_metas[nr]) for nr in cts]
    if part is None:
        out = mode.vjp(node, saved, cts)
    else:
        out, plan = mode.vjp(node, saved, cts, part), part.plan
    if len(out) == len(node._ts_next) and not lacking and len(plan.cts) == 1:
        return out
    grads = [None] * len(node._ts_next)
    for i, g in zip(plan.needs, out):
        grads[i] = g
    if not lacking:
        return grads
    op = node._ts_inst.op
    # one operator here, of which torch has one for each gradient
    if (isinstance(op.op if op.__class__ is Batched else op, VjpOp)
            and all([m.numel for m in node._ts_inst.in_metas])):               # what is empty tells nothing
        reads = influences(node._ts_inst)
        for i in plan.needs:
            if not reads[i] & box.keys():
                grads[i] = None
    return grads


def _unpacked_idly(node):
    """torch's refusals where hooks took all gradients of a node: its formula unpacks what it saved all the same."""
    if node._ts_custom_backward is None and not isinstance(node, CopySlices):
        if node._ts_saved is None:
            raise RuntimeError(RELEASED)
        if any([g[1].gen != g[3] for g in node._ts_guard]):
            residuals(node)


def _fitting(node, grads, mode):
    """The gradients that a node made, as those get them who come next: summed to their shapes, refused where that cannot be."""
    made = list(grads)
    for k, (e, g) in enumerate(zip(node._ts_next, grads)):
        target, nr = end_of(e) if e is not None else (None, 0)
        if g is None or target is None or mode.__class__ is not type:
            continue
        t, shape = mode.tensor(g), target._ts_out_meta(nr).shape if isinstance(target, Node) else graph.kept_shape(target)
        if shape is not None and t._ts_meta.shape != shape:
            made[k] = mode.back(fitted(node, k, t, shape))
    return made


def fitted(node, k, t, shape):
    """The gradient `t` of a node's input `k`, summed to this shape; refused where that cannot be."""
    if len(shape) > t.ndim or any([n != m and n != 1 for n, m in zip(reversed(shape), reversed(t._ts_meta.shape))]):
        place = list(node._ts_places(range(len(node._ts_next)))).index(k)
        raise RuntimeError(f"Function {node.name()} returned an invalid gradient at index {place} - got {list(t._ts_meta.shape)} "
                           f"but expected shape compatible with {list(shape)}")
    return t.sum_to_size(shape)


def _called(node, *grads):
    """A node as a function of the gradients of its outputs: those of its inputs, with a history where they or what it saved have one. One
    tensor, or a tuple with None where there is none."""
    places = node_hooks.outputs_of(node)
    if len(grads) != len(places):
        raise TypeError(f"expected {len(places)} arguments, got {len(grads)} instead")
    for k, g in enumerate(grads):
        if g is not None and not isinstance(g, TensorBase):
            raise TypeError(f"argument {k} is not a Variable")
    got = _apply(node, {k: g for k, g in zip(places, grads) if g is not None}, GradTensors)
    got = [None if k is None else got[k] for k in node._ts_places(range(len(got)))]
    return got[0] if len(got) == 1 else tuple(got)


Node.__call__ = _called

def _refuse_outside(window, base):
    """torch's error where the view that was written, which has other memory than its base since, does not fit into that."""
    (size, stride, offset), item = window.layout[:3], base.dtype.itemsize
    needed, there = [(at + sum([(n - 1) * s for n, s in zip(shape, strides)]) + 1) * item if all(shape) else 0
                     for shape, strides, at in ((size, stride, offset), (base.shape, base.strides, 0))]
    if needed > there:
        raise RuntimeError(f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {item} "
                           f"requiring a storage size of {needed} are out of bounds for storage of size {there}")


def _copy_slices(node, g, mode, whole=True):
    if node._ts_saved is None:
        raise RuntimeError(RELEASED)
    if node.steps and node.steps[0][0].op is AS_STRIDED:
        _refuse_outside(node.steps[0][0], node.meta)
    part = mode.slice(g, node.steps)
    if node.fn is None:
        inner = [None]
    else:
        inner = _apply(node.fn, {0: part}, mode)
    kept, m = inner[0], node.steps[-1][0].out_metas[0]
    if node._ts_next[0] is None or not whole or kept is None and hasattr(node.fn, "_ts_forward_cls"):
        return [None] + inner[1:]
    if node.fn is not None and m.numel and 0 in m.strides and any([s == 0 and n > 1 for n, s in zip(m.shape, m.strides)]):
        raise RuntimeError("unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
                           "Please clone() the tensor before performing the operation.")
    return [mode.put(g, node.steps, mode.zeros(m) if kept is None else kept)] + inner[1:]


def accumulate_grad(leaf, g, mode):
    """Into `leaf.grad`: the first gradient becomes it, later ones are added in place."""
    x = leaf._ts_more()
    old = x.grad
    log_grad(leaf)
    if mode.accumulate is not None and mode.accumulate(leaf, g):
        return
    if old is None and graph.loose_shapes and _laid_otherwise(mode.tensor(g)._ts_meta, meta(leaf), mode):
        x.grad = mode.tensor(g).new_empty(meta(leaf).shape).copy_(mode.tensor(g))
    elif old is None:
        if mode.graph:
            m = meta(leaf)
            x.grad = apply(CLONE, (g,), (T, m.strides if m.dense else contiguous_strides(m.shape)))
            if m.dense and x.grad.grad_fn is not None:
                x.grad.grad_fn.__class__ = node_class("CopyBackwards")
        else:
            m = meta(leaf)
            if g.meta is not m and g.meta.shape == m.shape and g.meta.dtype == m.dtype:
                g = _own(g, m)
            x.grad = wrap(g)
            if lain and g.meta.strides == m.strides:
                lie_there(x.grad)
    elif mode.graph:
        x.grad = g + old if old.is_sparse and not g.is_sparse else old + g
    elif graph.loose_shapes and mode.tensor(g)._ts_meta.shape != meta(old).shape:
        old.add_(mode.tensor(g))               # refused, or summed as what it was
    else:
        write(old, record(context, ADD, (), (read(old), g))[0])


def _own(g, m):
    """A gradient as a leaf with the Meta `m` keeps it, in torch: laid as the leaf, or contiguous if that has gaps."""
    if 0 not in g.meta.strides and all([n == 1 or s == t for n, s, t in zip(m.shape, g.meta.strides, m.strides)]):
        return g
    return record(context, CLONE, (T, m.strides if m.dense else contiguous_strides(m.shape)), (g,))[0]


def _laid_otherwise(g, leaf, mode):
    """Whether a leaf that has another shape than its history knows gets a copy of its gradient, in its own shape, and not the gradient."""
    return g.shape != leaf.shape and g.ndim <= leaf.ndim and (
        mode.graph or any([n != 1 and s != t for n, s, t in zip(g.shape, g.strides, leaf.strides)]))


def make_cts(outputs, grads):
    """Cotangents for the roots: the given ones checked, ones for scalars."""
    out = []
    for k, (t, g) in enumerate(zip(outputs, grads)):
        if not isinstance(t, Tensor):
            raise AssertionError("Expected output to be a torch.Tensor")
        m = t._ts_meta
        if isinstance(g, Tensor):
            if g.is_sparse:
                graph.sparse = True
            gm = g._ts_meta
            if gm.shape != m.shape:
                raise RuntimeError(f"Mismatch in shape: grad_output[{k}] has a shape of {g.shape} and output[{k}] has a shape of "
                                   f"{t.shape}.")
            if (m.dtype != gm.dtype and P.kind_of(m.dtype) != P.kind_of(gm.dtype)
                    and (P.kind_of(m.dtype) == 3) != (P.kind_of(gm.dtype) == 3)):
                raise RuntimeError(f"For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch "
                                   f"in dtype: grad_output[{k}] has a dtype of {g.dtype} and output[{k}] has a dtype of {t.dtype}.")
            if gm.dtype != m.dtype:
                g = g.to(t.dtype)
            out.append(g)
        elif g is None:
            if not t.requires_grad:
                out.append(None)
                continue
            if m.numel != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            if P.kind_of(m.dtype) != 2:
                raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {t.dtype}")
            one = None if dispatching is None else dispatching.ones(t)
            out.append(wrap(ones_value(m)) if one is None else one)
        else:
            raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
    return out
