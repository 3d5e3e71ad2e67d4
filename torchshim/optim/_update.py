"""An optimizer's step as one recorded operator over all its parameters, and the steps of arithmetic that it is written in."""
from __future__ import annotations

import functools
import itertools
from operator import is_, itemgetter

import jax
import jax.numpy as jnp
import numpy as np

from ..autograd.grad_mode import grad_mode
from ..engine import Instance, Operator, context, literal, meta_of, pool, record, writers
from ..engine.compile.cost import weighed
from ..ops import registers
from ..ops.common import plus_product as _plus_product
from ..tensor.core.dispatch import apply, wrap
from ..tensor.core.handle import read
from ..tensor.core.storage import log_writes
from ..tensor.core.tensor import Tensor
from ..tensor.core.write import write


_WHOLE = {n: float(n) for n in range(3)}       # what is the same object each time need not be sent again


def number(x):
    """A hyperparameter as a Python float; tensors are looked at."""
    if x.__class__ is int and x in _WHOLE:
        return _WHOLE[x]
    return x.item() if isinstance(x, Tensor) else float(x)


def wide(x):
    """What torch computes with: float32 for the short dtypes."""
    return x.astype(np.float32) if hasattr(x, "dtype") and x.dtype.itemsize == 2 else x


def _stepwise(f):
    """An operator on arrays: computed in wide precision, rounded once to the first argument's dtype."""
    def step(x, *more):
        return f(wide(x), *map(wide, more)).astype(x.dtype)
    step.__name__, step.__doc__ = f.__name__, f.__doc__
    return step


plus_product = functools.partial(_plus_product, in_memory=True)
div = _stepwise(lambda x, y: x / y)
root = _stepwise(jnp.sqrt)
addcmul = _stepwise(lambda x, a, b, value: plus_product(x, value * a, b))
addcdiv = _stepwise(lambda x, a, b, value: x + value * a / b)
_from_start = _stepwise(lambda x, end, weight: plus_product(x, weight, end - x))
_from_end = _stepwise(lambda x, end, weight: plus_product(end, weight - 1, end - x))


def mul(x, y, flags=()):
    """x * y; where all parameters are one list ("foreach"), a number is as short as x."""
    if "foreach" in flags and y.dtype != x.dtype:
        y = y.astype(x.dtype)
    return (wide(x) * wide(y)).astype(x.dtype)


def add(x, y):
    """x + y; a number is as short as x."""
    return (wide(x) + wide(y.astype(x.dtype))).astype(x.dtype)


def add_scaled(x, y, alpha):
    """x + y * alpha. Short dtypes: of a short alpha; whole registers of 32 elements round once, the rest the product too, as torch's."""
    if x.dtype.itemsize > 2:
        return plus_product(x, alpha, y)
    short = x.dtype
    row = registers.in_registers(x.shape, tuple(range(x.ndim)))
    return registers.product_added(wide(x), wide(y), wide(jnp.asarray(alpha, short)), short, row).astype(short)


def downhill(p, g, weight_decay, flags):
    """The gradient to follow: that of what is minimized, with the decay of weights where this is part of it."""
    if "maximize" in flags:
        g = -g
    if "weight_decay" in flags and "decoupled_weight_decay" not in flags:
        g = add_scaled(g, p, weight_decay)
    return g


def lerp(x, end, weight, flags):
    """The running mean, from whichever end is nearer: as `nearer_end` found."""
    return (_from_end if "nearer_end" in flags else _from_start)(x, end, weight)


def nearer_end(weight):
    """The flag for `lerp` with this weight."""
    return ("nearer_end",) if number(weight) >= 0.5 else ()


