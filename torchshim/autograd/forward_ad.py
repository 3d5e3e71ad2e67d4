"""Forward-mode AD: dual numbers. A tensor made by `make_dual` carries a tangent, and so does all that is computed from it.

Tangents lie on graph nodes, by output. A call's tangent is found when its node is made: its backward is linear in the cotangents, and
the gradient of that backward in them, with the inputs' tangents as cotangents, is the Jacobian times the tangents. So every operator
that has a second derivative has a forward mode, in torch's conventions. What has a tangent and no gradient has a `ForwardOnly` node,
which no backward enters. Nodes are looked at from the first dual level on, and not before.
"""
from __future__ import annotations

import contextlib
import weakref
from typing import NamedTuple, Optional

from ..dropin import missing_attribute as _missing_attribute
from ..engine import context, meta_of
from ..ops.batched_views import place
from ..ops.views import ViewOp, ViewsOp
from ..tensor.api.bind import FUNCTIONS
from ..tensor.api.views import memory_of
from ..tensor.core.dispatch import wrap
from ..tensor.core.graph import AccumulateGrad, ForwardOnly, Node, around_nodes, forward_node, forward_only, wraps_one
from ..tensor.core.handle import TensorBase, edge, meta, offset_of, read, tangent_of, version
from ..tensor.core.inference import INFERENCE, unversioned
from ..tensor.core.overriding import settle
from ..tensor.core.tensor import Tensor
from ..tensor.core.view import detached, make_view_any
from ..tensor.core.write import CopySlices, refuse_overlap, watch_writes
from . import grad_mode as modes
from .backward import run
from .cotangents import GradTensors
from .function import without_tangents
from .grad_ops import zeros_value
from .grad_mode import grad_mode
from .second_order import constant, read_by

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]

_current_level = -1


class _Level:
    """The nodes that have tangents of one level."""

    def __init__(self):
        self.nodes, self.shown = [], []        # and those of tensors with a history of which a dual is a view

    def put(self, node, tangents, alone=None):
        """Give a node the tangents of its outputs. `alone`: {number of an operand: edge} for those that have a tangent and no gradient,
        which the gradients of the others may read."""
        node._ts_more().tangents = self, tangents, alone
        self.nodes.append(weakref.ref(node))

    def of(self, e):
        """The tangent at an edge, or None."""
        node, nr = e if e.__class__ is tuple else (e, 0)
        extra = node._ts_extra if isinstance(node, Node) else None
        if extra is None or extra.tangents is None or extra.tangents[0] is not self:
            return None
        return extra.tangents[1].get(nr)

    def end(self):
        for ref in self.nodes:
            node = ref()
            if node is not None:
                node._ts_extra.tangents = None


def level_here():
    """The level for which this thread computes tangents now, or None."""
    return None if "forward AD off" in context.modes else context.modes.get("forward AD")


class _set_fwd_grad_enabled(modes._Decorating):
    """A block in which tangents are computed, or are not."""

    def __init__(self, mode):
        self.before, self.grad, self.mode = "forward AD off" in context.modes, context.grad, mode
        self._stop_pushing()
        _switch(not mode)

    def _stop_pushing(self):
        """Let what a jvp computes have no history to push tangents along, where it has it for that alone."""
        pushing = [] if self.mode else context.modes.get("transform", ())
        if any([x.pushes for x in pushing]):
            outer = [t for t in (*pushing[0].given, *pushing[0].others) if isinstance(t, TensorBase)]
            if any([x.kind == "grad" and not x.pushes for x in pushing]) or any([t.requires_grad for t in outer if not any([
                    t is i for i in pushing[0].ins])]):
                raise NotImplementedError("torchshim: forward gradients switched off where others are wanted of what is computed")
            context.grad = False

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        _switch(self.before)
        context.grad = self.grad

    def clone(self):
        """Another such block, for a decorated function."""
        return self.__class__(self.mode)


def _is_fwd_grad_enabled():
    """Whether tangents are computed."""
    return "forward AD off" not in context.modes


def _switch(off):
    if off:
        context.modes["forward AD off"] = True
    else:
        context.modes.pop("forward AD off", None)


@contextlib.contextmanager
def _plainly():
    """No tangents of what is computed inside, which tangents are made of."""
    with without_tangents(), grad_mode(True), context.mode("pushing", True):
        yield


def _real(e):
    return None if e is None or forward_only(e) else e


