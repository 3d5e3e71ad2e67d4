"""One operator, one definition.

    @op("exp(Tensor self) -> Tensor", promote="float", grad="ExpBackward0", inplace=True)
    def exp(self):
        return jnp.exp(self)

The schema is torch's. From it and the body follow `torch.exp`, `Tensor.exp`, `exp_`, `out=`, shape and dtype inference
(the body's jaxpr), the gradient (`jax.vjp` of the body) and batching. The body is a pure function of arrays; parameters
declared `Tensor` arrive as arrays, `Scalar` and `float` as 0-d arrays (run-time inputs of the compiled program, so that
a changing number never recompiles), all others as Python values known when the program is built.

promote:
  "arith"   operands go to their common dtype; so does the result (half types are computed in float32)
  "float"   the same, and integers become the default floating dtype
  "compare" operands go to their common dtype, the result is what the body returns
  None      the body gets the arrays as they are
nondiff: Tensor parameters without a gradient; they keep their own dtype.
numbers: the Tensor parameters for which a Python number may stand (default: all but the first of an elementwise operator;
  scalar_left: that one too; "alone": even where no operand is a tensor). kernel_numbers: torch hands these numbers to its kernel, so they
  have no part in choosing the result's strides (elsewhere they iterate as 0-d tensors). wide_number: half tensors meet them unrounded, unless
  they come first; steps with one are not rounded either.
  saves_number: they count among what backward saves. saves: the names of tensor parameters and of results ("result", where they have none) that
  torch keeps for backward, where the gradient here would read others, or fewer: they are kept, and so must not be written before; other
  results are not. "source for self": where self wants a gradient. "own": each operand for its own gradient. Or a function of the Instance
  and the numbers of the operands that want gradients: numbers of results, ~number for operands, None for what the gradient reads.
half_steps: the body takes `half=`, the half type whose rounding torch applies between its steps (None: it does not). "complex": complex32
  alone.
refuses: (kernel, kinds): torch has no such kernel for common dtypes of these kinds ('b', 'i', 'f', 'c'; 'h': half floats).
check: torch's errors for what does not fit, from metas and static arguments; once for each new combination.
precheck: errors that depend on numbers, at each call; see `bind.precheck` for those that depend on a tensor's values.
strides: the result's, from (inst, *arguments), where they are neither contiguous nor those of an elementwise operator.
variant: from metas and static arguments, another body to take where torch's kernel depends on how the tensors lie, or None.
host: from an Instance a function of NumPy arrays that does it all at once where it is interpreted, or None (`engine.interpret.fused`);
  results: from metas and static arguments the shape and dtype of each result where they are known without tracing the body, which has to
  take such arguments; else None. With `host` and `weight` (of an Instance, what `engine.compile.cost.weighed` says of its program, or None) a call
  is traced only when it is differentiated or compiled.
  host_back: likewise from (Instance, Plan) its gradients, from what the Plan keeps, the cotangents and the numbers.
  reads: from (Instance, numbers of the operands that want gradients) what these read, as `engine.Reads`, where that is known without
  tracing them, else None: with `host_back` they are traced only when they are differentiated or compiled.
sizes: the static parameters (`int` or `int[]`) that are sizes, which change as shapes do: the body is traced with symbols for them,
  so what does not fit is refused by `check`, not by the body. least: sizes below it are special to the body, each in its own way (2).
  multiple: some dimensions are so many times another, as a cell's gates are. tied: see `Operator`.
inplace: True makes `f_` a method and a function, "method" only a method. functional: also in nn.functional; "inplace"
  gives it an `inplace` flag there. inplace_grad: the grad_fn of `f_` where it has another name,
  or that name as a function of the Instance;
  inplace_keeps: torch keeps its result then, which so must not be written. overlap="fill": `f_` may write to
  elements that lie in one place (tensor/core/write.py); a function of (operator, target, layout): what it does to them (None: nothing of
  its own). out=False: no out= form;
  "dtype": it computes in the dtype of an out tensor if its own dtype= is not given; "floating dtype": if both are floating ones.
namespace: "linalg", "special", "nn.functional" …: where it lives instead of in torch itself; a `linalg_` before the name is
  not part of it there. aliases: other names, and other places: "linalg.matmul".

Overloads are declared as torch's are: `max(Tensor self)`, `max.other(Tensor self, Tensor other)`, `max.dim(…)`; the first in
order that takes a call's arguments is called. Overloads of a name that is not declared itself are for the facade to call.

The names of several results, `-> (Tensor values, Tensor indices)`, make the named tuple torch.return_types.<name>.

Gradients. `grad` is the name of the grad_fn; without one there is no history, and "NotImplemented" gives a history whose
backward raises, as torch's does. There are two ways to say how it is computed:

1. JAX differentiates the body. Where torch's convention differs in a part of it (a root at zero, a tie of two extremes),
   that part is a function with `jax.custom_jvp` beside the body.
2. `rule` stands beside the body. A tuple for elementwise bodies: d result / d parameter as functions of (result, *params).
   A bool array says where the gradient passes (elsewhere it is 0, even if it is inf or nan); a pair is such a mask with a
   factor, a list several of these. They may take `half=`: the half type that torch rounds the steps of its formula to, or None. A function
  for all others: (cotangent, *arguments) -> a gradient, or None, for each tensor argument; if its last parameter is called `result`, that
  is what the operator gave.

pullback: where torch's gradients are not linear in the cotangent: beside a tuple (of which forward derivatives are made), a function of
  (cotangent, *operands, the half type between whose steps torch rounds, or None), the arrays promoted and of one shape, that gives the
  gradients.
nowhere: a function of a call's layout: whether torch leaves its gradients undefined (`.grad` stays None).
plain_gradients: gradients are contiguous, however the operands lie; by default those of elementwise operators lie as TensorIterator
  would lay the product of the cotangent and what is saved, others as their operands do. lie: a function of (Instance, Plan, Metas of
  what is saved, Metas of the cotangents) that gives their strides (None: contiguous), see `layout.as_operands` and those beside it.
passing: the parameters whose gradient is the cotangent itself; or a function of the Instance that gives them.
twice: which gradients have a history under create_graph, where torch's kernels do not make it that of what they are computed from.
  "compared": comparisons with what was saved decide, there is no history through it (relu's kernel has one, of zeros); "compared alone":
  so where only one operand requires grad. A number n: one kernel makes them all from the first n operands, so each has a history where one
  of these has. "compares self": the first operand's gradient reads that operand by comparisons. "zeros": the kernel is given operands that
  do not matter; they have a history all the same, which leads to zeros. "operand": the first operand is its own gradient.
  Or a function of the Instance that gives one of these: what
  is given comes back as it is ("compared") for a single element, or none. A frozenset: the gradients of these operands have none.
grad_back: the name of the grad_fn of its gradients, without "Backward0", where torch's is not MulBackward0; True: the same as its own; or a
  function of (Instance, numbers of the gradients that are wanted) that gives it in full, as `each_back` does.
grad_for: a function of (Instance, numbers of the gradients that are wanted): the grad_fn's name where it depends on these (else None), or
  torch's refusal to follow the call.
back_refuses: a function of (Instance, numbers of the gradients that are wanted): why torch's formula cannot compute them, as it cannot
subtract
  a bool tensor that it saved (the text of a RuntimeError, or another exception); or None.
composed: torch makes it of other operators: these ask for the operands' histories even where the result has none, and look at shapes before
  anything is saved.
in_steps: some calls whose first tensor is a vector or whose last is a stack of matrices are made of other functions, as torch makes
  them: `steps` (set where those functions are) gives what they give, or None.
seen: a function of the Instance that gives {number of an operand: shape} for those that torch's decomposition saves as views of this shape,
which
  its messages tell; None for those of which it saves a copy. saved_as: likewise the names of the operands in that decomposition.
copied: likewise a function of (Instance, numbers of the operands that want gradients): the numbers of those of which torch then keeps no
  more than what it made of them. bare: the operands that it keeps as tensors that count no writes but their own, as `_unsafe_view` gives.
by_out: the function of torch whose form with `out=` its kernel calls, or a function of the Instance that tells; it refuses inference
  tensors that require grad, for which nothing above the kernel stands.
makes_half: of float16 it makes complex32. pushes=False: torch has no formula for its forward derivative; a name: nor has what it calls
  by this one; a function of the Instance gives either, or True.
linear_rule: where `rule` is not linear in the cotangent: a function of (Instance, operands, numbers, results, cotangents), None where they are not
  kept, that gives the gradients and is. Forward derivatives are made of it.
twice_saves: a function of the Instance of the backward and the operands of that which want gradients: what it keeps, read or not (~0: the
  first operand). `both_factors` where the gradient is that which comes in times a slope that has zeros for a gradient.
factors: the names of the operands and results with which torch's gradient multiplies what came in as they are: its first node saves these
  (default: it multiplies with what it makes of them). Or a function of the names of the operands whose gradients are differentiated, and of
  what they are differentiated by ("grad": what came in), that gives the names of all whose writes torch then notices.
  fresh: the names of those of which no node of its gradient saves more than what was made of them.
words: a function of what was refused (the operands' metas, which of them want a gradient) that gives the exception where its text depends
  on more than the body sees; else None.
"""
from __future__ import annotations

