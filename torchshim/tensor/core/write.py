"""Writes in place: what they refuse, what becomes of the memory, and of the history of whoever sees it."""
from __future__ import annotations

from weakref import ref as weakref

from ...engine import context, record
from ...ops.views import slice_put as SLICE_PUT
from . import graph
from .dispatch import wrapped
from .graph import ForwardOnly, Node, forward_only, guard_output, move_retained, sequence
from .handle import TensorBase, creation_error, edge, log_edge, meta, read
from .moving import moving
from .storage import log_write, write_steps


def bump(t):
    """Count a write to `t` that comes next."""
    st, extra = t._st, t._extra
    undo = context.trace.undo
    if undo is not None:
        log_write(undo, st, None if extra is None else extra.version)
    st.gen += 1
    if extra is not None and extra.version is not None:
        extra.version[0] += 1
    else:
        st.version += 1


def set_value(t, value):
    """Make `value` what a tensor that is no view holds."""
    bump(t)                                    # first: whoever is interrupted here has counted a write that did not happen
    t._st.value = value


def write(t, value):
    """Make `value` what `t` holds; every tensor on its storage sees it."""
    st, vw = t._st, t._view
    if vw is None:
        bump(t)
        st.value = value
    else:
        whole = write_steps(st.value, vw.steps, value)
        seen = weakref(value)
        bump(t)
        st.value, vw.ref, vw.gen = whole, seen, st.gen
    if st.version != st.version:
        refuse_inference(t)                    # after the write: that is when torch notices


def slice_write(t, spec, value, number=None, nums=(), kinds=""):
    """Write through a basic index where no gradient is wanted: `value` is a tensor, or None and the number is packed."""
    va = read(t)
    vals = (va,) if value is None else (va, read(value))
    free = moving(SLICE_PUT, spec, number, vals, kinds)
    if free is not None:
        starts = [e[1] for e, f in zip(spec, free) if e is not f]
        spec, nums, kinds = free, [*starts, *nums], "i" * len(starts) + kinds
    write(t, record(context, SLICE_PUT, (spec, number), vals, nums, kinds)[0])


def apply_inplace(op, tensors, layout, nums=(), kinds="", target=0, overlap=None):
    """An in-place operator: the result is written into `tensors[target]`, which is returned. `overlap`: see `refuse_overlap`."""
    t = tensors[target]
    if t._view is not None:
        check_inplace(t, needs_grad(t) or any([edge(x) is not None for x in tensors]))
    edges = tuple([edge(x) for x in tensors])
    wants = any([e is not None for e in edges])
    if wants and t._view is None:
        check_inplace(t, wants)
    vals = [read(x) for x in tensors]
    if t._view is not None or len(tensors) > 1:
        refuse_overlap(t, tensors, overlap)
    result, inst = record(context, op, layout, vals, nums, kinds)
    node = None
    if context.grad and wants:
        needs = 0
        for i, e in enumerate(edges):
            if e is not None:
                needs |= 1 << i
        # what it saves of its target is the value before the write, which the write does not spoil
        node = graph.make_node(inst, needs, edges, vals, [None if i == target else x for i, x in enumerate(tensors)], (result,), nums)
    write(t, result)
    if node is not None:
        if 0 in node.plan.outs:
            guard_output(node, 0, t._st, t._view.steps if t._view is not None else ())
        rebase(t, node)
    elif context.grad is True and edges[target] is not None and not inst.diff_outs:
        rebase(t, None)
    return t


def inplace_number(op, t, x, layout, kind):
    """apply_inplace with one Python number."""
    return apply_inplace(op, (t,), layout, (wrapped(x) if kind == "i" else x,), kind)


# -- the history ----------------------------------------------------------------------------------------------------------
_after_write = None


def watch_slices(seen):
    """From now on `seen(cs)` gives the edge that a base gets in the place of the CopySlices `cs`."""
    global _after_write
    _after_write = seen