def _watching(make_node):
    """make_node that computes tangents where an input has one."""
    def make(inst, needs, edges, vals, tensors, outs, nums):
        level = level_here()
        tangents = level is not None and any([e is not None and level.of(e) is not None for e in edges])
        if not tangents:
            real = tuple([_real(e) for e in edges])
            needs &= ~sum([1 << i for i, e in enumerate(edges) if e is not None and forward_only(e)])
            # a view's history is made anew under no_grad too; with gradients off for tangents' sake alone there is none
            return make_node(inst, needs, real, vals, tensors, outs, nums) if needs and context.grad is not modes.FORWARD else None
        if context.inference:                  # there torch follows nothing
            return None
        try:
            node = make_node(inst, needs, edges, vals, tensors, outs, nums)
        # torch saves no inference tensors and says so; of such alone it drops the tangents, beside others it saves nothing for these
        except RuntimeError as error:
            if str(error) != INFERENCE or context.grad is True and any([_real(e) is not None for e in edges]):
                raise
            if all([t is None or unversioned(t) for t in tensors]):
                return None
            with context.mode("saves nothing", True):
                return followed(make_node(inst, needs, edges, vals, tensors, outs, nums), level, inst, vals, tensors, outs, nums)
        return followed(node, level, inst, vals, tensors, outs, nums)

    def followed(node, level, inst, vals, tensors, outs, nums):
        if node is None:
            return None
        given = [None if e is None else level.of(e) for e in node._ts_next]
        alone = {i: e for i, e in enumerate(node._ts_next) if e is not None and forward_only(e)}
        node._ts_next = tuple([_real(e) for e in node._ts_next])
        keeps = context.grad is True and any([e is not None for e in node._ts_next])
        deep = keeps or context.grad is True and any([t is not None and t.requires_grad for t in given])
        if deep and given and given[0] is not None and tensors and tensors[0] is None:         # what is written will be another one
            with without_tangents():
                given[0] = given[0].clone()
        pushed = _seen(inst, given, nums) or _pushed(node, vals, outs, given, deep) if any([t is not None for t in given]) else {}
        if not keeps:
            node._ts_next, node.__class__, alone = (), ForwardOnly, None
        elif pushed:
            _follow_primals(node, given, pushed)
        level.put(node, pushed, alone)
        return node
    return make


def _seen(inst, given, nums):
    """{output: tangent} of a view: views of the tangent, as in torch. None of what is no view, or no view of that memory."""
    steps = inst.info if isinstance(inst.op, ViewsOp) else (inst,) if isinstance(inst.op, ViewOp) else ()
    if not steps or given[0].is_sparse:
        return None
    t, made = given[0], {}
    m = meta(t)
    with without_tangents(), grad_mode(context.grad is True):
        for k, step in enumerate(steps):
            found = place(meta_of((1, *m.shape), m.dtype, m.device, (0, *m.strides)), step, nums)
            if found is None:
                return None
            offset = offset_of(t) * m.dtype.itemsize // step.out.dtype.itemsize + found[3]
            made[k] = make_view_any(t, step.op, step.layout, offset, nums, step.kinds)
    return made


def refuse_unpushed(nodes):
    """torch's error where one of these nodes is of an operator that it has no formula for."""
    for node in nodes:
        op = node._ts_inst and node._ts_inst.op
        op = getattr(op, "op", op)
        pushes = getattr(op, "pushes", True)
        pushes = pushes(node._ts_inst) if callable(pushes) else pushes
        if pushes is not True:
            name = pushes or (f"special_{op.name}" if op.namespace == "special" else op.name)
            raise NotImplementedError(f"Trying to use forward AD with {name} that does not support it because it has not been "
                                      "implemented yet.\nPlease file an issue to PyTorch at https://github.com/pytorch/pytorch/issues/new?"
                                      "template=feature-request.yml so that we can prioritize its implementation or submit a PR adding the "
                                      "implementation to derivatives.yaml")
        if type(node).__name__ == "NotImplemented":
            raise NotImplementedError(f"Trying to use forward AD with aten::{op.name} that does not support it.")