import functools
import inspect
import re

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import Instance, Operator, contiguous_strides, half, meta_of
from ..engine.site import declared_at
from . import half_kernels, promotion as P
from .casts import cast, short
from .layout import as_operands, broadcast_shapes, elementwise_strides, iterated, kept_strides
from .partials import with_partials
from .schema import REQUIRED, parse_schema        # noqa: F401  (REQUIRED: for those who read declarations)

_SHAPES = re.compile(r"\(([\d, ]*)\)")

#: Operators that are not elementwise and whose operands torch wants on one device even if one of them has no data; of others it asks the
#: first, or nothing.
_TOGETHER = frozenset("""cat stack dot vdot mv linear addmm addmv addr kron dist layer_norm group_norm rms_norm batch_norm_train batch_norm_eval
    cross_entropy_loss cross_entropy_soft nll_loss l1_loss hinge_embedding_loss masked_fill prelu""".split())
#: Elementwise ones that write into a tensor without data whatever comes from elsewhere.
_INTO_NOTHING = frozenset("""add sub mul div true_divide floor_divide logical_and logical_or logical_xor masked_fill copy fill""".split())
OPS: dict = {}              # (namespace, full name) -> Op


class _Token:
    """How an argument reaches the body, where that is not a static value."""
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return self.name


