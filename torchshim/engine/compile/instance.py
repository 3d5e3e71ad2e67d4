"""An operator at given shapes: its jaxpr, what it returns, and how to differentiate it.

`Instance` is made once per (operator, static arguments, input metas) and shared by every trace.
Its function is pure: arrays (then one 0-d number per runtime scalar) in, a list of arrays out.
"""
from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from ..record.meta import meta_of
from .options import compiler_options


def _core():
    """jax.extend.core, imported when the first operator is met: it takes as long as a tenth of JAX."""
    import jax.extend.core
    return jax.extend.core


def bind_eqns(eqns, env, read):
    """Evaluate jaxpr equations into `env` with whatever `read` finds (arrays or tracers)."""
    for eqn in eqns:
        params = eqn.primitive.get_bind_params(eqn.params)
        out = eqn.primitive.bind(*[read(v) for v in eqn.invars], **params)
        for var, val in zip(eqn.outvars, out if eqn.primitive.multiple_results else [out]):
            env[var] = val


_CALLS = ("jit", "pjit")


def _inlined(closed):
    """The jaxpr without inner calls: a call's results all need all of its arguments, which would save too much."""
    if not any(eqn.primitive.name in _CALLS for eqn in closed.jaxpr.eqns):
        return closed

    def evaluate(closed, args):
        env = dict(zip(closed.jaxpr.constvars, closed.consts))
        env.update(zip(closed.jaxpr.invars, args))
        read = lambda v: v.val if isinstance(v, _core().Literal) else env[v]
        for eqn in closed.jaxpr.eqns:
            if eqn.primitive.name in _CALLS:
                env.update(zip(eqn.outvars, evaluate(eqn.params["jaxpr"], [read(v) for v in eqn.invars])))
            else:
                bind_eqns((eqn,), env, read)
        return [read(v) for v in closed.jaxpr.outvars]
    return jax.make_jaxpr(lambda *args: evaluate(closed, args))(*closed.in_avals)


def _needed(jaxpr, outvars, given):
    """Equations that `outvars` depend on when the variables in `given` are known, and the free variables."""
    want = {v for v in outvars if not isinstance(v, _core().Literal)}
    eqns = []
    for eqn in reversed(jaxpr.eqns):
        hit = [v for v in eqn.outvars if v in want and v not in given]
        if hit:
            eqns.append(eqn)
            want.difference_update(hit)
            want.update(v for v in eqn.invars if not isinstance(v, _core().Literal))
    return eqns[::-1], want


class Plan:
    """How an Instance differentiates for one set of inputs that need it.

    `args` are the inputs the backward reads, `outs` the outputs it reads (`exp` needs only its result);
    `vjp` is the operator that maps (saved..., cotangents of `cts`) to the gradients of `needs`.
    """
    __slots__ = ("inst", "needs", "args", "outs", "cts", "vjp", "nums", "vjp_kinds")