def _pushed(node, vals, outs, tangents, deep):
    """{output: tangent} of a call; `deep`: the tangents have a history."""
    plan, inst = node._ts_plan, node._ts_inst
    refuse_unpushed((node,))
    with _plainly():
        us = [wrap(zeros_value(inst.out_metas[nr]), True) for nr in plan.cts]
        pulled = GradTensors.vjp(node, [vals[i] for i in plan.args] + [outs[k] for k in plan.outs], us)
        pairs = [(edge(g), tangents[i], g) for i, g in zip(plan.needs, pulled) if tangents[i] is not None and edge(g) is not None]
        got = {}
        if pairs:
            cts = [t if t.dtype is g.dtype else t.to(g.dtype) for _, t, g in pairs]
            got = run([e for e, _, _ in pairs], cts if deep else [read(c) for c in cts], True, deep, us, False)
        made = {nr: _tensor(got.get(k), inst.out_metas[nr]) for k, nr in enumerate(plan.cts)}
        given = [t._ts_st for t in tangents if t is not None]          # a copy's tangent is a copy: it may be written
        return {nr: t.clone() if any([t._ts_st is st for st in given]) else t for nr, t in made.items()}


def _follow_primals(node, given, made):
    """torch's formulas for tangents take zeros for those of operands that have none, numbers too where it makes tensors of them: such a
    zero times what another operand gives has a history in that."""
    inst = node._ts_inst
    if all([t.requires_grad for t in made.values()]):
        return
    lacking, reads = [i for i in inst.diff_ins if given[i] is None], {}
    if lacking:
        reads = read_by(node, lacking)
    if getattr(inst.op, "op", inst.op).name in ("mul", "div", "true_divide") and wraps_one(inst.op, inst.layout):
        reads.update({e: inst.in_metas[i] for i, e in enumerate(node._ts_next) if e is not None})
    for t in made.values():
        if reads and not t.requires_grad:
            constant(t, "AddBackward0", tuple(reads), tuple(reads.values()))


def _tensor(got, meta):
    t = got if isinstance(got, TensorBase) else wrap(zeros_value(meta) if got is None else got)
    return t if t._ts_meta.dense or t.is_sparse else t.clone()        # what was given is no view of its result's tangent


def _after_write(t, e):
    """The history of a tensor after a write. A tangent that it had is written in place, as the tensor is: whoever holds it sees that."""
    level = level_here()
    if isinstance(e, CopySlices):
        e = _through_view(e, level)
    before = None if level is None or e is None else level.of(t._ts_edge)
    after = None if level is None or e is None else level.of(e)
    stays = forward_only(e) and t._ts_edge is not None and not forward_only(t._ts_edge)          # under no_grad its history does
    if before is not None and after is not None and after is not before and after.shape == before.shape:
        with without_tangents(), grad_mode(context.grad is True):
            before.copy_(after)
        after = before
        if not stays:
            level.put(e, {0: before})
    if stays:
        node, nr = t._ts_edge if t._ts_edge.__class__ is tuple else (t._ts_edge, 0)
        known = node._ts_extra and node._ts_extra.tangents
        level.put(node, {**(known[1] if known else {}), nr: after}, known[2] if known else None)
        return t._ts_edge
    return e


def _through_view(cs, level):
    """The history of a base after a write through its view: CopySlices, with the tangent that was written in its place."""
    base, part = (None, None) if level is None else (level.of(cs._ts_next[0]) if cs._ts_next[0] is not None else None,
                                                     None if cs.fn is None else level.of(cs.fn))
    cs._ts_next = tuple([_real(e) for e in cs._ts_next])
    keeps = any([e is not None for e in cs._ts_next])
    if base is None and part is None:
        return cs if keeps else None
    if keeps and context.grad is not True and (isinstance(cs._ts_next[0], (TensorBase, AccumulateGrad)) or cs._ts_next[0] is None):
        raise NotImplementedError("torchshim: a write of a dual tensor, under no_grad, into a view of a leaf")
    if base is None and cs.steps[-1][0].out_metas[0].numel < cs.meta.numel and any([x is cs._ts_next[0] for x in level.shown]):
        raise NotImplementedError("torchshim: a write into a part of a dual tensor whose primal has a history")
    deep = context.grad is True
    with _plainly():
        base = _tensor(base, cs.meta)
        whole = GradTensors.put(base, cs.steps, _tensor(part, cs.steps[-1][0].out_metas[0]))
    node = cs if keeps and deep else forward_node()
    level.put(node, {0: whole if deep else whole.detach()})
    return node