T = _Token("T")                            # a tensor
SB, SI, SF, SC = (_Token(n) for n in ("SB", "SI", "SF", "SC"))       # a Python number: bool, int, float, complex
NUMBER_KIND = {SB: "b", SI: "i", SF: "f", SC: "c"}
PACKED = {SB: "i", SI: "i", SF: "f", SC: "ff"}                       # what it takes in the packed arrays


def each_back(*names):
    """What names the grad_fn of gradients by operand (see `grad_back`); torch has a node for each, we have the first of those wanted."""
    return lambda inst, needs: (needs[0] < len(names) and names[needs[0]] or "Mul") + "Backward0"


def kernel_back(inst, needs):
    """Likewise of gradients that torch has a kernel for, which it names after the operator's; a view of a result names the view."""
    own = inst.grad_fn_name
    return f"{own[:-1]}Backward0" if own.endswith("Backward0") else own


class Op(Operator):
    """A declared operator; see the module docstring. `layout` (one entry per parameter: a token, a tuple of tokens for
    tensor lists, or the static value) with the metas of the tensors decides everything about a call: `resolve`."""

    def __init__(self, schema, body, *, promote=None, grad=None, rule=None, inplace=False, method=True, function=True, strides=None,
                 check=None, precheck=None, nondiff=(), aliases=(), elementwise=None, namespace=None, scalar_left=False, numbers=None,
                 kernel_numbers=False, wide_number=False, saves_number=False, refuses=None, functional=None, inplace_grad=None, out=True,
                 half_steps=False, sizes=(), least=None, multiple=None, apart=None, ordered=None, saves=None, overlap=None,
                 twice=None, plain_gradients=False, variant=None, host=None, host_back=None, results=None, weight=None,
                 seen=None, in_steps=False, composed=False, back_refuses=None, grad_back=None, saved_as=None, makes_half=False, words=None,
                 pushes=True, grad_for=None, pullback=None, lie=None, passing=(),
                 nowhere=None, copied=None, bare=(), inplace_keeps=False, by_out=None, linear_rule=None, reads=None, twice_saves=None,
                 factors=(), fresh=(), tied=None):
        self.full_name, self.params, self.fields = parse_schema(schema)
        super().__init__(self.full_name.partition(".")[0])
        self.public = self.name.removeprefix(f"{namespace}_".replace(".", "_"))
        self.schema, self.body, self.promote = schema, body, promote
        self.grad, self.inplace, self.method, self.function = grad, inplace, method, function
        self.strides, self.check, self.precheck = strides, check, precheck
        self.nondiff, self.aliases, self.namespace = frozenset(nondiff), aliases, namespace
        self.scalar_left, self.kernel_numbers, self.saves_number = scalar_left, kernel_numbers, saves_number
        self.wide_number, self.half_steps = wide_number, half_steps
        self.refuses, self.functional, self.inplace_grad, self.out = refuses, functional, inplace_grad, out
        self.sized = tuple([k for k, p in enumerate(self.params) if p.name in sizes])
        self.multiple, self.apart, self.ordered, self.overlap, self.tied = multiple, apart, ordered, overlap, tied
        if least is not None:
            self.least = least
        self.twice, self.seen, self.in_steps, self.composed, self.makes_half = twice, seen, in_steps, composed, makes_half
        self.back_refuses, self.grad_back, self.saved_as, self.words, self.grad_for = back_refuses, grad_back, saved_as, words, grad_for
        self.copied, self.bare, self.inplace_keeps, self.by_out = copied, bare, inplace_keeps, by_out
        self.plain_gradients, self.pushes, self.nowhere, self.lie, self.passing = plain_gradients, pushes, nowhere, lie, passing
        self.linear_rule = _by_partials if pullback and linear_rule is None else linear_rule
        self.variant, self.host, self.host_back, self.results, self.reads, self.twice_saves = variant, host, host_back, results, reads, twice_saves
        self.factors, self.fresh = factors, fresh
        if weight is not None:
            self.weight = weight
        if saves.__class__ is tuple:
            self.saves = functools.partial(_kept, saves, self.fields or ("result", "result1"), self.params)
        elif saves == "own":
            self.saves = lambda inst, wrt: tuple([~i for i in wrt])
        elif saves is not None:
            self.saves = saves
        self.elementwise = promote is not None if elementwise is None else elementwise
        self.together = self.elementwise or promote is not None or self.name in _TOGETHER
        if numbers is None:
            numbers = [p.name for p in self.params if p.kind == "tensor" and (p.name != "self" or scalar_left)] if self.elementwise else ()
        self.numbers = frozenset(numbers)
        self.doc = body.__doc__ or ""
        self.doc = inspect.cleandoc(self.doc) if "\n" in self.doc else self.doc
        self.file, self.line = declared_at()
        self.core, self.partials = body, rule if rule.__class__ is tuple else None
        if rule.__class__ is tuple:
            self.core = with_partials(body, rule, self.params)
            self.rule = pullback and elementwise_rule(self, pullback)
        elif rule is not None:
            self.rule = pullback_rule(rule)
        self.layout = tuple(T if p.kind == "tensor" else p.default for p in self.params)   # all tensors given, rest defaults
        kinds = [p.kind for p in self.params]
        # one tensor, and what is static
        self.plain = kinds[:1] == ["tensor"] and not self.params[0].is_list and set(kinds[1:]) <= {"static"}
        self.inplace_op = InplaceOp(self) if inplace else None

    def __repr__(self):
        return f"<op {self.full_name}>"

    @functools.cache
    def number_layouts(self, position):
        """{type: (layout, kind)} for a Python number at `position`, all other parameters as in `layout`."""
        if position >= len(self.params) or self.params[position].kind != "tensor":
            return {}
        lay = self.layout
        return {c: (lay[:position] + (t,) + lay[position + 1:], PACKED[t]) for c, t in ((float, SF), (int, SI), (bool, SB))}

    def on_host(self, inst):
        return self.host(inst) if self.host and inst.wide is None else None

    def gradient_strides(self, inst, plan, saved, cts):
        if self.lie:
            return self.lie(inst, plan, saved, cts)
        strides = (iterated if self.elementwise and not self.plain_gradients else as_operands)(inst, plan, saved, cts)
        if self.passing:
            names, ct = positions(self.params, inst.layout), cts[0]
            passing = self.passing(inst) if callable(self.passing) else self.passing
            strides = tuple([ct.strides if names[i] in passing and inst.in_metas[i].shape == ct.shape
                             and inst.in_metas[i].dtype == ct.dtype else s for i, s in zip(plan.needs, strides)])
        return strides

    def second_strides(self, first, inst, plan, cts):
        # torch multiplies both cotangents before what is saved comes in
        n, shape = len(inst.in_metas) - len(first.cts), cts[0].shape
        if not self.elementwise or any([m.shape != shape for m in inst.in_metas]):
            return None
        both, one = [elementwise_strides(metas, shape) for metas in ((cts[0], inst.in_metas[n]), (cts[0], *inst.in_metas[:n]))]
        return tuple([both if i < n else one for i in plan.needs])

    def batch_strides(self, inst, metas, n):
        if not self.elementwise or len(inst.out_metas) > 1:
            return None
        shape = broadcast_shapes([m.shape for m in metas])
        return elementwise_strides(metas, shape) or contiguous_strides(shape)

    def gradient_on_host(self, inst, plan):
        return self.host_back(inst, plan) if self.host_back and inst.wide is None else None

    # -- resolution ---------------------------------------------------------------------------------------------------
    def key(self, layout, metas, kinds):
        return layout, metas, P.settings()

    def build(self, layout, metas, kinds):
        """The Instance for this call; raises torch's errors for arguments that do not fit."""
        if self.check:
            self.check(*spread(layout, metas))
        device = metas[0].device if metas else None
        common = self.common_dtype(layout, metas)
        shape = broadcast_shapes([m.shape for m in metas]) if self.elementwise else None       # torch asks for a kernel later
        if self.refuses:
            kernel, kinds = self.refuses
            d = common or metas[0].dtype
            if "bifc"[P.kind_of(d)] in kinds or "h" in kinds and P.compute_dtype(d) != d:
                raise NotImplementedError(f'"{kernel}" not implemented for \'{P.c_name(d)}\'')
        core = self.variant and self.variant(*spread(layout, metas))
        whole, given = layout, metas
        about = half.about(layout, metas) or common is P.complex32 or self.makes_half and metas[0].dtype == P.float16
        if about:
            layout, metas = half.widened(layout), half.widened(metas)
            if self.name in half_kernels.FIRST:
                raise half_kernels.missing(self, common, whole, given)
        fn = self.function_of(layout, common, core)
        avals_kinds = "".join(PACKED[x] for x in layout if x in PACKED_SET) if any(x.__class__ is _Token for x in layout) else ""
        strides, results = None, None if core or self.results is None else self.results(*spread(layout, metas))
        if self.elementwise:
            number = not self.kernel_numbers and any([p.kind == "tensor" and x in PACKED_SET for p, x in zip(self.params, layout)])
            lie = metas
            if common is not None and not self.nondiff and any([m.dtype != common for m in metas]):          # torch looks at them after casting
                lie = [m if m.dtype == common else meta_of(m.shape, m.dtype, m.device, kept_strides(m)) for m in metas]
            strides = elementwise_strides(lie, shape, number)
        try:
            inst = Instance(self, layout, fn, metas, avals_kinds, device or self.device_of(layout),
                            **({} if about else {"alike": (layout, P.settings(), core)} if core else self.alike(layout, common)),
                            results=results)
        except (TypeError, ValueError) as error:
            raise self.explained(error, metas) from error
        except (NotImplementedError, RuntimeError) as error:
            if about and "ComplexFloat" in str(error):         # the body was asked about complex64
                raise type(error)(str(error).replace("ComplexFloat", "ComplexHalf")) from None
            raise
        if strides is not None or self.strides:
            if self.strides:
                strides = self.strides(inst, *spread(layout, metas))
            if strides is not None:
                many = strides if strides and isinstance(strides[0], (tuple, type(None))) else (strides,) * len(inst.out_metas)
                inst.out_metas = tuple(meta_of(m.shape, m.dtype, m.device, s) for m, s in zip(inst.out_metas, many))
                inst.out = inst.out_metas[0] if len(inst.out_metas) == 1 else inst.out_metas
        if self.nondiff:
            named = positions(self.params, layout)
            inst.diff_ins = tuple(i for i in inst.diff_ins if named[i] not in self.nondiff)
        if about:
            inst.wide = half.ROUNDED
            refusal = half_kernels.missing(self, common, whole, given)
            if refusal is not None:
                raise refusal
            made = half.results_of(inst, whole, given)
            if common is not None:
                made = [half.NARROW.get(m.dtype, m.dtype) if common is P.complex32 else m.dtype for m in inst.out_metas]
            return half.narrowed(inst, whole, given, made)
        return inst

    build_half = build

    def alike(self, layout, common, around=lambda fn: fn):
        """What Instances of one Family share, see `engine.Instance`; `around` makes their function of the operator's."""
        if not self.sized:
            return {"alike": (layout, P.settings())}
        shape, values = list(layout), []
        for k in self.sized:
            given = layout[k]
            if given.__class__ is int:
                values.append(given)
                shape[k] = int
            elif given.__class__ is tuple and all([n.__class__ is int for n in given]):
                values += given
                shape[k] = (int,) * len(given)

        def remade(values):
            it, new = iter(values), list(layout)
            for k in self.sized:
                if shape[k] is int:
                    new[k] = next(it)
                elif shape[k] is not layout[k]:
                    new[k] = tuple([next(it) for _ in shape[k]])
            return tuple(new), around(self.function_of(tuple(new), common))
        return {"alike": (tuple(shape), P.settings()), "values": tuple(values), "remade": remade}

    def device_of(self, layout):
        from ..engine import default_device
        return default_device()

    def common_dtype(self, layout, metas):
        promote = self.promotion(layout)
        if promote is None:
            return None
        # only what stands where a tensor could takes part: an alpha or a slope does not
        numbers = [x for x, p in zip(layout, self.params) if p.kind == "tensor" and x is not T]
        d = common_of(metas, numbers)
        if promote == "float" and P.kind_of(d) < 2:
            d = P.default_float
        return d

    def promotion(self, layout):
        """The kind of promotion, which may depend on a static argument (div's rounding mode)."""
        return self.promote(layout) if callable(self.promote) else self.promote

    def function_of(self, layout, common, core=None):
        """The pure function behind a call: arrays then packed numbers in, list of arrays out. It serves all shapes."""
        given, promote = core, self.promotion(layout)
        core = given or self.core
        compute = None if common is None else P.compute_dtype(common)
        stepwise = False
        if not given and compute != common and promote in ("arith", "float"):
            stepwise = self.half_steps is True or self.half_steps and common is P.complex32
            core = functools.partial(self.body, half=common) if stepwise else self.body
            if self.partials is not None:
                core = with_partials(core, self.partials, self.params, common)
        elementwise, halves = self.elementwise, compute != common and common is not P.complex32
        wide = [k > 0 and self.wide_number and common is not P.complex32 for k in range(len(self.params))]
        tensor_places = [p.kind == "tensor" for p in self.params]
        own_dtype = [p.name in self.nondiff for p in self.params]          # where's condition is no operand to promote

        def fn(*flat):
            it = iter(flat)
            arrays, args = [], []
            n_tensors = sum(1 if x is T else sum(y is T for y in x) if x.__class__ is tuple else 0 for x in layout)
            arrays = [next(it) for _ in range(n_tensors)]
            shape = broadcast_shapes([a.shape for a in arrays]) if elementwise else None
            ai = iter(arrays)
            for x, own, tensorlike, unrounded in zip(layout, own_dtype, tensor_places, wide):
                if x is T:
                    a = next(ai)
                    short_one = halves and a.dtype == common
                    if compute is not None and not own:
                        if a.dtype != common and not (unrounded and a.ndim == 0):
                            a = cast(a, common)
                        a = cast(a, compute)
                    if elementwise and a.shape != shape and not (stepwise and unrounded and a.ndim == 0):
                        a = jnp.broadcast_to(a, shape)
                        if short_one and not own:
                            a = short(a, common)           # so that its gradient is rounded before it is summed, as in torch
                elif x.__class__ is tuple and any(y is T for y in x):
                    a = [next(ai) if y is T else y for y in x]
                elif x.__class__ is _Token:
                    if x is SC and common is not None and not tensorlike and P.kind_of(common) < 3:
                        raise RuntimeError(f"value cannot be converted to type {P.cpp_name(common)} without overflow")
                    a = _number(x, it)
                    if compute is not None:
                        if tensorlike and not unrounded and compute != common:
                            a = cast(a, common)
                        a = cast(a, compute if not (P.kind_of(compute) == 0 and x is not SB) else a.dtype)
                else:
                    a = x
                args.append(a)
            out = core(*args)
            out = list(out) if isinstance(out, (tuple, list)) else [out]
            if promote in ("arith", "float"):
                out = [cast(o, common) for o in out]
            return out
        return fn

    def explained(self, error, metas):
        """The error of a body that its arguments do not fit; torch's own where JAX could not broadcast."""
        shapes = [tuple([int(n) for n in s.split(",") if n.strip()]) for s in _SHAPES.findall(str(error).partition("for broadcasting")[2])]
        if len(shapes) > 1:
            try:
                broadcast_shapes(shapes)
            except RuntimeError as said:
                return said
        return RuntimeError(f"{self.name}: {error}")


