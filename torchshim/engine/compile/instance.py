"""An operator at given shapes: its jaxpr, what it returns, and how to differentiate it.

`Instance` is made once per (operator, static arguments, input metas) and shared by every trace.
Its function is pure: arrays (then one 0-d number per runtime scalar) in, a list of arrays out.
"""
from __future__ import annotations

import functools
from operator import itemgetter

import jax
import jax.numpy as jnp
import numpy as np

from .. import half, pool
from ..device import need_xla
from ..record.meta import COMPLEX_HALF, meta_of
from ..record.trie import counters
from .cost import of_instance
from .lowering import applied, fence_of, zero_for
from .options import compiler_options


def core():
    """jax.extend.core, imported when the first operator is met: it takes as long as a tenth of JAX."""
    from jax.extend import core                # not `import jax.extend.core`: another thread may be at it
    return core


def bind_eqns(eqns, env, read):
    """Evaluate jaxpr equations into `env` with whatever `read` finds (arrays or tracers)."""
    for eqn in eqns:
        params = eqn.primitive.get_bind_params(eqn.params)
        out = eqn.primitive.bind(*[read(v) for v in eqn.invars], **params)
        for var, val in zip(eqn.outvars, out if eqn.primitive.multiple_results else [out]):
            env[var] = val


def jaxpr_of(fn, *avals):
    """`fn` traced by JAX. Functions that JAX has jitted are traced in place, which takes a third less time; see `ops.loops`."""
    counters["traces"] += 1
    with jax.enable_x64(True), jax.disable_jit():
        return jax.make_jaxpr(fn)(*avals)


class Instance:
    """See the module docstring. `out` is one Meta, or a tuple of them when the operator returns several.

    `alike` says, hashably, what `fn` depends on beside the shapes of its arguments (and beside `values`, static arguments that are
    sizes; `remade(values)` is the layout and `fn` with others): Instances with the same share what was traced (a `Family`). None: `fn`
    is made for these shapes. `results`, where they are known, are the shapes and dtypes: then nothing is traced until somebody asks for
    the jaxpr or the family. `jaxpr`: what tracing `fn` would give, where that is there already. `wide`: see engine/half.py.
    """
    __slots__ = ("op", "layout", "fn", "in_metas", "kinds", "out_metas", "out", "_family", "_sizes", "_alike", "plans", "steps",
                 "_jaxpr", "_jit", "_interp", "_cost", "info", "wide", "diff_ins", "diff_outs", "grad_fn_name")

    def __init__(self, op, layout, fn, in_metas, kinds, device, out_strides=None, alike=None, results=None, values=(), remade=None,
                 jaxpr=None):
        self.op, self.layout, self.fn, self.in_metas, self.kinds, self._jaxpr = op, layout, fn, in_metas, kinds, jaxpr
        self._jit = self._interp = self._cost = self.info = self.wide = self._family = self._sizes = None
        self._alike = None if alike is None else (alike, values, remade)
        if results is None:
            results = self.family.results(self.sizes, in_metas) if self.family else [(a.shape, a.dtype) for a in self.jaxpr.out_avals]
        strides = out_strides or (None,) * len(results)
        self.out_metas = tuple([meta_of(shape, dtype, device, s) for (shape, dtype), s in zip(results, strides, strict=True)])
        self.out = self.out_metas[0] if len(results) == 1 else self.out_metas
        self.plans = {}
        self.grad_fn_name = None
        self.diff_ins = _inexact(in_metas)
        self.diff_outs = _inexact(self.out_metas)

    @property
    def family(self):
        """What Instances like this one share, or None; looked up when it is first asked for."""
        alike, self._alike = self._alike, None
        if alike is not None:
            from .family import family_of
            self._family, self._sizes = family_of(self, *alike)
        return self._family

    @property
    def sizes(self):
        """The sizes of this one in its family."""
        return self.family and self._sizes

    def share(self, family, sizes):
        """Be one of a family."""
        self._family, self._sizes = family, sizes

    @property
    def jaxpr(self):
        """The function traced at these shapes: when a program is compiled, or nothing else tells what it does."""
        if self._jaxpr is None:
            avals = [jax.ShapeDtypeStruct(m.shape, m.held) for m in self.in_metas] + [NUMBER[k] for k in self.kinds]
            self._jaxpr = jaxpr_of(self.fn, *avals)
        return self._jaxpr

    @property
    def traced(self):
        """Whether JAX has traced the function at these shapes."""
        return self._jaxpr is not None

    @property
    def known(self):
        """Whether nothing has to be traced to tell what it does."""
        return self._jaxpr is not None or self._family is not None

    @property
    def cost(self):
        """What compiling it saves and takes, see `cost.of_instance`; to be asked for after it ran."""
        if self._cost is None:
            self._cost = of_instance(self)
        return self._cost

    def __repr__(self):
        return f"{self.op.name}({', '.join(map(repr, self.in_metas))})"

    def call(self, *args):
        """Apply to arrays or tracers (inputs, then numbers); a list of results."""
        return core().jaxpr_as_fun(self.jaxpr)(*args)

    def lowered(self, fence, *args):
        """`call` as it is compiled: for a CPU, where there is a Fence."""
        return applied(self.jaxpr, args, fence) if fence else self.call(*args)

    def jitted(self):
        need_xla(self.op.name)
        if self._jit is None:
            zero = zero_for(self.out_metas[0].device)
            jitted = jax.jit(lambda zero, *args: self.lowered(fence_of(zero), *args), compiler_options=compiler_options())
            self._jit = functools.partial(jitted, zero)
        return self._jit

    def interpreted(self):
        if self._interp is None:
            self._interp = self._made_interpreter()
        return self._interp

    def _made_interpreter(self):
        found = self.op.on_host(self) if self.wide is None or self.wide is half.ROUNDED else half.interpreted(self)
        if found is None:
            parts = self.op.parts(self)
            found = _side_by_side(self, parts) if parts else self.family and self.family.interpreted(self.sizes)
        if found is None:
            from ..interpret import build
            found = build(self.jaxpr, guard=False, numbers=len(self.kinds))
        return found

    def plan(self, needs):
        """The Plan for the inputs whose indices are in the bit mask `needs`."""
        p = self.plans.get(needs)
        if p is None:
            about = half.about((), self.in_metas + self.out_metas)
            p = self.plans[needs] = self.op.half_plan(self, needs) if about else self.op.plan(self, needs)
        return p


def _side_by_side(inst, parts):
    """The interpreter of an Instance from those of its parts."""
    made, numbers = len(inst.out_metas), range(len(inst.in_metas), len(inst.in_metas) + len(inst.kinds))
    cut = pool.shares([sum([m.numel for m in part.out_metas]) for part, _, _ in parts])
    parts = [(part.interpreted(), _getter((*operands, *numbers)), results) for part, operands, results in parts]

    def run(*args):
        out = [None] * made

        def some(share):
            for n in share:
                f, get, results = parts[n]
                for k, a in zip(results, f(*get(args))):
                    out[k] = a
        pool.together(some, cut)
        return out
    return run


def _getter(places):
    """A function that gives what is at these places, as a tuple."""
    return itemgetter(*places) if len(places) > 1 else lambda args: tuple([args[k] for k in places])


def _inexact(metas):
    return tuple([i for i, m in enumerate(metas)
                  if m.dtype.kind in "fcV" and (m.dtype is COMPLEX_HALF or jnp.issubdtype(m.dtype, jnp.inexact))])


NUMBER = {"f": jax.ShapeDtypeStruct((), np.float64), "i": jax.ShapeDtypeStruct((), np.int64)}