# -- Functions of the user ------------------------------------------------------------------------------------------------
def through_function(ctx, args, done):
    """Give the outputs `done` of a custom Function the tangents that its `jvp` computes."""
    level = level_here()
    given = ctx._ts_tangents
    if all([t is None for t in given]):
        return
    tangents = []
    for a, t in zip(args, given):
        if t is None and isinstance(a, TensorBase) and ctx._ts_materialize and (a.is_floating_point() or a.is_complex()):
            t = wrap(zeros_value(meta(a)))
        tangents.append(t)
    dirty = [k for k, a in enumerate(args) if any(a is d for d in ctx._ts_dirty)]
    versions = {k: tangents[k]._version for k in dirty if tangents[k] is not None}
    saved, ctx._ts_saved = ctx._ts_saved, [(t, None, 0 if t is None else version(t), None) for t in ctx._ts_for_forward]
    try:
        with without_tangents():
            made = ctx._ts_forward_cls.jvp(ctx, *tangents)
    finally:
        ctx._ts_saved = saved
    made = made if isinstance(made, tuple) else (made,)
    if len(made) != len(done):
        raise RuntimeError(f"Function's jvp returned an invalid number of forward gradients (expected {len(done)} but got {len(made)})")
    got = {}
    for k, (o, t) in enumerate(zip(done, made)):
        if t is not None and not isinstance(t, TensorBase):
            raise RuntimeError(f"expected Variable or None (got {type(t).__name__}) for grad output {k}.")
        if t is not None:
            got[k] = _checked(ctx, args, tangents, versions, k, o, t)
    _give(level, ctx, done, got)


def _checked(ctx, args, tangents, versions, k, o, t):
    """A tangent that a user's jvp returned for output `k`, with torch's refusals."""
    if not isinstance(o, TensorBase) or any([o is x for x in ctx._ts_non_diff]):
        raise RuntimeError(f"A non-differentiable output at position {k} was given a tangent by jvp. You should return None at that "
                           "position instead.")
    if t.shape != o.shape:
        raise RuntimeError(_SIZE.format(list(o.shape), list(t.shape)))
    at = next((j for j, a in enumerate(args) if o is a), None)
    if at in versions and (t is not tangents[at] or t._version == versions[at]):
        raise RuntimeError("An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is modifying an "
                           "input inplace, then the jvp function must modify the corresponding gradient inplace.")
    if at is None and o._ts_view is not None:
        source = next((j for j, a in enumerate(args) if isinstance(a, TensorBase) and a._ts_st is o._ts_st), None)
        if source is not None and tangents[source] is not None:
            if t._ts_view is None or t._ts_view.base is None:
                raise RuntimeError("A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a "
                                   "view.")
            if t._ts_st is not tangents[source]._ts_st:
                seen, given = args[source]._ts_view, tangents[source]._ts_view
                e, level = edge(args[source]), level_here()
                before = getattr(e[0] if e.__class__ is tuple else e, "_ts_next", ())
                of_view = (seen is not None and seen.base is not None and tangent_of(seen.base) is not None
                           or any([x is not None and level.of(x) is not None for x in before]))
                same = "the same base as " if of_view or given is not None and given.base is not None else ""
                raise RuntimeError("A custom Function is returning a view but the jvp is not returning a view of "
                                   f"{same}the given grad input.")
    return t


def _give(level, ctx, done, got):
    """Put tangents on the outputs' nodes."""
    own = {}
    for k, t in got.items():
        o = done[k]
        e = edge(o)
        if e is None or e is o or forward_only(e):
            o._ts_edge = node = forward_node()
            level.put(node, {0: t})
        else:
            own.setdefault(id(e[0] if e.__class__ is tuple else e), (e, {}))[1][e[1] if e.__class__ is tuple else 0] = t
    for e, tangents in own.values():
        level.put(e[0] if e.__class__ is tuple else e, tangents)


# -- levels and dual tensors ---------------------------------------------------------------------------------------------
_SIZE = ("Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. Tensor is of "
         "size {} while the given forward gradient is of size {}.")


class UnpackedDualTensor(NamedTuple):
    """A dual tensor's value and its tangent (None where it has none)."""
    primal: Tensor
    tangent: Optional[Tensor]


NESTED = "Nested forward mode AD is not supported at the moment"