def pullback_rule(pullback):
    """An Operator's rule from (cotangent, *arguments) -> a gradient for each tensor argument."""
    reads_result = inspect.getfullargspec(pullback).args[-1:] == ["result"]

    def rule(inst, wrt, ins, cts):
        made = list(inst.fn(*ins))
        numbers = iter(ins[len(inst.in_metas):])
        args = [_number(x, numbers) if x.__class__ is _Token else x for x in spread(inst.layout, ins[:len(inst.in_metas)])]
        grads = pullback(cts[0], *args, **({"result": made[0]} if reads_result else {}))
        return made + [grads[i].astype(ins[i].dtype) for i in wrt]
    return rule


def _number(kind, numbers):
    """The next Python number of those that a body got as arrays."""
    x = next(numbers)
    return x != 0 if kind is SB else jax.lax.complex(x, next(numbers)) if kind is SC else x


def elementwise_rule(op, pullback):
    """Likewise from (cotangent, *operands) -> a gradient for each operand, where all operands are tensors or numbers."""
    def rule(inst, wrt, ins, cts):
        common = op.common_dtype(inst.layout, inst.in_metas)
        compute, operands = P.compute_dtype(common), op.function_of(inst.layout, common, lambda *args: args)

        def of(*diff):
            every = list(ins)
            for i, x in zip(wrt, diff):
                every[i] = x
            return operands(*every)
        args, pull = jax.vjp(of, *[ins[i] for i in wrt])
        cts = [cast(a, compute) for a in jnp.broadcast_arrays(cts[0], *args)]
        grads = pullback(*cts, None if compute == common else common)
        return list(inst.fn(*ins)) + list(pull([cast(g, common) if a.ndim else cast(g, common).sum() for g, a in zip(grads, args)]))
    return rule