def rebase(t, node):
    """After an in-place write: `t`'s history is `node`; a view writes it into its base's (torch's CopySlices)."""
    vw = t._view
    if node.__class__ is ForwardOnly and t._edge is not None and not forward_only(t._edge):
        raise NotImplementedError("torchshim: a write of a dual tensor, under no_grad, into a tensor that has a history")
    log_edge(t)
    if vw is None or vw.base is None:
        if t._extra is not None and t._extra.retains:
            move_retained(t, t._edge, node)
        t._edge = node
        t._st.writer = None if node is None else type(node).__name__
        return
    base, steps = vw.base, vw.steps[vw.skip:]
    log_edge(base)
    cs = object.__new__(CopySlices)
    cs.inst = cs.plan = cs.extra = None
    cs.fn, cs.steps, cs.meta = node, steps, meta(base)
    cs.next = (edge(base),) + (tuple(node.next[1:]) if node is not None else ())
    cs.saved, cs.guard, cs.nums, cs.seq = (), (), (), next(sequence)
    if base._extra is not None and base._extra.retains:
        move_retained(base, base._edge, cs)
    base._edge = cs if _after_write is None else _after_write(cs)
    t._st.writer = "torch::autograd::CopySlices"
    if t._extra is not None and t._extra.retains:
        edge(t)                                # its gradient is kept where its history is read anew


class CopySlices(Node):
    """The history of a base after a write through a view: its gradient flows to the old base where nothing was
    written, and through the write's own node (`fn`) where it was."""
    __slots__ = ("fn", "steps", "meta")

    @property
    def n_outputs(self):
        return 1

    def out_meta(self, nr):
        return self.meta

    def release(self):
        self.saved = self.fn = None            # whatever it saved; what leads to the write's own node may still go through that


# -- refusals ---------------------------------------------------------------------------------------------------------------
def needs_grad(t):
    """torch's requires_grad: a view of something that needs a gradient needs one, even if made under no_grad."""
    return edge(t) is not None


def check_inplace(t, needs):
    """torch's refusals of in-place writes that the graph would have to follow; `needs`: some operand needs a gradient."""
    if not needs or context.grad is not True:
        return
    vw = t._view
    if vw is not None and vw.base is not None:
        if vw.creation is not None:
            raise RuntimeError(creation_error(t, vw))
        if vw.base._edge in (None, True) and needs_grad(t):
            raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
    elif t._edge is True:
        raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")


class leaves_first:
    """What an in-place operator refuses of its arguments, the graph refuses first."""
    __slots__ = ("t",)

    def __init__(self, t):
        self.t = t

    def __enter__(self):
        pass

    def __exit__(self, kind, error, tb):
        if isinstance(error, Exception) and isinstance(self.t, TensorBase):
            try:
                check_inplace(self.t, needs_grad(self.t))
            except RuntimeError as first:
                raise first.with_traceback(None) from None


def refuse_overlap(t, tensors=(), mode=None):
    """torch's refusals of writes to memory where elements coincide: among themselves, or with an operand's. `mode` None is
    for elementwise operators, which may read what they write; "fill" does not mind coinciding elements; "indexed" may share
    nothing with its operands; "put" is both of these."""
    m = meta(t)
    if mode in (None, "indexed") and not m.contiguous and m.numel > 1 and any([s == 0 and n > 1 for n, s in zip(m.shape, m.strides)]):
        raise RuntimeError("unsupported operation: more than one element of the written-to tensor refers to a single memory "
                           "location. Please clone() the tensor before performing the operation.")
    if mode == "fill":
        return                                 # the value is read before
    strict, itself = mode in ("indexed", "put"), False
    for x in tensors:
        if x._st is t._st:
            if x is t and not itself:
                itself = True                  # the target among its own operands
            elif _overlaps_in_part(t, m, x, meta(x), strict):
                raise RuntimeError("unsupported operation: some elements of the input tensor and the written-to tensor refer to a "
                                   "single memory location. Please clone() the tensor before performing the operation.")


def _overlaps_in_part(t, m, x, mx, strict):
    if not m.numel or not mx.numel or not m.dense or not mx.dense:
        return False
    a = t._view.offset * m.dtype.itemsize if t._view is not None else 0
    b = x._view.offset * mx.dtype.itemsize if x._view is not None else 0
    a_end, b_end = a + m.numel * m.dtype.itemsize, b + mx.numel * mx.dtype.itemsize
    if (a, a_end) == (b, b_end):
        return strict or m.strides != mx.strides
    return a < b_end and b < a_end


# -- inference tensors -----------------------------------------------------------------------------------------------------
# The version of memory born in inference mode is NaN: a write that counts (`version += 1`) leaves it NaN, so `version != version` tells
# such memory at no cost for other memory, and no saved version ever equals it.
UNVERSIONED = float("nan")


def is_inference(t):
    """Whether the tensor was made in inference mode."""
    v = t._st.version
    return v != v


def refuse_inference(t):
    """torch's refusal to write to an inference tensor outside of inference mode."""
    if not context.inference and is_inference(t):
        raise RuntimeError("Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal "
                           "tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details.")
