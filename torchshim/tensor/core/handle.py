"""A tensor is a handle: a storage, how it is seen (storage.View), and an edge into the graph. What a tensor is at this moment, value,
meta, version and edge, is asked here; a view finds out whether its memory was written since.
"""
from __future__ import annotations

from weakref import ref as weakref

from numpy import ndarray

from ...engine import Memory, TRACED, array_of, context, is_host, record, value_of
from ...engine.direct import SMALL
from ...ops.memory_views import NO_WINDOWS, as_strided as AS_STRIDED
from ...ops.views import alias as ALIAS, slice_op as SLICE_OP
from . import graph
from .graph import Node
from .hooks import retain_instead
from .host import HostStorage, part
from .moving import moving
from .storage import Get, SharedCount, read_steps, split_steps


class TensorBase:
    """The fields of a Tensor; `Tensor` adds the API.

    `_ts_edge` is None (no gradient), True (a leaf that wants one), a Node, or (Node, output number).
    """
    __slots__ = ("_ts_st", "_ts_view", "_ts_edge", "_ts_extra", "__weakref__", "__dict__")


def read(t):
    """A tensor's current Value."""
    vw = t._ts_view
    if vw is None:
        return t._ts_st.value
    st = t._ts_st
    if vw.gen == st.gen:
        v = vw.ref()
        if v is not None and (v.array is not None or v.trace is None or v.trace.state is not None):
            return v                           # else its trace ended while nobody held it, and a frame somewhere keeps it from dying
    v = _read_again(t, vw, st.value)
    vw.ref, vw.gen = weakref(v), st.gen
    return v


def _read_again(t, vw, root):
    """What a view sees of its storage's present Value."""
    if t._ts_st.__class__ is HostStorage:
        now = part(t._ts_st, vw)
        if now is not None:
            return now
    steps, m, a, small = vw.steps, vw.meta, root.array, root.meta.numel <= SMALL
    if a is not None and (small and a.__class__ is ndarray and context.trace.direct is not None
                          or m.contiguous and 4 * m.numel <= root.meta.numel and root.extra is not TRACED and is_host(m.device)):
        for inst, nums in steps:               # not worth a program for each place
            a = inst.interpreted()(a, *nums)[0]
        v = value_of(a, m)
        if small:
            vw.held = v                        # as long as the view lives
        return v
    if len(steps) == 1:
        inst, nums = steps[0]
        op, layout, kinds = inst.op, inst.layout, inst.kinds
        if op is SLICE_OP and not kinds:
            open_ = moving(op, layout[0], layout[1], (root,))
            if open_ is not None:
                layout, nums = (open_[0], layout[1]), open_[1]
                kinds = "i" * len(nums)
        v = record(context, op, layout, (root,), nums, kinds)[0]
    else:
        v = read_steps(root, steps)
    if root.extra is TRACED:                   # an equation each time
        vw.held = v
    return v


def meta(t):
    """A tensor's Meta, without recording anything. TypeError for what is no tensor: functions ask for it first."""
    try:
        vw = t._ts_view
    except AttributeError:
        if isinstance(t, TensorBase):
            raise
        raise TypeError(f"argument must be Tensor, not {type(t).__name__}") from None
    return t._ts_st.value.meta if vw is None else vw.meta


def offset_of(t):
    """A tensor's storage offset in elements."""
    vw = t._ts_view
    return 0 if vw is None else vw.offset


def look(t):
    """A tensor's array, computed. A view of host memory is looked at where it lies."""
    if context.ended is not None:
        context.look()
    vw, v = t._ts_view, t._ts_st.value
    if v.extra.__class__ is Memory or vw is None or v.extra is TRACED or not is_host(v.meta.device):
        return array_of(read(t))
    a = array_of(v)
    for inst, nums in vw.steps:
        a = inst.interpreted()(a, *nums)[0]
    return a


def edge(t):
    """A tensor's current edge, with leaves as themselves; a view follows its base's history."""
    vw, e = t._ts_view, t._ts_edge
    if vw is not None and vw.base is not None:
        if e is None and vw.base._ts_edge is None:
            return None
        if vw.seen != version(t):
            _follow_base(t, vw)
            e = t._ts_edge
        if e is None and vw.base._ts_edge is not None:
            t._ts_more().led = True
            return t                           # see graph.leads_nowhere
    return t if e is True else e


def refusal(t, error):
    """`error`, about the arguments of an operator on `t`: torch asks `t` for its history first, which a view can have lost."""
    edge(t)
    return error


def without_history(t):
    """Whether `edge(t)` is None, without asking for a history that was lost."""
    vw = t._ts_view
    return t._ts_edge is None and (vw is None or vw.base is None or vw.base._ts_edge is None)


def tangent_of(t):
    """The tangent of a dual tensor (autograd/forward_ad.py), else None."""
    level = context.modes.get("forward AD")
    e = None if level is None else edge(t)
    return None if e is None else level.of(e)


def version(t):
    """What torch counts as the tensor's version."""
    extra = t._ts_extra
    return t._ts_st.version if extra is None or extra.version is None else extra.version[0]