def _by_partials(inst, ins, nums, outs, cts):
    """The `linear_rule` of an operator with a `pullback`: that of its partial derivatives, which read all operands."""
    def of(*wanted):
        given = dict(zip(inst.diff_ins, wanted))
        return inst.fn(*[given.get(k, x) for k, x in enumerate(ins)], *nums)[0]
    grads = jax.vjp(of, *[ins[i] for i in inst.diff_ins])[1](cts[0])
    return dict(zip(inst.diff_ins, grads))


PACKED_SET = frozenset((SB, SI, SF, SC))
_STATIC_KIND = {bool: "b", int: "i", float: "f", complex: "c"}


def common_of(metas, numbers=()):
    """The dtype that tensors and numbers (tokens, or static Python numbers) promote to."""
    return P.result_type(*_categories(metas, numbers))


def _categories(metas, numbers):
    kinds = [NUMBER_KIND.get(x) or _STATIC_KIND.get(x.__class__) for x in numbers]
    return [m.dtype for m in metas if m.ndim], [m.dtype for m in metas if not m.ndim], [k for k in kinds if k]


def spread(layout, metas, f=lambda x: x):
    """The arguments of a call in the order of the schema: what `f` makes of each tensor's meta or array, static values."""
    it = iter(metas)
    out = []
    for x in layout:
        if x is T:
            out.append(f(next(it)))
        elif x.__class__ is tuple and any(y is T for y in x):
            out.append([f(next(it)) if y is T else y for y in x])
        else:
            out.append(x)
    return out