class Update(Operator):
    """How an optimizer changes its parameters, as one operator over all of them.

    `body(p, g, *states, numbers, flags)` gets the arrays of one parameter and returns (new p, *new states). They are real: a
    complex parameter is a real one with a last dimension of two. Numbers are 0-d arrays of the precision that the parameter
    is computed in (float32 for the short dtypes), flags the static rest of the layout. Bodies are written in the steps below
    (`add`, `mul` ...), which round short dtypes where torch's operators do. `elementwise`: no element meets another.
    """

    in_blocks = False

    def __init__(self, name, body, elementwise=True):
        super().__init__(name)
        self.body, self.each = body, elementwise
        self.traced = Traced(name, self.all)

    def key(self, layout, metas, kinds):
        return layout, metas, kinds

    def all(self, layout, flat):
        """The body over all parameters; flat: parameters, gradients, states list by list, then numbers."""
        n, lists, flags = layout
        at, casts, out = n * lists, {}, []
        for k in range(n):
            arrays = [flat[j * n + k] for j in range(lists)]
            own = [x.dtype for x in arrays]
            short = own[0].itemsize == 2
            d = np.dtype(np.float32) if short else np.empty(0, own[0]).real.dtype
            if d not in casts:
                casts[d] = [x.astype(d) for x in flat[at:]]
            steps = short and "fused" not in flags                     # that are rounded one by one
            new = self.body(*(arrays if steps else [_real(x, d) for x in arrays]), casts[d], flags)
            out.append([_as(x, own[0] if j >= lists - 1 else own[j + (j > 0)]) for j, x in enumerate(new)])
        return [x for group in zip(*out) for x in group]

    def build(self, layout, metas, kinds):
        n = layout[0]
        kept = metas[:n] + metas[2 * n:]           # every list but the gradients comes back
        strides = tuple(m.strides for m in kept)
        if "first" in layout[2]:                   # and one that was not there before, laid out like the parameters
            kept, strides = kept + metas[:n], strides + tuple(m.strides for m in metas[:n])
        results = [(m.shape, m.dtype) for m in kept]
        return Instance(self, layout, lambda *flat: self.all(layout, flat), metas, kinds, metas[0].device, strides,
                        alike=layout if n == 1 else None, results=results)

    def parts(self, inst):
        n, lists, flags = inst.layout
        if n == 1:
            return ()
        results = range(len(inst.out_metas) // n)
        places = [([j * n + k for j in range(lists)], [j * n + k for j in results]) for k in range(n)]
        return [(self.resolve((1, lists, flags), tuple([inst.in_metas[i] for i in ins]), inst.kinds), ins, outs) for ins, outs in places]

    def on_host(self, inst):
        """Small parameters end to end: a NumPy function of few elements costs what its call costs."""
        n, lists, flags = inst.layout
        flat = self._flat(inst)
        if flat is not inst:
            f, shape = flat.interpreted(), inst.in_metas[0].shape
            return lambda *args: [a.reshape(shape) for a in f(*[np.reshape(a, -1) for a in args[:lists]], *args[lists:])]
        groups = _small(n, lists, inst.in_metas) if self.each else ()
        if not groups:
            return None
        alone = set(range(n)).difference(*groups)
        flat = [self._end_to_end(inst, ks) for ks in groups]
        others = [(part.interpreted(), itemgetter(*ins), list(outs)) for k, (part, ins, outs) in enumerate(self.parts(inst)) if k in alone]
        cut = pool.shares([len(places) * inst.out_metas[places[0]].numel for _, _, places in others])
        made, given = len(inst.out_metas), n * lists

        def run(*args):
            out, numbers = [None] * made, args[given:]
            for f in flat:
                f(args, numbers, out)

            def some(share):
                for m in share:
                    f, get, places = others[m]
                    for k, a in zip(places, f(*get(args), *numbers)):
                        out[k] = a
            pool.together(some, cut)
            return out
        return run

    def weight(self, inst):
        """What `cost.weighed` says of one parameter's update: that of its elements in a row."""
        flat = self._flat(inst)
        return weighed(flat.jaxpr.jaxpr) if flat.family is None else flat.family.weight(flat.sizes)

    def _flat(self, inst):
        """The Instance of one parameter's elements in a row, where no element meets another: all shapes share what is traced for it."""
        n, lists, flags = inst.layout
        m, metas = inst.in_metas[0], inst.in_metas[:lists]
        if n > 1 or not self.each or m.ndim < 2 or m.dtype not in (np.float32, np.float64) or any(
                [o.shape != m.shape or o.dtype != m.dtype for o in metas]):
            return inst
        return self.resolve(inst.layout, (meta_of((m.numel,), m.dtype, m.device),) * lists, inst.kinds)

    def _end_to_end(self, inst, ks):
        """What computes the parameters `ks` as one: from the arguments, and the numbers among them, into the list of results."""
        n, lists, flags = inst.layout
        metas = [inst.in_metas[k] for k in ks]
        ends = list(itertools.accumulate([m.numel for m in metas], initial=0))
        more = -ends[-1] % _LANES              # zeros behind them, so that nothing is left over of BLAS's blocks: its calls take longest
        whole, more = meta_of((ends[-1] + more,), metas[0].dtype, metas[0].device), (np.zeros(more, metas[0].dtype),) if more else ()
        f = self.resolve((1, lists, flags), (whole,) * lists, inst.kinds).interpreted()
        ins = [itemgetter(*[j * n + k for k in ks]) for j in range(lists)]
        pieces = [(slice(a, b), m.shape if m.ndim != 1 else None) for a, b, m in zip(ends, ends[1:], metas)]
        made = [((), None)] * (lists + 1)      # each list as it came out the last time, and end to end: mostly that is what comes in next
        written = [0, *range(2, lists + 1)]

        def run(args, numbers, out):
            given = []
            for get, (before, whole) in zip(ins, made):
                arrays = get(args)
                given.append(whole if whole is not None and all(map(is_, arrays, before)) else np.concatenate(arrays + more, None))
            for j, at, whole in zip(written, range(0, len(out), n), f(*given, *numbers)):
                parts = [whole[piece] if shape is None else whole[piece].reshape(shape) for piece, shape in pieces]
                made[j] = parts, whole
                for k, part in zip(ks, parts):
                    out[at + k] = part
        return run

    def __call__(self, params, grads, states, numbers, flags):
        """Run on tensors: parameters and states are written in place; new states are returned."""
        if writers.several and writers.free():
            with writers.hold([*params, *[s for group in states for s in group]]):
                return self(params, grads, states, numbers, flags)
        n = len(params)
        given = [*params, *grads, *[s for group in states for s in group]]
        vals = [t._ts_st.value if t._ts_view is None else read(t) for t in given]
        out = record(context, self, (n, 2 + len(states), flags), vals, tuple([x if x.__class__ is float else number(x) for x in numbers]),
                     "f" * len(numbers))[0]
        out = out if out.__class__ is list else [out]
        store_all([*params, *[s for group in states for s in group]], out)
        return [wrap(v) for v in out[(1 + len(states)) * n:]]

    def with_graph(self, params, grads, states, numbers, flags):
        """The same for differentiable=True: gradients flow through the update, into numbers that are tensors too."""
        numbers = [x if isinstance(x, Tensor) else wrap(literal(np.array(x, np.float64))) for x in numbers]
        olds = [*params, *[s for group in states for s in group]]
        n = len(params)
        with grad_mode(True):
            kept = [t.clone() for t in olds]           # what backward needs is not what is written below
            out = apply(self.traced, [*kept[:n], *grads, *kept[n:], *numbers], (n, 2 + len(states), flags))
            out = out if isinstance(out, tuple) else (out,)
            for old, new in zip(olds, out):
                old.copy_(new)
        return list(out[len(olds):])


_SMALL, _TOGETHER = 1 << 12, 1 << 15           # elements of a parameter that is not computed by itself, and of several in one
_LANES = 32                                    # see engine/interpret/fused_sums.py


def _small(n, lists, metas):
    """Groups of parameters, by number, that are small and whose lists all have their shape and dtype."""
    groups, sizes = [], {}
    for k in range(n):
        m = metas[k]
        if m.numel > _SMALL or m.dtype not in (np.float32, np.float64) or any(
                [metas[j * n + k].shape != m.shape or metas[j * n + k].dtype != m.dtype for j in range(1, lists)]):
            continue
        group, size = sizes.get(m.dtype, (None, 0))
        if group is None or size + m.numel > _TOGETHER:
            groups.append(group := [])
            size = 0
        group.append(k)
        sizes[m.dtype] = group, size + m.numel
    return [group for group in groups if len(group) > 1]


class Traced(Operator):
    """An `Update` as an operator of the graph, its numbers being tensors."""
    grad = "OptimizerBackward0"

    def __init__(self, name, body):
        super().__init__(name)
        self.body = body

    def build(self, layout, metas, kinds):
        return Instance(self, layout, lambda *flat: self.body(layout, flat), metas, kinds, metas[0].device)


def _real(x, d):
    return (jnp.stack([x.real, x.imag], -1) if x.dtype.kind == "c" else x).astype(d)


def _as(x, d):
    return jax.lax.complex(x[..., 0], x[..., 1]) if d.kind == "c" else x.astype(d)


def store_all(tensors, values):
    """Make arrays what tensors hold, as many of them as there are tensors."""
    undo = context.trace.undo
    if undo is not None:                       # one entry for all: the writes below come one after the other
        log_writes(undo, [t._ts_st for t in tensors if _plain(t)])
    for t, v in zip(tensors, values):
        st, x = t._ts_st, t._ts_extra
        if t._ts_view is None and (x is None or x.version is None):
            st.gen += 1
            st.version += 1
            st.value = v
        else:
            write(t, v)


def _plain(t):
    x = t._ts_extra
    return t._ts_view is None and (x is None or x.version is None)