def keep_count(t):
    """Before `t` gets other memory: it goes on counting versions with what shares its memory now, as in torch."""
    x = t._ts_more()
    x.version = x.version or SharedCount(t._ts_st)


def _follow_base(t, vw):
    """The memory was written since: this view's history goes through its base's present one."""
    base = vw.base
    if base._ts_edge is not None or t._ts_edge not in (None, True):
        if vw.creation is not None:
            if not context.grad:
                return                         # nobody asks for its history here
            raise RuntimeError(creation_error(t, vw, True))
        log_edge(t)
        if t._ts_edge is None and t._ts_extra is not None and t._ts_extra.led:
            graph.lead_nowhere(t)
        before, t._ts_edge = t._ts_edge, chain_node(base, steps_from_base(vw))
        if t._ts_extra is not None and t._ts_extra.retains:
            retain_instead(t, before, t._ts_edge)
        vw.seen = version(t)


def steps_from_base(vw):
    """The steps from a view's base, as that is now, to the view: a window on memory where the base was turned in place since, or got other
    memory."""
    base, steps = vw.base, vw.steps[vw.skip:]
    if (0 if base._ts_view is None else len(base._ts_view.steps)) == vw.skip and (
            not steps or steps[0][0].in_metas[0].shape == meta(base).shape):
        return steps
    m, seen = vw.meta, meta(base)
    layout = m.shape, m.strides, vw.offset - offset_of(base), seen, "AsStridedBackward0"
    return ((AS_STRIDED.resolve(layout, (seen,), ""), ()),)


def chain_node(base, steps):
    """A node that reads `steps` from `base`: a view's history made anew."""
    if not steps:
        inst = ALIAS.resolve(("AliasBackward0",), (meta(base),), "")
        return graph.make_node(inst, 1, (edge(base),), (None,), (None,), (None,), ())
    for k, (inst, _) in enumerate(steps):
        if inst.op in NO_WINDOWS:
            break
    else:
        return _window_node(edge(base), read(base), steps)
    # no window on the base's memory gives it: torch makes it again, a window of what is before and one for each view after
    e, value = edge(base), read(base)
    if k:
        e = _window_node(e, value, steps[:k])
    for step in steps[k:]:
        e = graph.make_node(step[0], 1, (e,), (value,), (None,), (None,), step[1]) if step[0].op in NO_WINDOWS else (
            _window_node(e, value, (step,)))
    return e


def _window_node(e, value, steps):
    insts, nums, kinds = split_steps(steps)
    inst = Get.of(insts).resolve((), (insts[0].in_metas[0],), kinds)
    return graph.make_node(inst, 1, (e,), (value,), (None,), (None,), nums)


def log_edge(t):
    """Before a tensor gets another history, or other memory, while a check is pending."""
    undo = context.trace.undo
    if undo is not None:
        e, vw, st = t._ts_edge, t._ts_view, t._ts_st
        seen = None if vw is None else vw.seen

        def restore():
            t._ts_edge, t._ts_view, t._ts_st = e, vw, st
            if vw is not None:
                vw.seen = seen
        undo.append(restore)


def log_grad(t):
    """Before `t.grad` becomes another tensor while a check is pending."""
    undo = context.trace.undo
    if undo is not None:
        extra = t._ts_extra
        grad = None if extra is None else extra.grad

        def restore():
            t._ts_more().grad = grad
        undo.append(restore)


def without_number(name):
    """A node's name as torch's messages have it: Relu for ReluBackward0, Pow1 for PowBackward1."""
    stem, _, number = name.rpartition("Backward")
    return stem + number if number.isdigit() and number != "0" else stem if number in ("", "0") else name


def creation_error(t, vw, indirect=False):
    """Why a view may not be written in place; `indirect`: its memory was written through another tensor."""
    e = t._ts_edge
    node, nr = e if e.__class__ is tuple else (e, 0)
    mode = "inference" if vw.creation == "inference" else "no_grad"
    what = "its base or another view of its base has been" if indirect else "is being"
    made = f"Output {nr} of {without_number(node.name())} is a view" if isinstance(node, Node) else "A view"
    if vw.creation not in ("multi", "custom") or made == "A view":
        where = "in normal mode" if mode == "inference" else "with grad mode enabled"
        made = made + " of a view which was" if made != "A view" else made + " was"
        text = f"{made} created in {mode} mode and {what} modified inplace {where}."
    else:
        text = f"{made} and {what} modified inplace."
    if vw.creation == "multi":
        return (text + " This view is the output of a function that returns multiple views. Such functions do not allow the output "
                "views to be modified inplace. You should replace the inplace operation by an out-of-place one.")
    if vw.creation == "custom":
        return (text + " This view was created inside a custom Function (or because an input was returned as-is) and the autograd logic to "
                "handle view+inplace would override the custom backward associated with the custom Function, leading to incorrect "
                "gradients. This behavior is forbidden. You can fix this by cloning the output of the custom Function.")
    return (text + " Given that this use case is ambiguous and error-prone, it is forbidden. You can clarify your code by moving both "
            f"the view and the inplace either both inside the {mode}{'_mode' if mode == 'inference' else ''} block (if you don't want the "
            "inplace to be tracked) or both outside (if you want the inplace to be tracked).")