class Instance:
    """See the module docstring. `out` is one Meta, or a tuple of them when the operator returns several."""
    __slots__ = ("op", "layout", "fn", "in_metas", "kinds", "out_metas", "out", "jaxpr", "node_class", "plans", "steps",
                 "_jit", "_interp", "info", "ran", "diff_ins", "diff_outs", "grad_fn_name")

    def __init__(self, op, layout, fn, in_metas, kinds, device, out_strides=None, jaxpr=None):
        self.op, self.layout, self.fn, self.in_metas, self.kinds = op, layout, fn, in_metas, kinds
        with jax.enable_x64(True):
            if jaxpr is None:
                avals = [jax.ShapeDtypeStruct(m.shape, m.dtype) for m in in_metas] + [NUMBER[k] for k in kinds]
                jaxpr = jax.make_jaxpr(fn)(*avals)
        self.jaxpr = jaxpr
        avals = jaxpr.out_avals
        strides = out_strides or (None,) * len(avals)
        self.out_metas = tuple(meta_of(a.shape, a.dtype, device, s) for a, s in zip(avals, strides, strict=True))
        self.out = self.out_metas[0] if len(avals) == 1 else self.out_metas
        self.plans = {}
        self.node_class = None
        self._jit = self._interp = self.info = None
        self.ran = False                       # whether some tier has run it
        self.diff_ins = tuple(i for i, m in enumerate(in_metas) if jnp.issubdtype(m.dtype, jnp.inexact))
        self.diff_outs = tuple(i for i, m in enumerate(self.out_metas) if jnp.issubdtype(m.dtype, jnp.inexact))

    def __repr__(self):
        return f"{self.op.name}({', '.join(map(repr, self.in_metas))})"

    def call(self, *args):
        """Apply to arrays or tracers (inputs, then numbers); a list of results."""
        return _core().jaxpr_as_fun(self.jaxpr)(*args)

    def jitted(self):
        if self._jit is None:
            self._jit = jax.jit(_core().jaxpr_as_fun(self.jaxpr), compiler_options=compiler_options())
        return self._jit

    def interpreted(self):
        if self._interp is None:
            from ..interpret import build
            self._interp = build(self.jaxpr, guard=False)
        return self._interp

    def plan(self, needs):
        """The Plan for the inputs whose indices are in the bit mask `needs`."""
        p = self.plans.get(needs)
        if p is None:
            p = self.plans[needs] = self._plan(needs)
        return p

    def _plan(self, needs):
        if self.grad_fn_name == "NotImplemented":
            return _refusal(self, needs)
        with jax.enable_x64(True):
            return self._plan_x64(needs)

    def _plan_x64(self, needs):
        n = len(self.in_metas)
        wrt = [i for i in self.diff_ins if needs >> i & 1]
        outs = list(self.diff_outs)
        rule = getattr(self.op, "vjp_rule", None)

        def backward(*args):
            """Outputs again, and the gradients: the former only to recognise them in the jaxpr."""
            ins, cts = args[:n + len(self.kinds)], args[n + len(self.kinds):]
            if rule is not None:
                return rule(self, wrt, ins, cts)

            def f(*diff):
                full = list(ins)
                for i, d in zip(wrt, diff):
                    full[i] = d
                r = self.fn(*full)
                return [r[o] for o in outs], list(r)
            primal, pull, everything = jax.vjp(f, *[ins[i] for i in wrt], has_aux=True)
            # torch's complex gradient is the conjugate of JAX's
            grads = pull([conj(c).astype(p.dtype) for c, p in zip(cts, primal)])
            return everything + [conj(g) for g in grads]
        avals = [jax.ShapeDtypeStruct(m.shape, m.dtype) for m in self.in_metas] + [NUMBER[k] for k in self.kinds]
        ct_avals = [jax.ShapeDtypeStruct(self.out_metas[o].shape, self.out_metas[o].dtype) for o in outs]
        closed = _inlined(jax.make_jaxpr(backward)(*avals, *ct_avals))
        jaxpr = closed.jaxpr
        n_out = len(self.out_metas)
        primal_vars, grad_vars = jaxpr.outvars[:n_out], jaxpr.outvars[n_out:]
        arg_vars, num_vars, ct_vars = jaxpr.invars[:n], jaxpr.invars[n:len(avals)], jaxpr.invars[len(avals):]
        named = {}
        for k, v in enumerate(primal_vars):
            if not isinstance(v, _core().Literal) and v not in arg_vars:
                named.setdefault(v, k)
        best = None
        for known in ({}, named):
            eqns, want = _needed(jaxpr, grad_vars, known)
            args = tuple(i for i, v in enumerate(arg_vars) if v in want)
            used = tuple(sorted(k for v, k in known.items() if v in want))
            cost = sum(self.in_metas[i].numel for i in args) + sum(self.out_metas[k].numel for k in used)
            if best is None or (cost, len(args) + len(used)) < best[0] or (used and len(args) < len(best[1])):
                best = ((cost, len(args) + len(used)), args, used, eqns, want)
        _, args, used, eqns, want = best
        out_vars = [primal_vars[k] for k in used]
        nums = tuple(i for i, v in enumerate(num_vars) if v in want)
        constants = dict(zip(jaxpr.constvars, closed.consts))

        def vjp(*flat):
            it = iter(flat)
            env = dict(constants)
            for i in args:
                env[arg_vars[i]] = next(it)
            for v in out_vars:
                env[v] = next(it)
            for v in ct_vars:
                env[v] = next(it)
            for i in nums:
                env[num_vars[i]] = next(it)
            read = lambda v: v.val if isinstance(v, _core().Literal) else env[v]
            bind_eqns(eqns, env, read)
            # jnp.asarray: a gradient can be a literal (zero)
            return [jnp.asarray(read(v), v.aval.dtype) for v in grad_vars]
        p = Plan()
        p.inst, p.needs, p.args, p.outs, p.cts = self, tuple(wrt), args, used, tuple(outs)
        p.nums, p.vjp_kinds = nums, ''.join(self.kinds[i] for i in nums)
        p.vjp = VjpOp(self, vjp, p)
        return p


class NoVjp:
    """Stands for the backward of an operator that torch does not differentiate: the forward works, this raises."""
    view = vjp_rule = None

    def __init__(self, name):
        self.name, self.layout = name, ()

    def resolve(self, layout, metas, kinds):
        raise RuntimeError(f"derivative for aten::{self.name} is not implemented")


def _refusal(inst, needs):
    p = Plan()
    p.inst, p.args, p.outs, p.nums, p.vjp_kinds = inst, (), (), (), ""
    p.needs = tuple(i for i in inst.diff_ins if needs >> i & 1)
    p.cts, p.vjp = tuple(inst.diff_outs), NoVjp(inst.op.name)
    return p


def conj(x):
    return jnp.conj(x) if jnp.issubdtype(x.dtype, jnp.complexfloating) else x


class VjpOp:
    """The backward of an Instance as an operator: recorded, compiled and differentiated like any other."""
    view = None
    vjp_rule = None

    def __init__(self, inst, fn, plan):
        self.inst, self.fn, self.plan = inst, fn, plan
        self.name = inst.op.name + "_backward"
        self._inst = None
        self.layout = ()

    def resolve(self, layout, metas, kinds):
        # cotangents come with their output's dtype and shape, so one Instance serves every call
        if self._inst is None:
            p = self.plan
            ins = [self.inst.in_metas[i] for i in p.args] + [self.inst.out_metas[k] for k in p.outs + p.cts]
            strides = tuple(grad_strides(self.inst.in_metas[i]) for i in p.needs)
            device = self.inst.out_metas[0].device
            self._inst = Instance(self, (), self.fn, tuple(ins), "".join(self.inst.kinds[i] for i in p.nums), device, strides)
            self._inst.grad_fn_name = None
        return self._inst

    def grad_name(self, inst):
        return self.inst.op.grad_grad_name(self.inst) if hasattr(self.inst.op, "grad_grad_name") else "MulBackward0"


def grad_strides(meta):
    """A gradient keeps its input's layout when that is dense, else it is contiguous."""
    if meta.contiguous:
        return None
    pairs = sorted((s, n) for s, n in zip(meta.strides, meta.shape) if n != 1)
    step = 1
    for s, n in pairs:
        if s != step:
            return None
        step *= n
    return meta.strides


NUMBER = {"f": jax.ShapeDtypeStruct((), np.float64), "i": jax.ShapeDtypeStruct((), np.int64)}
