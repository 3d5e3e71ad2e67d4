"""Which of what a gradient's node saved torch looks at. A gradient is one node here; torch makes it of several: first the product with what
came in, then what makes the other factor of the operands, where a backward pass comes only if somebody asks for that."""
from __future__ import annotations

from ..engine import VjpOp, influences
from ..ops.registry import positions
from .second_order import part_of


def _factors(op, outs, asked):
    """The numbers of the operands of a gradient, the VjpOp `op`, that torch's product has as they are, and of those of which none of its nodes
    keeps more than what was made of them; for these of its results, and where the gradients of these operands are asked for."""
    plan, of = op.plan_of, op.inst.op
    of = getattr(of, "op", of)                 # of an operator in place it is the one it is made of
    names = positions(of.params, op.inst.layout)
    made = {names[op.plan_of.needs[k]] for k in outs}
    called = [names[i] for i in plan.args] + [f"result{k or ''}" for k in plan.outs] + ["grad"] * len(plan.cts)
    asked = {called[i] for i in asked}
    kept, fresh = of.factors, of.fresh
    product = op.grad(None) in ("MulBackward0", "DivBackward0") or kept != ()
    if callable(kept):
        kept = kept(made, asked)
        fresh = {*called} - {*kept}
    return [i for i, name in enumerate(called) if name in kept or product and name == "grad" and name not in fresh], [i for i, name in enumerate(called) if name in fresh]


def _declared(op):
    """Whether a node is a gradient that torch makes of several nodes, of an operator that declares how."""
    of = op.inst.op if op.__class__ is VjpOp else None
    of = getattr(of, "op", of)
    return hasattr(of, "factors") and (of.factors != () or of.fresh != () or "Backward" not in op.grad(None)[:-9])


def operands_of_product(op):
    """The names of the operands that an operator's gradient multiplies with as they are."""
    of = getattr(op, "op", op)
    kept = getattr(of, "factors", ())
    kept = kept({"self"}, set()) if callable(kept) else kept
    return {*kept} - {"grad", "result"}


def release_product(node, walk, box):
    """A gradient cannot be differentiated since an operand was written that its product does not have as it is: torch comes there from the
    product, which is done and has released what it saved."""
    op, plan = node._ts_inst.op, node._ts_plan
    if walk.retain_graph or not _declared(op):
        return
    last = len(node._ts_inst.in_metas) - 1
    first = _factors(op, [nr for nr in plan.cts if nr in box], [last])[0]
    if all([g[1].version == g[2] for g in node._ts_guard if plan.args[g[0]:g[0] + 1] and plan.args[g[0]] in first]):
        node._ts_release()


def looked_at(node, walk, box):
    """The places of what a gradient's node saved that torch looks at in this backward pass, given the cotangents in `box`."""
    plan, op = node._ts_plan, node._ts_inst.op
    every = range(len(plan.args) + len(plan.outs))
    if not _declared(op):
        return every
    cts = tuple([nr for nr in plan.cts if nr in box])
    cts = None if cts == plan.cts else cts

    def read(needs):
        part = part_of(plan, sum([1 << i for i in needs]), cts) if cts or len(needs) < len(plan.needs) else None
        return every if part is None else part.saved
    led = walk.led(node)
    reads = influences(node._ts_inst)
    asked, last = [i for i in plan.needs if led[i] and reads[i] & box.keys()], len(node._ts_inst.in_metas) - len(op.plan_of.cts)
    if not asked:
        return ()                              # torch does not come here
    factors, fresh = _factors(op, cts or plan.cts, asked)
    asked = [i for i in asked if i < last]     # what makes the other factor is not asked for the product's
    first = [k for k in read(plan.needs) if plan.args[k:k + 1] and plan.args[k] in factors]
    return {k for k in (*(read(asked) if asked else ()), *first) if k >= len(plan.args) or plan.args[k] not in fresh}
