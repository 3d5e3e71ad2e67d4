"""What can be recorded: an `Operator` makes an Instance for each combination of static arguments and metas it meets."""
from __future__ import annotations

import copy

import jax

from .. import half
from ..record.memo import Memo
from ..record.meta import meta_of
from .gradient import Plan, derived, grad_strides
from .instance import Instance
from .sizes import LEAST

_MOST = 512                # Instances an operator remembers: those in use live in the traces that use them


class Operator:
    """The base of everything that is recorded. A subclass says what makes calls alike (`key`) and makes the Instance of
    new ones (`build`); the memo between them is bounded.

    `grad` is the name of the graph's nodes, or a function of the Instance that gives it; None: results have no history.
    How it is differentiated is the one slot `plan`: by default JAX differentiates the Instance's function, or `rule`
    stands beside it: (inst, wrt, inputs and numbers, cotangents) -> results and gradients of the inputs `wrt`.
    """
    name = "operator"
    grad = rule = None
    view = None                # for aliases: how to write through them, see ops.views
    elementwise = False        # whether no element of its operands, broadcast, meets another
    plain_gradients = False    # whether gradients are contiguous, however the operands lie; or a function of an operand
    writes = False             # whether it computes what its first operand becomes
    together = False           # whether its operands have to be on one device, even if one of them has no data
    least = LEAST              # sizes from here on are alike to it
    apart = None               # static arguments that are sizes: it compares none with another size, and they are alike from here on
    ordered = None             # likewise, where it has to know which of its sizes are larger
    tied = None                # {place: an earlier place} as (operand, dimension): only these sizes are compared, whatever others are equal
    multiple = None            # a cell's gates: some dimensions are so many times another
    grad_for = None            # function of (Instance, numbers of the gradients): the node's name where it depends on these, or a refusal
    idle = None                # function of an Instance: the numbers of the results whose cotangents alone give torch's formula nothing to do
    nowhere = None             # function of the layout: whether torch leaves the gradients of such a call undefined
    saves_number = False       # whether a Python number counts among what a node saved
    weight = None              # function of an Instance: what `cost.weighed` would say of it, so that it need not be traced for that; or None
    in_blocks = True           # whether what `on_host` gives goes through memory once, block by block
    edges = None               # the order of a node's inputs where torch's is not that of the arguments; fewer: the others do not count
    outputs = None             # the places of a node's outputs where those without a derivative are not told by their dtype
    composed = False           # whether torch makes it of other operators, which look at shapes and histories before anything is saved
    twice = None               # which of its gradients have a history themselves, where that cannot be told from their program
    inplace_check = None       # function of its operands' metas: what torch refuses of its form in place before all else
    grad_back = None           # what names its gradients' nodes, see ops.registry
    back_refuses = None        # function of (Instance, numbers of the gradients): why a backward cannot be, or None
    unfollowed = False         # whether, of what writes, torch does not look at histories: they stay what they were
    twice_refuses = None       # the same of the Instance of its backward
    # what of its backward's history depends on values: a function of Instance that gives None or (the numbers of the operands to look at,
    # of the gradient concerned, a function of their arrays: why that has no gradient; True where it is the cotangent itself; or None)
    twice_looks = None
    linear_rule = None         # function of (Instance, operands, numbers, results, cotangents): the gradients, linear in the latter
    # function of an Instance and the operands that want gradients: what backward keeps, read or not (numbers of results, -1: the first
    # operand); else None
    saves = None
    twice_saves = None         # the same of the Instance of its backward
    reads = None               # function of the same: what the gradient reads, as gradient.Reads, where that is known without tracing it

    def __init__(self, name=None):
        if name is not None:
            self.name = name
        self.made = Memo(_MOST)

    def __repr__(self):
        return f"<op {self.name}>"

    def key(self, layout, metas, kinds):
        """What decides about the Instance, hashable. The kinds of numbers follow from a layout that names them."""
        return layout, metas

    def build(self, layout, metas, kinds):
        """The Instance for static arguments, the metas of the tensors and the kinds of the run-time numbers."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it computes")

    def resolve(self, layout, metas, kinds):
        """The Instance of a call, as `build` made it when it was first met."""
        key = self.key(layout, metas, kinds)
        inst = self.made.get(key)
        if inst is None:
            inst = (self.build_half if half.about(layout, metas) else self.build)(layout, metas, kinds)
            if inst.grad_fn_name is None:
                inst.grad_fn_name = self.grad(inst) if callable(self.grad) else self.grad
            if inst.grad_fn_name is None:
                inst.diff_outs = ()
            if inst.wide.__class__ is Instance:
                inst.wide.grad_fn_name, inst.wide.diff_outs = inst.grad_fn_name, inst.diff_outs
            inst = self.made.keep(key, inst)
        return inst

    def build_half(self, layout, metas, kinds):
        """`build` where numbers of half.COMPLEX_HALF are about."""
        wide = self.build(half.widened(layout), half.widened(metas), kinds)
        return half.narrowed(wide, layout, metas, half.results_of(wide, layout, metas))

    def widened(self, inst):
        """`inst`, made for COMPLEX_HALF, as it is with complex64."""
        return self.resolve(half.widened(inst.layout), half.widened(inst.in_metas), inst.kinds)

    def half_plan(self, inst, needs):
        """`plan` of an Instance that has to do with COMPLEX_HALF."""
        if inst.wide is None and not half.about(inst.layout, inst.in_metas):
            return self.plan(inst, needs)      # it moves the bits of real numbers
        wide = half.wide_of(inst).plan(needs)
        plan = Plan(inst, needs, wide.args, wide.outs, wide.nums, wide.vjp)
        if wide.vjp.__class__ is not NoVjp:
            plan.vjp = HalfVjp(inst, wide.vjp, plan)
        return plan

    def on_host(self, inst):
        """A function of NumPy arrays that does what `inst` does and gives a list or tuple of its results, where one is known without tracing
        it."""

    def gradient_strides(self, inst, plan, saved, cts):
        """How the gradients of `plan.needs` lie, each as strides or None (contiguous), from the Metas of what `plan` keeps and of the
        cotangents."""
        plain = self.plain_gradients
        return tuple([grad_strides(m, plain(m) if callable(plain) else plain) for m in [inst.in_metas[i] for i in plan.needs]])

    def second_strides(self, first, inst, plan, cts):
        """Likewise of `inst`, this operator's gradients by the Plan `first`; None: as its operands."""

    def batch_strides(self, inst, metas, n):
        """How the one result of each of many calls like `inst` lies among the others, from the Metas of the operands, whose first `n`
        dimensions are the calls. None: one after the other."""
        return metas[0].strides if self.writes else None

    def gradient_on_host(self, inst, plan):
        """Likewise a function of what `plan` keeps of `inst`, the cotangents and the numbers, that gives the gradients of `plan.needs`."""

    def over_host(self, inst):
        """`on_host` that overwrites its first argument, for an operator that computes what that becomes."""

    def parts(self, inst):
        """Where `inst` does several things side by side: ((an Instance, which of our operands it gets, which results it makes), ...).
        All get all numbers. Then it is weighed and interpreted by its parts, which other Instances share, and not traced for that."""
        return ()

    def plan(self, inst, needs):
        """How `inst` is differentiated for the inputs in the bit mask `needs`."""
        if inst.grad_fn_name == "NotImplemented":
            return Plan(inst, needs, vjp=NoVjp(self.name))
        with jax.enable_x64(True):
            plan, function, jaxpr, family, weight = derived(inst, needs, self.rule)
        plan.vjp = VjpOp(inst, function, plan, jaxpr, family, weight)
        return plan