def positions(params, layout):
    """Parameter name of each tensor input."""
    names = []
    for p, x in zip(params, layout):
        if x is T:
            names.append(p.name)
        elif x.__class__ is tuple:
            names.extend(p.name for y in x if y is T)
    return names


def _kept(saves, results, params, inst, wrt):
    """What a declaration's `saves` names of an Instance, see the module docstring."""
    names, kept = positions(params, inst.layout), []
    for name in saves:
        name, _, reader = name.partition(" for ")
        if reader and reader not in [names[i] for i in wrt]:
            continue
        kept += [~i for i, n in enumerate(names) if n == name] or ([results.index(name)] if name in results else [])
    return tuple(kept)


def both_factors(inst, wrt):
    """What the backward of a backward that is a product keeps where its other factor has a history: the gradient that came in too, and what
    that factor was made of."""
    last = len(inst.in_metas) - 1
    return tuple([~i for i in range(last + 1)]) if any([i < last for i in wrt]) else ()


def every_operand(inst, wrt):
    """Likewise of a kernel that keeps all that it was given."""
    return tuple([~i for i in range(len(inst.in_metas))])


def the_operand(inst, wrt):
    """Likewise of one that compares what was saved first, and keeps that alone."""
    return ~0,


class InplaceOp(Operator):
    """`add_` for `add`: the result takes the first operand's dtype, shape and layout."""
    writes = True

    def __init__(self, op):
        super().__init__(op.name + "_")
        self.params = op.params
        self.op, self.rule, self.saves_number, self.twice = op, op.rule, op.saves_number, op.twice
        self.saves = (lambda inst, wrt: (0,)) if op.inplace_keeps else op.saves
        self.elementwise, self.together = op.elementwise, op.together and op.name not in _INTO_NOTHING
        self.back_refuses, self.grad_back, self.grad_for, self.twice_looks = op.back_refuses, op.grad_back, op.grad_for, op.twice_looks
        self.unfollowed, self.twice_saves = op.grad is None and op.inplace_grad is None, op.twice_saves

    def key(self, layout, metas, kinds):
        return layout, metas, P.settings()

    def on_host(self, inst):
        if self.op.host is None or inst.wide is not None:
            return None
        base = self.op.resolve(inst.layout, inst.in_metas, inst.kinds)
        return self.op.on_host(base) if base.out.shape == inst.out.shape and base.out.dtype == inst.out.dtype else None

    def gradient_strides(self, inst, plan, saved, cts):
        return self.op.gradient_strides(inst, plan, saved, cts)

    def second_strides(self, first, inst, plan, cts):
        return self.op.second_strides(first, inst, plan, cts)

    def build(self, layout, metas, kinds):
        if self.op.inplace_check is not None:
            self.op.inplace_check(*metas)
        try:
            base = self.op.resolve(layout, metas, kinds)
        except NotImplementedError:
            if self.op.elementwise:
                self.check_shape(broadcast_shapes([m.shape for m in metas]), metas[0].shape)
            if self.op.promote is not None and self.op.name != "lerp":     # torch looks at the dtypes before it looks for a kernel
                self.check_cast(self.op.common_dtype(layout, metas), metas[0].dtype, layout)
            raise
        except RuntimeError as error:
            if self.op.name == "addmm" and str(error).startswith("The expanded size"):     # in place, nothing is expanded
                self.check_shape((metas[1].shape[0], metas[2].shape[1]), metas[0].shape)
            raise
        return self.bound(base, metas[0])

    build_half = build

    def named(self, base):
        name = self.op.inplace_grad
        return name(base) if callable(name) else name or base.grad_fn_name

    def check_cast(self, made, target, layout):
        if not P.can_cast(made, target):
            alone = self.op.name.startswith("clamp") and T not in layout[1:]
            raise RuntimeError(f"result type {P.c_name(made)} can't be cast to the desired output type "
                               f"{P.cpp_name(target) if alone else P.c_name(target)}")

    def check_shape(self, made, target):
        if made != target:
            if self.op.name in ("addmm", "addmv", "baddbmm"):          # no TensorIterator's kernels
                raise RuntimeError(f"Bad in-place call: input tensor size {shown(target)} and output tensor size {shown(made)} should match")
            raise RuntimeError(f"output with shape {shown(target)} doesn't match the broadcast shape {shown(made)}")

    def bound(self, base, target):
        made = base.out_metas[0]
        self.check_shape(made.shape, target.shape)
        asked = base.layout[-1] if self.op.out == "dtype" else None
        if asked is not None and asked != target.dtype:
            raise RuntimeError(f"Bad in-place call: input tensor dtype {P.cpp_name(target.dtype)} and output tensor dtype "
                               f"{P.cpp_name(asked)} should match")
        if self.op.out == "dtype" and target.dtype == np.bool_:        # the scans, which run in the target's own dtype
            if target.numel and target.shape:
                raise NotImplementedError(f"\"{self.op.name}_out_cpu\" not implemented for 'Bool'")
        elif self.op.out != "dtype":
            self.check_cast(made.dtype, target.dtype, base.layout)
        if P.kind_of(target.dtype) == 3 and P.kind_of(made.dtype) == 2 and self.op.promote is None:
            raise RuntimeError(f"In-place {'abs' if self.op.name == 'absolute' else self.op.name} is not supported for complex tensors.")

        def inplace(fn):
            return lambda *flat: [cast(fn(*flat)[0], target.dtype)]
        if half.about(base.layout, base.in_metas):
            wide = half.wide_of(base)
            full = Instance(self, wide.layout, inplace(wide.fn), wide.in_metas, wide.kinds, target.device, (target.strides,))
            full.diff_ins, full.wide = wide.diff_ins, half.ROUNDED
            full.grad_fn_name = self.named(base)
            return half.narrowed(full, base.layout, base.in_metas, [target.dtype])
        if base.known and made.dtype == target.dtype and not self.op.inplace_keeps:      # it computes the same, and keeps the same
            inst = Instance(self, base.layout, base.fn, base.in_metas, base.kinds, target.device, (target.strides,),
                            results=[(target.shape, target.dtype)], jaxpr=base.jaxpr if base.traced else None)
            inst.share(base.family, base.sizes)
        else:
            common = self.op.common_dtype(base.layout, base.in_metas)
            inst = Instance(self, base.layout, inplace(base.fn), base.in_metas, base.kinds, target.device, (target.strides,),
                            **self.op.alike(base.layout, common, inplace))
        inst.grad_fn_name = self.named(base)
        inst.diff_ins = base.diff_ins
        return inst


def shown(shape):
    return "[" + ", ".join(map(str, shape)) + "]"


def op(schema, **options):
    """Declare an operator; the decorated function is its body. Returns the Op."""
    def declare(body):
        made = Op(schema, body, **options)
        if OPS.setdefault((made.namespace, made.full_name), made) is not made:
            raise ValueError(f"operator {made.full_name} is declared twice")
        return made
    return declare
