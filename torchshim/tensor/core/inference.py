"""Tensors made in inference mode, as calls outside of it see them: nothing that has a history may save them."""
from __future__ import annotations

from ...engine import VjpOp, context

INFERENCE = ("Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation tracked "
              "by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or use "
              "`torch.no_grad()` instead of `torch.inference_mode()`.")


def saved_below(inst, needs, edges, i):
    """Whether operand `i` of a call inside of a transform is saved for what has a history outside of all: torch's level below them sees
    the tensor as it is."""
    levels = context.modes["transform"]
    if not levels[0].on or inst.op.__class__ is VjpOp:         # a gradient reads what is made of operands, or comes after such a call
        return False
    own = {id(t) for level in levels for t in level.own}
    seen, left = set(), [edges[j] for j in inst.diff_ins if needs >> j & 1 and i in inst.plan(1 << j).args]
    while left:
        e = left.pop()
        e = e[0] if e.__class__ is tuple else getattr(e, "variable", e)
        if e is not None and id(e) not in seen:
            seen.add(id(e))
            if hasattr(e, "_ts_next"):
                left += e._ts_next
            elif id(e) not in own and "_auxiliary" not in e.__dict__:
                return True
    return False


def unversioned(t):
    """Whether a tensor, or None, was made in inference mode, and is not what a transform made of such a one, to follow it."""
    if t is None or t._ts_st.version == t._ts_st.version:
        return False
    x = t._ts_extra
    if x is not None and x.version.__class__ is list and t._ts_edge is not None:
        return False
    return "saves nothing" not in context.modes and not any(
        [level.kind == "grad" for level in context.modes.get("transform", ())])     # there torch has wrapped it
