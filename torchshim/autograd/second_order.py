"""Which gradients have a history under `create_graph`: that of what torch's formula for them reads, which the operators' declarations
tell (`twice`, see ops/registry.py) where the program that computes them here does not.
"""
from __future__ import annotations

import copy

from ..engine import TRACED, VjpOp, influences, meta_of
from ..ops.registry import T
from ..tensor.core.graph import Node, node_class, sequence
from ..tensor.core.handle import edge, meta, read


def _twice(node):
    """What the operator declares of the history of its gradients, for these operands; False for nothing."""
    plan = node._ts_plan
    if plan.twice is None:
        inst = node._ts_inst
        twice = inst.op.twice(inst) if callable(inst.op.twice) else inst.op.twice
        plan.twice = False if twice is None else twice
    return plan.twice


def is_own_gradient(node):
    """Whether the gradient of what the node was given is that itself."""
    return node._ts_plan is not None and _twice(node) == "operand"


def by_comparison(node):
    """Whether what the node saved decides about its gradients by comparisons only, so that they have no history through it."""
    twice = _twice(node)
    return twice == "compared" or twice == "compared alone" and None in node._ts_next


def correct(node, plan, given, made, metas=None):
    """Take away, or give, the histories of the gradients `made` by the vjp of the node's `plan` from the tensors `given`,
    where torch's differ. `metas`: what the vjp gets, where these are rows of it."""
    twice = _twice(node)
    if twice.__class__ is frozenset:
        for k, i in enumerate(plan.needs):
            if i in twice:
                made[k]._ts_edge = None
    if made[0]._ts_edge is not None and twice.__class__ is not int:
        # torch has a formula for each: it has a history where what it reads has one
        readers = plan.readers
        if readers is None:
            readers = plan.readers = _readers(plan, metas or [meta(x) for x in given], twice)
        deep = [x._ts_edge is not None if x._ts_view is None else edge(x) is not None for x in given]
        if False in deep or () in readers:
            for g, reads in zip(made, readers):
                if not any([deep[i] for i in reads]):
                    g._ts_edge = None
    if twice == "zeros" or twice.__class__ is int and any([e is not None for e in node._ts_next[:twice]]):
        for g in made:
            if g._ts_edge is None:
                _constant(g, node, twice == "zeros")
    looks = node._ts_inst.op.twice_looks
    looks = looks and looks(node._ts_inst)
    if looks and looks[1] in plan.needs and set(looks[0]) <= set(plan.args):
        operands, wanted, find = looks
        k = plan.needs.index(wanted)
        made[k] = _by_values(made[k], given[-1], [given[plan.args.index(i)] for i in operands], find)


def _by_values(g, ct, operands, find):
    """The gradient `g` with the history that `find`, given the operands' arrays, tells: one that fails, for the reason it gives; True: it is
    the cotangent `ct`, with that one's history. Operands of transforms hold no arrays."""
    if g._ts_edge is None or any([read(x).extra is TRACED for x in operands]):
        return g
    from ..tensor.api.undefined import undefined
    why = find(*[x.detach()._ts_host() for x in operands])
    if why is True:
        return ct.reshape(meta(g).shape)
    return undefined(g, (g,), "Error", RuntimeError(why)) if why else g


def _readers(plan, metas, twice):
    """For each gradient that a plan makes, the numbers of those it reads among what it is given."""
    reads = None if all([m.numel for m in metas]) else _reads_of_more(plan)
    known = reads is not None                  # else what is empty may be read
    if not known:
        reads = influences(plan.vjp.resolve((), tuple(metas), plan.vjp_kinds))
    op = plan.inst.op
    kept = op.saves(plan.inst, plan.needs) if op.__class__ is VjpOp and op.saves is not None else ()       # whether it is read or not
    maybe = [not known and not m.numel and (i >= len(plan.args) or ~plan.args[i] not in kept) for i, m in enumerate(metas)]
    return tuple([tuple([i for i in range(len(metas)) if (k in reads[i] or maybe[i]) and not _alone(plan, twice, i, k)])
                  for k in range(len(plan.needs))])


def of_more(plan):
    """(a Plan like this one, the Metas of what its vjp is given) for operands that have two elements along each dimension that has none: what
    nothing is computed from tells nothing. None where there is no such call."""
    inst, needs = plan.vjp.inst, sum([1 << i for i in plan.needs])
    metas = tuple([meta_of(tuple([n or 2 for n in m.shape]), m.dtype, m.device) for m in inst.in_metas])
    try:
        more = inst.op.resolve(inst.layout, metas, inst.kinds)
        made = more.plan(needs)
        if (made.args, made.outs, made.cts, made.needs) != (plan.args, plan.outs, plan.cts, plan.needs):
            return None
        given = tuple([metas[i] for i in made.args] + [more.out_metas[k] for k in made.outs + made.cts])
        return (made, given) if all([m.numel for m in given]) else None
    except Exception:                          # the operator is made for a dimension of no elements
        return None


def _reads_of_more(plan):
    """`influences` of the gradients of such operands."""
    found = of_more(plan)
    try:
        return found and influences(found[0].vjp.resolve((), found[1], found[0].vjp_kinds))
    except Exception:
        return None


