"""How a walk computes with cotangents: as bare engine Values, or as tensors where the backward is itself differentiable."""
from __future__ import annotations

from ..engine import context, record
from ..engine.compile.gradient import inlined
from ..ops.views import LazyOp
from ..tensor.core import graph
from ..tensor.core.dispatch import apply, wrap
from ..tensor.core.handle import meta, read
from ..tensor.core.storage import Get, Put, read_steps, split_steps, write_steps
from .grad_ops import ADD, zeros_value
from .saved import Entrance, as_primal, saved_tensors
from .second_order import correct, of_part


class GradList:
    """Arithmetic on cotangents as bare Values."""
    graph, narrow = False, None                # narrow: whether nodes compute only those gradients that lead to what is asked for; None:
                                               # those whose operator refuses some
    accumulate = None                          # (leaf, gradient) -> whether it went into `leaf.grad`, where that is not done as ever
    hooked = None                              # how hooks are run, where they are not given gradients as they are: see `batched`

    @staticmethod
    def add(a, b):
        return record(context, ADD, (), (a, b))[0]

    @staticmethod
    def zeros(meta):
        return zeros_value(meta)

    tensor, back, given = staticmethod(wrap), staticmethod(read), staticmethod(read)

    @staticmethod
    def vjp(node, saved, cts, part=None):
        plan, nums = node._ts_plan, node._ts_nums
        if part is not None:
            plan, saved, nums = of_part(node, part, saved)
        r = record(context, plan.vjp, (), saved + cts, nums, plan.vjp_kinds)[0]
        return r if r.__class__ is list else [r]

    @staticmethod
    def slice(g, steps):
        return read_steps(g, steps)

    @staticmethod
    def put(g, steps, part):
        return write_steps(g, steps, part)


class GradTensors:
    """Arithmetic on cotangents as tensors: the backward is itself differentiable."""
    graph, accumulate, narrow, hooked = True, None, True, None

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
    def vjp(node, saved, cts, part=None):
        if isinstance(node, Entrance):
            return cts
        plan, given, nums = of_part(node, part, saved_tensors(node, saved))
        if "pushing" in context.modes:         # torch's forward formulas read views of the operands
            n = len(plan.args)
            given = [as_primal(t) for t in given[:n]] + given[n:] + cts
            r = apply(plan.vjp.pushed(), given, (), nums, plan.vjp_kinds)
        else:
            given = given + cts
            r = apply(plan.vjp, given, (), nums, plan.vjp_kinds)
        made = list(r) if r.__class__ is tuple else [r]
        correct(node, plan, given, made)
        passed = plan.passed
        if passed is None:
            passed = plan.passed = () if plan.twice == "zeros" or plan.twice.__class__ is int else _passed(plan, given)
        for k, i in passed:                    # what comes in is the gradient
            made[k] = given[i]
        return made

    @staticmethod
    def slice(g, steps):
        insts, nums, kinds = split_steps(steps)
        return apply(Get.of(insts), (g,), (), nums, kinds)

    @staticmethod
    def put(g, steps, part):
        insts, nums, kinds = split_steps(steps)
        return apply(Put.of(insts), (g, part), (), nums, kinds)


def _passed(plan, given):
    """[(number of a gradient, number of what a plan is given)] where the one is the other as it is, and no view of it."""
    if plan.twice == "operand":
        return ((0, 0),)
    if isinstance(plan.vjp.inst.op, LazyOp) or not all([meta(x).numel for x in given]):        # nothing is made of nothing by any program
        return ()
    return passed_by_program(plan, tuple([meta(x) for x in given]))


def passed_by_program(plan, metas):
    """The same for a vjp that is a program, by that: `metas` is what it is given."""
    made = plan.vjp.resolve((), metas, plan.vjp_kinds)
    jaxpr, first = inlined(made.jaxpr).jaxpr, len(metas) - len(plan.cts)
    return tuple([(k, i) for k, v in enumerate(jaxpr.outvars) for i, w in enumerate(jaxpr.invars[:len(metas)])
                  if v is w and i >= first and made.out_metas[k] is made.in_metas[i]])


def arithmetic():
    """How one computes with cotangents that have no history."""
    if not graph.sparse:
        return GradList
    from .sparse_gradients import GradSparse
    return GradSparse