class VjpOp(Operator):
    """The backward of an Instance as an operator: recorded, compiled and differentiated like any other.
    `pushing`: only its derivative in the cotangents is asked for, which tangents are made of; torch has that where it has no second one, and
    it is linear where the gradient is not computed so."""
    layout = ()
    pushing, twin = False, None

    def grad(self, inst):
        """Its nodes' name, where torch has several the first one's."""
        back, own = None if self.pushing else self.inst.op.grad_back, self.inst.grad_fn_name
        if back is None or own is None:
            return "MulBackward0"
        return own if back is True else back(self.inst, self.plan_of.needs) if callable(back) else back + "Backward0"

    def __init__(self, inst, fn, plan, jaxpr=None, family=None, weight=None):
        super().__init__(inst.op.name + "_backward")
        if weight is not None:
            self.weight = lambda inst: weight
        self.inst, self.fn, self.plan_of, self.jaxpr, self.family = inst, fn, plan, jaxpr, family
        self.back_refuses, self.saves = inst.op.twice_refuses, inst.op.twice_saves

    def of_zeros(self):
        """Whether all operands have a history through the gradients, if only one of zeros."""
        twice = self.inst.op.twice
        return (twice(self.inst) if callable(twice) else twice) == "zeros"

    def pushed(self):
        """This operator where it is `pushing`; itself where that makes no difference."""
        if self.twin is None:
            self.twin = self
            op = self.inst.op
            if op.linear_rule is not None or op.twice_refuses is not None or self.grad(None) == "NotImplemented":
                self.twin = copy.copy(self)
                self.twin.made, self.twin.pushing, self.twin.back_refuses = Memo(_MOST), True, None
                if op.linear_rule is not None:
                    self.twin.fn, self.twin.jaxpr, self.twin.family = self._linear, None, None
        return self.twin

    def _linear(self, *given):
        p, inst, given = self.plan_of, self.inst, iter(given)
        ins, outs = dict(zip(p.args, given)), dict(zip(p.outs, given))
        cts, nums = dict(zip(p.cts, given)), dict(zip(p.nums, given))
        made = inst.op.linear_rule(inst, *[[d.get(k) for k in range(n)] for d, n in (
            (ins, len(inst.in_metas)), (nums, len(inst.kinds)), (outs, len(inst.out_metas)), (cts, len(inst.out_metas)))])
        return [made[i].astype(inst.in_metas[i].dtype) for i in p.needs]

    def key(self, layout, metas, kinds):
        """Cotangents come with their output's dtype and shape: one Instance serves all calls where they lie as their outputs."""
        outs, p = self.inst.out_metas, self.plan_of
        cts = metas[len(metas) - len(p.cts):] if metas else ()
        for m, k in zip(cts, p.cts):
            if m is not outs[k] and m.strides != outs[k].strides:
                return tuple([m.strides if m.shape == outs[k].shape else outs[k].strides for m, k in zip(cts, p.cts)])
        return None

    def build(self, layout, metas, kinds):
        p, lying = self.plan_of, self.key(layout, metas, kinds)
        refused = self.inst.op.back_refuses and self.inst.op.back_refuses(self.inst, p.needs)
        if refused:
            raise refused if isinstance(refused, Exception) else RuntimeError(refused)
        saved = [self.inst.in_metas[i] for i in p.args] + [self.inst.out_metas[k] for k in p.outs]
        cts = [self.inst.out_metas[k] for k in p.cts]
        if lying is not None:
            cts = [meta_of(m.shape, m.dtype, m.device, s) for m, s in zip(cts, lying)]
        strides = self.inst.op.gradient_strides(self.inst, p, saved, cts)
        if lying is not None and all([m.contiguous for m in saved]):       # that of the usual ones, if it comes to the same
            made = self.resolve(layout, (), kinds)
            if all([s == m.strides or s is None and m.contiguous for s, m in zip(strides, made.out_metas)]):
                return made
        return self.lying(tuple(saved + cts), strides)

    def gradient_strides(self, inst, plan, saved, cts):
        made = self.inst.op.second_strides(self.plan_of, inst, plan, cts)
        return super().gradient_strides(inst, plan, saved, cts) if made is None else made

    def lying(self, metas, strides):
        """The Instance for these Metas whose results have these strides."""
        p = self.plan_of
        results = [(self.inst.in_metas[i].shape, self.inst.in_metas[i].dtype) for i in p.needs]
        made = Instance(self, (), self.fn, metas, p.vjp_kinds, self.inst.out_metas[0].device, strides, results=results, jaxpr=self.jaxpr)
        made.share(self.family, self.family and self.inst.sizes)
        if p.unread and not self.of_zeros():
            made.diff_ins = tuple([i for i in made.diff_ins if i not in p.unread])
        return made

    def build_half(self, layout, metas, kinds):
        return self.build(layout, metas, kinds)    # its function is made for what it gets

    def on_host(self, inst):
        return self.inst.op.gradient_on_host(self.inst, self.plan_of)


class HalfVjp(VjpOp):
    """The backward of an Instance of COMPLEX_HALF, on that of the wide one."""

    def __init__(self, inst, wide, plan):
        super().__init__(inst, wide.fn, plan)
        self.wide = wide

    def build_half(self, layout, metas, kinds):
        made = self.build(layout, (), kinds)
        wide = self.wide.resolve((), half.widened(made.in_metas), made.kinds)
        return half.narrowed(wide, layout, made.in_metas, [m.dtype for m in made.out_metas])

    def resolve(self, layout, metas, kinds):
        inst = self.made.get(None)
        return self.made.keep(None, self.build_half(layout, metas, kinds)) if inst is None else inst

    def widened(self, inst):
        return inst.wide


class NoVjp(Operator):
    """Stands for the backward of an operator that torch does not differentiate: the forward works, this raises."""
    layout = ()

    def build(self, layout, metas, kinds):
        raise RuntimeError(f"derivative for aten::{self.name} is not implemented")