def enter_dual_level():
    """Begin to compute tangents; returns the level's number, 0: levels do not nest, as in torch."""
    global _current_level
    settle()
    if _current_level >= 0:
        raise RuntimeError(NESTED)
    around_nodes("forward AD", _watching)
    watch_writes(_after_write)
    _current_level = 0
    context.modes["forward AD"] = _Level()
    context.record_all()
    modes.off = modes.FORWARD
    if context.grad is False:
        context.grad = modes.FORWARD
    return 0


def exit_dual_level(*, level=None):
    """End the level: all tangents are gone."""
    global _current_level
    if level is None:
        level = _current_level
    if level != _current_level:
        raise RuntimeError("Trying to exit a forward AD level that was not the last one that was created. This is not supported.")
    if level < 0:
        raise RuntimeError("Dual level must be a positive number.")
    _current_level = -1
    context.modes.pop("forward AD").end()
    modes.off = False
    if context.grad is modes.FORWARD:
        context.grad = False


class dual_level(modes._Decorating):
    """A block in which dual tensors may be made; its target is the level's number."""

    def __enter__(self):
        return enter_dual_level()

    def __exit__(self, *exc):
        exit_dual_level()


def make_dual(tensor, tangent, *, level=None):
    """`tensor` (floating or complex) with `tangent`, of the same shape, as its derivative: an alias of the same memory."""
    if level is None:
        level = _current_level
    if level < 0:
        raise RuntimeError("Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first.")
    for x, what in ((tensor, "primal"), (tangent, "tangent")):
        if not (x.is_floating_point() or x.is_complex()):
            raise ValueError(f"Expected {what} to be floating point or complex, but got: {x.dtype}")
    here, e = level_here(), edge(tensor)
    if tangent_of(tangent) is not None:
        raise RuntimeError(f"Setting a forward grad that itself has a forward gradient at the same level{level} is not supported.")
    if tangent_of(tensor) is not None:
        raise RuntimeError("Making a dual Tensor based on a Tensor that already has a forward gradient at the same level "
                           f"{level} is not supported.")
    if tangent.shape != tensor.shape:
        raise RuntimeError(_SIZE.format(list(tensor.shape), list(tangent.shape)))
    if meta(tensor).strides != meta(tangent).strides:
        refuse_overlap(tensor)                 # a tangent is laid as its primal, where torch writes it
    if context.grad is True and _real(e) is not None:
        with _plainly():
            dual = tensor.view_as(tensor)
        here.shown.append(edge(tensor))
    else:
        dual = detached(tensor)
        dual._ts_edge = forward_node()
    here.put(dual._ts_edge, {0: _laid_as(tensor, tangent)})
    return dual


def _laid_as(tensor, tangent):
    """The tangent as torch keeps it: itself where it sees as large a memory in the same way as its primal, else a copy that does."""
    if tensor.is_sparse or tangent.is_sparse:
        return tangent
    m, t = meta(tensor), meta(tangent)
    bits = tensor.is_conj(), tensor.is_neg()
    size = memory_of(tensor) // m.dtype.itemsize
    if ((not m.numel or all([n < 2 or a == b for n, a, b in zip(m.shape, m.strides, t.strides)])
         and offset_of(tensor) == offset_of(tangent)) and bits == (tangent.is_conj(), tangent.is_neg())
            and size == memory_of(tangent) // t.dtype.itemsize):
        return tangent
    with _plainly():
        whole = FUNCTIONS["zeros"](size, dtype=tangent.dtype, device=tangent.device)
        copy = whole.as_strided(m.shape, m.strides, offset_of(tensor))
        copy = copy.conj() if bits[0] else copy
        copy = copy._neg_view() if bits[1] else copy
        with grad_mode(context.grad is True and tangent.requires_grad):
            return copy.copy_(tangent)


def unpack_dual(tensor, *, level=None):
    """(primal, tangent) of a tensor; the tangent is None where it has none, or outside of any level."""
    if level is None:
        level = _current_level
    if level < 0:
        return UnpackedDualTensor(tensor, None)
    if not isinstance(tensor, TensorBase):
        raise TypeError(f"_unpack_dual(): argument 'dual' (position 1) must be Tensor, not {type(tensor).__name__}")
    tangent = tangent_of(tensor)
    if context.grad is True and _real(edge(tensor)) is not None:
        with _plainly():
            return UnpackedDualTensor(tensor.view_as(tensor), tangent)
    return UnpackedDualTensor(detached(tensor), tangent)


__getattr__ = _missing_attribute(__name__)