def _alone(plan, twice, i, k):
    """Whether the gradient `k` is of the operand that was saved `i`-th, and depends on that by comparisons alone."""
    return twice == "compares self" and i < len(plan.args) and plan.args[i] == plan.needs[k] == 0


class _Constant(Node):
    """The history of a gradient, or tangent, that depends on none of what it has a history for. `operands`: the metas of that, None for
    what gets no zeros."""
    __slots__ = ("meta", "operands")
    _ts_n_outputs = 1

    def _ts_out_meta(self, nr):
        return self.meta

    def _ts_custom_backward(self, box, mode):
        return [None if e is None or m is None else mode.zeros(m) for e, m in zip(self._ts_next, self.operands)]


def _constant(g, of, zeros):
    """Give the gradient `g` that the node `of` made a history that leads to zeros, or to nothing."""
    constant(g, f"{of.name().rstrip('0123456789')}Backward0", of._ts_next, of._ts_inst.in_metas if zeros else (None,) * len(of._ts_next))


def constant(g, name, edges, operands):
    """Give `g` the history of a _Constant."""
    node = object.__new__(node_class(name, _Constant))
    node._ts_inst = node._ts_plan = node._ts_extra = None
    node._ts_saved, node._ts_guard, node._ts_nums, node._ts_next, node._ts_seq = [], (), (), edges, next(sequence)
    node.meta, node.operands = meta(g), operands
    g._ts_edge = node


def read_by(node, operands):
    """What the gradients of these operands of a node, wanted or not, are computed from: {edge to it: its Meta}."""
    inst, twice = node._ts_inst, _twice(node)
    plan = inst.plan(sum([1 << i for i in operands]))
    if plan.vjp.__class__ is not VjpOp or twice in ("compared", "compared alone"):
        return {}
    saved = [inst.in_metas[i] for i in plan.args] + [inst.out_metas[k] for k in plan.outs]
    if plan.readers is None:
        plan.readers = _readers(plan, saved + [inst.out_metas[k] for k in plan.cts], twice)
    edges = [node._ts_next[i] for i in plan.args] + [(node, k) for k in plan.outs]
    return {edges[k]: saved[k] for reads in plan.readers for k in reads if k < len(edges) and edges[k] is not None}


# -- a part of the gradients --------------------------------------------------------------------------------------------
class Part:
    """A Plan for fewer gradients than the node's, or for fewer cotangents, and which of what the node saved it reads. Under `create_graph`
    the gradients must have no history through what only the others read."""
    __slots__ = ("plan", "saved", "nums")

    def __init__(self, plan, whole):
        self.plan = plan
        self.saved = [whole.args.index(i) for i in plan.args] + [len(whole.args) + whole.outs.index(k) for k in plan.outs]
        self.nums = [whole.nums.index(i) for i in plan.nums]


def part_of(whole, needs, cts=None):
    """The part of a Plan for these gradients, of these outputs' cotangents (None: all); None where it reads what the whole does not."""
    if whole.parts is None:
        whole.parts = {}
    key = needs, cts
    if key not in whole.parts:
        inst = whole.inst if cts is None else _with_outputs(whole.inst, cts)
        plan = inst.plan(needs) if whole.vjp.__class__ is VjpOp else whole
        fits = (plan is not whole and plan.vjp.__class__ is VjpOp and plan.cts == (cts or whole.cts) and set(plan.args) <= set(whole.args)
                and set(plan.outs) <= set(whole.outs) and set(plan.nums) <= set(whole.nums))
        whole.parts[key] = Part(plan, whole) if fits else None
    return whole.parts[key]


def part_with(whole, part, cts):
    """A Plan's part (None: all gradients) for the outputs whose cotangents are defined: torch's formulas leave the others out, and zeros in
    their place would meet infinities. Where an operator has a rule, or a kernel, of its own for all of them, that gets zeros; so does what
    is linear."""
    op = whole.inst.op
    if not cts or not whole.args and not whole.outs or whole.inst.wide is not None or op.rule is not None or getattr(op, "host_back", None):
        return part
    return part_of(whole, sum([1 << i for i in (whole if part is None else part.plan).needs]), cts) or part


def _with_outputs(inst, cts):
    """An Instance of whose outputs these alone have a gradient."""
    made = copy.copy(inst)
    made.diff_outs, made.plans = cts, {}
    return made


def with_lists(node):
    """The gradients that a node makes where hooks see them: of a list's tensors all if any is wanted, as in torch. None where that is what
    it makes anyway; see Part."""
    plan = node._ts_plan
    if plan is None or node._ts_custom_backward is not None:
        return None
    needs, at = sum([1 << i for i in plan.needs]), 0
    more = needs
    for x in node._ts_inst.layout:
        n = x.count(T) if x.__class__ is tuple else x is T
        if x.__class__ is tuple and needs >> at & (1 << n) - 1:
            more |= sum([1 << i for i in node._ts_inst.diff_ins if at <= i < at + n])
        at += n
    return part_of(plan, more) if more != needs else None


def of_part(node, part, saved):
    """(Plan, what it reads of what the node saved, its numbers) of a node, or of a part of it."""
    if part is None:
        return node._ts_plan, saved, node._ts_nums
    return part.plan, [saved[k] for k in part.saved], [node._ts_nums[k] for k in part.nums]
