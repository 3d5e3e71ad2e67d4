"""Random tensors: new ones, and in-place fills. The numbers are drawn on the host at the call and enter the trace as inputs."""
from __future__ import annotations

import math
import numbers

import numpy as np

from ..engine import context, contiguous_strides, half, is_host, literal, meta_of, value_of
from ..ops import promotion as P
from ..ops.distributions import drawn_gamma
from ..ops.layout import broadcast_shapes
from ..tensor.api import creation, elementwise
from ..tensor.api.bind import FUNCTIONS, call, function, into
from ..tensor.api.creation import check_memory, check_size, delivered, destined, done, like_strides, named_size, sizes_of
from ..tensor.api.host_data import c_type
from ..tensor.api.out import refuse_drawn
from ..tensor.api.parameters import type_name
from ..tensor.api.reduction import as_int
from ..tensor.api.signatures import NAMES, guarded
from ..tensor.api.undefined import no_derivative
from ..tensor.core.device import to_jax
from ..tensor.core.dispatch import wrap
from ..tensor.core.dtype import np_dtype
from ..tensor.core.graph import Node, node_class, sequence
from ..tensor.core.handle import TensorBase, edge
from ..tensor.core.tensor import Tensor, tensor_from
from ..tensor.core.write import ask, check_inplace, is_inference, needs_grad, rebase, refuse_overlap, rewrite, write
from .batches import differing, for_each, refilled, to_refill, whole, with_batches
from .generator import stream
from .streams import fill_order, in_memory_order



def _count(shape):
    n = 1
    for k in shape:
        n *= k
    return n


def placed(flat, meta):
    """A Value of `meta` from numbers in fill order."""
    if meta.contiguous:
        a = flat.reshape(meta.shape)
        if a.dtype is meta.held and is_host(meta.device):
            return value_of(a, meta)
    else:
        a = np.ascontiguousarray(in_memory_order(flat, meta.shape, meta.strides))
    v = literal(a)
    if v.meta is not meta:
        a = v.array
        if meta.device != v.meta.device:
            import jax
            with jax.enable_x64(True):
                a = jax.device_put(a, meta.device)
        v = value_of(a, meta)
    return v


def made(draw, shape, dtype, device, requires_grad=False, strides=None):
    """A new tensor; `draw(n, contiguous)` gives the numbers. `strides` may be those of a vmap's whole batch."""
    level = differing()
    if level is not None:
        lie = strides if strides is None or len(strides) > len(shape) else (math.prod(shape), *strides)
        return for_each(level, lambda whole: made(draw, whole, dtype, device, requires_grad, lie), check_size(shape))
    meta = meta_of(check_memory(check_size(shape), dtype.itemsize), dtype, device, strides)
    if device == "meta":
        return done(wrap(value_of(None, meta)), requires_grad)
    return done(wrap(placed(draw(meta.numel, meta.contiguous), meta)), requires_grad)


def lying(out, shape):
    """The strides in whose order `out` is filled where it has this shape; None for those of a new tensor."""
    m = None if out is None else out._ts_meta
    return None if m is None or m.contiguous or m.shape != tuple(shape) else m.strides


class Refilled(Node):
    """The history of what was overwritten with random numbers: nothing of the gradient is left."""
    __slots__ = ("meta",)

    @property
    def _ts_n_outputs(self):
        return 1

    def _ts_out_meta(self, nr):
        return self.meta

    def _ts_custom_backward(self, box, mode):
        return [mode.back(creation.zeros_like(mode.tensor(box[0])))]


def _refilled(t, name):
    node = object.__new__(node_class(name, Refilled))
    node._ts_inst = node._ts_plan = node._ts_extra = None
    node._ts_saved = node._ts_guard = node._ts_nums = ()
    node._ts_next, node._ts_seq, node.meta = (edge(t),), next(sequence), t._ts_meta
    return node


_ATEN = {"RandomBackward0": "random_.from", "RandomBackward1": "random_.to", "BernoulliBackward1": "bernoulli_.Tensor",
         "BernoulliBackward2": "bernoulli_.float", "LogNormalBackward0": "log_normal_"}


def refill(t, draw, name):
    """Write random numbers into `t` in place; `name` is its grad_fn's."""
    found = to_refill(t) if "transform" in context.modes else None
    if found is not None:
        return _copied(t, found, draw)
    alone = t._ts_edge is True and is_inference(t) and name != "BernoulliBackward1"        # torch does not ask the graph, see apply_inplace
    wants = needs_grad(t) and not alone
    check_inplace(t, wants)
    ask(t, _ATEN.get(name) or name.partition("Backward")[0].lower() + "_")
    refuse_overlap(t)
    node = _refilled(t, name) if wants and context.grad else None
    meta = t._ts_meta
    if meta.device == "meta":
        if node is not None:
            rebase(t, node)
        return t
    row_major = meta_of(meta.shape, meta.dtype, meta.device)
    flat = draw(meta.numel, meta.contiguous)
    a = flat.reshape(meta.shape) if meta.contiguous else np.ascontiguousarray(in_memory_order(flat, meta.shape, meta.strides))
    v = placed(a.ravel(), row_major) if meta.contiguous else _as_meta(a, meta)
    v = v if t._ts_view is not None or v.meta is meta else _as_meta(np.asarray(v.array), meta)
    if node is None:
        write(t, v)
    else:
        rewrite(t, v, node)
    return t


def _copied(t, found, draw):
    """Random numbers for the vmaps that `to_refill` found, copied to `t`."""
    return t.copy_(refilled(found, lambda shape, strides: made(draw, shape, t._ts_meta.dtype, t._ts_meta.device, strides=strides)).reshape(t.shape))


def _as_meta(a, meta):
    a = a if a.dtype == meta.held else a.view(meta.held)
    if meta.device != literal(a).meta.device:
        import jax
        with jax.enable_x64(True):
            a = jax.device_put(a, meta.device)
    return value_of(a, meta)


def _new(name, draw, floating=True):
    def make(*size, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False, **kw):
        if "size" in kw:
            size = (named_size(name, size, kw.pop("size")),)
        if kw:
            raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(kw))}'")
        refuse_drawn(out)
        d, where = destined(name, out, dtype, P.default_float, device, layout)
        s = stream(generator, where)
        shape = sizes_of(name, size)
        t = made(lambda n, c: draw(s, n, d, c), shape, d, where, strides=lying(out, shape))
        return delivered(name, t, out, requires_grad, layout)

    def like(input, *, generator=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False, memory_format=None):
        m = input._ts_meta
        d = np_dtype(dtype, m.dtype)
        device = m.device if device is None else to_jax(device)
        s = stream(generator, device)
        return made(lambda n, c: draw(s, n, d, c), m.shape, d, device, requires_grad, like_strides(whole(input) or m, memory_format))
    make.__doc__ = f"Random numbers of the given size, drawn as torch.{name} draws them."
    like.__doc__ = f"As torch.{name}, with the size, dtype and layout of `input`."
    for f, full in ((make, name), (like, name + "_like")):
        f.__name__ = f.__qualname__ = full
        f.__module__ = "torchshim"
        FUNCTIONS[full] = guarded(f, full, False)
    return FUNCTIONS[name]


def _rand(s, n, d, contiguous):
    _floating(d, "rand")
    return s.uniform(n, 0.0, 1.0, d)


def _randn(s, n, d, contiguous):
    if n:                                      # else no kernel is asked
        _floating(d, "randn")
    return s.normal(n, 0.0, 1.0, d, contiguous)


def _floating(d, name):
    if P.kind_of(d) < 2:
        kernel = "check_uniform_bounds" if name == "rand" else "normal_kernel_cpu"
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{P.c_name(d)}'")


rand = _new("rand", _rand)
randn = _new("randn", _randn)


@function(method=False)
def randint(low=None, high=None, size=None, *, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False,
            pin_memory=False):
    """Integers in [low, high); randint(high, size) begins at 0."""
    if isinstance(high, (tuple, list)):
        low, high, size = 0, low, high
    elif high is None and low is not None:
        low, high = 0, low
    if high is None or size is None or not isinstance(size, (tuple, list)):
        raise TypeError("randint() missing its high or its size: randint(low=0, high, size)")
    low, high = as_int("randint", 0 if low is None else low, "low", 1), as_int("randint", high, "high", 2)
    d, where = destined("randint", out, dtype, P.int64, device, layout)
    s = stream(generator, where)
    shape = sizes_of("randint", (size,))
    t = made(lambda n, c: s.random_from_to(n, low, high, d), shape, d, where, strides=lying(out, shape))
    v = t._ts_st.value
    if v.meta.numel > 1 and d.kind in "iu" and v.array.__class__ is np.ndarray:
        t._ts_st.bounds = v, low, high - 1     # for `in_range`
    return delivered("randint", t, out, requires_grad, layout)


@function(method=False)
def randint_like(input, low=None, high=None, *, generator=None, dtype=None, layout=None, device=None, pin_memory=False,
                 requires_grad=False, memory_format=None):
    """Integers in [low, high) with the size, dtype and layout of `input`; one number, or `high` alone: from 0 on."""
    if high is None:
        low, high = 0, low
    if high is None:
        raise TypeError("randint_like() received an invalid combination of arguments: its high is missing")
    low = 0 if low is None else low
    m = input._ts_meta
    d = np_dtype(dtype, m.dtype)
    device = m.device if device is None else to_jax(device)
    s = stream(generator, device)
    return made(lambda n, c: s.random_from_to(n, int(low), int(high), d), m.shape, d, device, requires_grad,
                like_strides(whole(input) or m, memory_format))


@function(method=False)
def randperm(n, *, generator=None, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A random permutation of 0 … n-1."""
    refuse_drawn(out)
    n = as_int("randperm", n, "n", 1)
    d, where = destined("randperm", out, dtype, P.int64, device, layout)
    if P.kind_of(d) in (0, 3):
        raise NotImplementedError(f"\"randperm\" not implemented for '{P.c_name(d)}'")
    if P.kind_of(d) == 1 and n - 1 > np.iinfo(d).max:
        raise RuntimeError(f"value cannot be converted to type {c_type(d)} without overflow")
    if d in _EXACT and n > 2 ** _EXACT[d] + 1:
        most = 2 ** 11 + 1 if d == P.float16 else f"2^{_EXACT[d]}+1"
        raise RuntimeError(f"n cannot be greater than {most} for {P.c_name(d)} type.")
    s = stream(generator, where)

    def draw(k, _):                            # one after the other under vmap
        return s.randperm(n, d) if k == n else np.concatenate([s.randperm(n, d) for _ in range(k // n)])
    return delivered("randperm", made(draw, (n,), d, where), out, requires_grad, layout)


#: Up to which power of two a floating dtype counts.
_EXACT = {P.float16: 11, P.float32: 24, P.float64: 53}


_NORMAL = "".join([f" * ({first}, *, torch.Generator generator = None, Tensor out = None)\n" for first in (
    "Tensor mean, Tensor std", "Tensor mean, float std = 1", "float mean, Tensor std")]) + (
    " * (float mean, float std, tuple of ints size, *, torch.Generator generator = None, Tensor out = None, torch.dtype dtype = None, "
    "torch.layout layout = None, torch.device device = None, bool pin_memory = False, bool requires_grad = False)\n")


def _is_number(x):
    return isinstance(x, TensorBase) and not x._ts_meta.shape and not x.requires_grad


def _parameter(t):
    """The numbers of a tensor that draws depend on; on the meta device, where none are drawn, zeros of its shape."""
    m = t._ts_meta
    return np.broadcast_to(np.zeros((), m.dtype), m.shape) if m.device == "meta" else t.detach()._ts_host()


def _undrawn(t, dtype=None, shape=None, strides=None):
    """On the meta device what a draw with the parameters `t` would be, else None."""
    m = t._ts_meta
    return wrap(value_of(None, meta_of(m.shape if shape is None else shape, dtype or m.dtype, "meta", strides))) if m.device == "meta" else None


@function(method=False)
@with_batches
def normal(mean, std=1.0, size=None, *, generator=None, out=None, dtype=None, layout=None, device=None, pin_memory=False,
           requires_grad=False):
    """Normal numbers with the given means and standard deviations (tensors or numbers)."""
    if size is not None:                       # where a tensor without dimensions is a number
        mean, std = [x.item() if _is_number(x) else x for x in (mean, std)]
    given = isinstance(mean, TensorBase) or isinstance(std, TensorBase)
    if given is (size is not None) or not all([isinstance(x, (TensorBase, numbers.Number)) for x in (mean, std)]):
        shown = [type_name(x) for x in (mean, std, size) if x is not None]
        raise TypeError(f"normal() received an invalid combination of arguments - got ({', '.join(shown)}), but expected one "
                        f"of:\n{_NORMAL}")
    if not (isinstance(mean, TensorBase) or isinstance(std, TensorBase)):
        d, where = destined("normal", out, dtype, P.default_float, device, layout)
        s = stream(generator, where)
        shape = sizes_of("normal", (size,))
        t = made(lambda n, c: s.normal(n, float(mean), float(std), d, c), shape, d, where, strides=lying(out, shape))
        return delivered("normal", t, out, requires_grad, layout)
    m = _parameter(mean) if isinstance(mean, TensorBase) else mean
    w = _parameter(std) if isinstance(std, TensorBase) else None
    first = mean if isinstance(mean, TensorBase) else std
    s = stream(generator, first._ts_meta.device)
    if w is not None and w.dtype.kind == "c":
        raise RuntimeError("normal expects standard deviation to be non-complex")
    if w is not None and (w < 0).any():
        raise RuntimeError("normal expects all elements of std >= 0.0")
    d, shape = first._ts_meta.dtype if out is None else out._ts_meta.dtype, broadcast_shapes([np.shape(m), np.shape(w)])
    lies = lying(out, shape)

    def draw(n, c):
        z = s.normal(n, 0.0, float(std) if w is None else 1.0, d, c and lies is None)
        z = z.reshape(shape) if lies is None else in_memory_order(z, shape, lies)
        if w is not None:
            z = (z * w).astype(d)              # rounded on its own, unlike in a fused program
        if d is P.complex32:
            return half.pack(half.unpack(z.view(np.uint32)) + m).view(d).ravel()
        return (z + (m if isinstance(m, np.ndarray) else d.type(m))).astype(d).ravel()
    wanting = ([x.expand(shape).clone() for x in (mean, std) if isinstance(x, TensorBase) and x.requires_grad]
               if context.grad and out is None else [])
    if wanting:                                # gradients of zeros
        which = 3 if isinstance(mean, TensorBase) and w is not None else 1 if w is None else 2
        return refill(wanting[0] if len(wanting) == 1 else wanting[0] + wanting[1], draw, f"NormalBackward{which}")
    t = made(draw, shape, d, first._ts_meta.device)
    return t if out is None else into(out, t, "normal", (mean, std))


@function(method=True, out=True)
@with_batches
def bernoulli(input, p=None, *, generator=None):
    """0 or 1: with probability input, or with probability p in the shape of input."""
    if isinstance(p, TensorBase) and p._ts_meta.ndim:
        raise TypeError("bernoulli() received an invalid combination of arguments - got (Tensor, Tensor), but expected one of:\n"
                        " * (Tensor input, *, torch.Generator generator = None, Tensor out = None)\n"
                        " * (Tensor input, float p, *, torch.Generator generator = None)\n")
    m = input._ts_meta
    s = stream(generator, m.device)
    if P.kind_of(m.dtype) == 3:
        kernel = "bernoulli_tensor_cpu_self_" if p is None else "bernoulli_scalar_cpu_"
        raise NotImplementedError(f'"{kernel}" not implemented for \'{P.c_name(m.dtype)}\'')
    if p is not None:
        return made(lambda n, c: s.bernoulli(n, p, m.dtype), m.shape, m.dtype, m.device, False)
    probs = _parameter(input)
    fill = lambda n, c: s.bernoulli_tensor(probs.ravel(), m.dtype)
    if input.requires_grad and context.grad:           # a gradient of zeros
        return refill(input.clone(), fill, "BernoulliBackward0")
    return made(fill, m.shape, m.dtype, m.device, False)


@function(method=True, out=True)
@with_batches
def multinomial(input, num_samples, replacement=False, *, generator=None):
    """Indices drawn with probabilities proportional to the rows of input."""
    m = input._ts_meta
    if m.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if m.device == "meta":
        return _undrawn(input, P.int64, (*m.shape[:-1], num_samples))
    w = input._ts_host()
    out = stream(generator, m.device).multinomial(w, num_samples, replacement, None if m.contiguous else like_strides(m, None))
    return tensor_from(np.ascontiguousarray(out), m.device)


@function(method=False)
@with_batches
def poisson(input, generator=None):
    """Poisson counts with the rates of input."""
    a, device = _parameter(input), input._ts_meta.device
    if device == "meta" and not (input.requires_grad and context.grad):
        return _undrawn(input)
    drawn = stream(generator, device).poisson(a.ravel())
    if input.requires_grad and context.grad:           # a gradient of zeros
        return refill(input.clone(), lambda n, c: drawn, "PoissonBackward0")
    return _drawn(drawn, a, device)


@function("_standard_gamma", method=False)
@with_batches
def standard_gamma(input, generator=None):
    """Gamma numbers with the shapes of input, through which gradients flow."""
    if input._ts_meta.device == "meta":
        return call(drawn_gamma, (input, _undrawn(input)))
    a, device = input.detach()._ts_host(), input._ts_meta.device
    return call(drawn_gamma, (input, _drawn(stream(generator, device).standard_gamma(a.ravel()), a, device)))


@function("_sample_dirichlet", method=False)
@with_batches
def sample_dirichlet(input, generator=None):
    """Points of the simplex drawn with the concentrations along the last dimension of input."""
    a, device = _parameter(input), input._ts_meta.device
    if a.dtype.itemsize == 2:
        raise NotImplementedError(f"\"dirichlet\" not implemented for '{P.c_name(a.dtype)}'")
    if device == "meta":
        return _undrawn(input)
    g = stream(generator, device).standard_gamma(a.astype(np.float64).ravel()).reshape(a.shape)
    one = np.ones((), a.dtype)
    x = (g / g.sum(-1, keepdims=True)).astype(a.dtype)
    return _drawn(np.clip(x, np.finfo(a.dtype).tiny, np.nextafter(one, 0 * one)), a, device)


@function(method=False)
@with_batches
def binomial(count, prob, generator=None):
    """Counts of successes in `count` trials of probability `prob`."""
    n, p = np.broadcast_arrays(count.detach()._ts_host(), prob.detach()._ts_host())
    if n.dtype.itemsize == 2 and P.kind_of(n.dtype) == 2:
        raise NotImplementedError(f"\"binomial_cpu\" not implemented for '{P.c_name(n.dtype)}'")
    device = count._ts_meta.device
    return no_derivative(_drawn(stream(generator, device).binomial(n.ravel(), p.ravel()), n, device), (count, prob), "aten::binomial")


def _slopes(x, lower, upper, generator):
    if x._ts_meta.device == "meta":
        return _undrawn(x)
    a, device = x.detach()._ts_host(), x._ts_meta.device
    return _drawn(stream(generator, device).rrelu_noise(a, lower, upper), a, device)


elementwise.slopes = _slopes


def _drawn(flat, like, device):
    return tensor_from(np.asarray(flat.reshape(like.shape), order="C"), device)      # ascontiguousarray would make 0-d arrays 1-d


# -- in place -----------------------------------------------------------------------------------------------------------------
def _inplace(name):
    def register(f):
        f.__name__ = f.__qualname__ = name
        setattr(Tensor, name, guarded(f, name, True) if name in NAMES else f)
        return f
    return register


def _constants(name, **given):
    """torch's error for a tensor that wants a gradient where a number belongs."""
    for position, (what, x) in enumerate(given.items(), 1):
        if isinstance(x, Tensor) and x.requires_grad:
            raise TypeError(f"{name}(): argument '{what.rstrip('_')}' (position {position}) must be float, not Tensor")


@_inplace("uniform_")
def uniform_(self, from_=0.0, to=1.0, *, generator=None, **kw):
    """Fill with numbers uniform in [from, to)."""
    low = kw.pop("from", from_)
    if kw:
        raise TypeError(f"uniform_() got an unexpected keyword argument '{next(iter(kw))}'")
    _constants("uniform_", from_=low, to=to)
    s, d = stream(generator, self._ts_meta.device), self._ts_meta.dtype
    _floating(d, "rand")
    return refill(self, lambda n, c: s.uniform(n, low, to, d), "UniformBackward0")


@_inplace("normal_")
def normal_(self, mean=0.0, std=1.0, *, generator=None):
    """Fill with normal numbers."""
    _constants("normal_", mean=mean, std=std)
    s, d = stream(generator, self._ts_meta.device), self._ts_meta.dtype
    if self._ts_meta.numel:
        _floating(d, "randn")
    return refill(self, lambda n, c: s.normal(n, mean, std, d, c), "NormalBackward0")


@_inplace("exponential_")
def exponential_(self, lambd=1.0, *, generator=None):
    """Fill with exponential numbers of rate lambd."""
    _constants("exponential_", lambd=lambd)
    s, d = stream(generator, self._ts_meta.device), self._ts_meta.dtype
    return refill(self, lambda n, c: s.exponential(n, lambd, d), "ExponentialBackward0")


@_inplace("log_normal_")
def log_normal_(self, mean=1.0, std=2.0, *, generator=None):
    """Fill with numbers whose logarithm is normal."""
    _constants("log_normal_", mean=mean, std=std)
    s, d = stream(generator, self._ts_meta.device), self._ts_meta.dtype
    return refill(self, lambda n, c: s.log_normal(n, mean, std, d), "LogNormalBackward0")


@_inplace("cauchy_")
def cauchy_(self, median=0.0, sigma=1.0, *, generator=None):
    """Fill with Cauchy numbers."""
    _constants("cauchy_", median=median, sigma=sigma)
    s, d = stream(generator, self._ts_meta.device), self._ts_meta.dtype
    return refill(self, lambda n, c: s.cauchy(n, median, sigma, d), "CauchyBackward0")


@_inplace("geometric_")
def geometric_(self, p, *, generator=None):
    """Fill with counts of trials up to the first success."""
    _constants("geometric_", p=p)
    s, d = stream(generator, self._ts_meta.device), self._ts_meta.dtype
    return refill(self, lambda n, c: s.geometric(n, p, d), "GeometricBackward0")


@_inplace("random_")
def random_(self, *args, generator=None, **kw):
    """Fill with integers: all that the dtype counts to, below `to`, or in [from, to)."""
    if kw.keys() - {"from", "to"}:
        got = [type_name(x) for x in args] + [f"{k}={type_name(x)}" for k, x in reversed(kw.items())]
        raise TypeError(f"random_() received an invalid combination of arguments - got ({', '.join(got)}{'' if args else ', '}), but "
                        "expected one of:\n * (*, torch.Generator generator = None)\n * (int from, int to, *, torch.Generator generator = "
                        "None)\n * (int to, *, torch.Generator generator = None)\n")
    s, d = stream(generator, self._ts_meta.device), self._ts_meta.dtype
    if "from" in kw or "to" in kw:
        args = (kw.get("from", args[0] if args else 0), kw.get("to", args[1] if len(args) > 1 else None))
    if not args:
        return refill(self, lambda n, c: s.random_full(n, d), "RandomBackward2")
    low, high = (0, args[0]) if len(args) == 1 else args
    if high is None:
        return refill(self, lambda n, c: s.random_from(n, low, d), "RandomBackward0")
    return refill(self, lambda n, c: s.random_from_to(n, low, high, d), "RandomBackward1" if len(args) == 1 else "RandomBackward0")


@_inplace("bernoulli_")
def bernoulli_(self, p=0.5, *, generator=None):
    """Fill with 0 or 1, which has probability p (a number or a tensor)."""
    s, d = stream(generator, self._ts_meta.device), self._ts_meta.dtype
    if P.kind_of(d) == 3:
        check_inplace(self, needs_grad(self))
        raise NotImplementedError(f'"bernoulli_{"tensor_cpu_self_" if isinstance(p, TensorBase) else "scalar_cpu_"}" not implemented for '
                                  f'\'{P.c_name(d)}\'')
    if isinstance(p, TensorBase):
        found, m = to_refill(self, p) if "transform" in context.modes else None, self._ts_meta
        shape, strides, p = (m.shape, m.strides, p) if found is None else found[1:4]
        probs = _parameter(p.expand(shape)).ravel()
        if strides != contiguous_strides(shape):
            probs = probs[fill_order(shape, strides)]
        draw = lambda n, c: s.bernoulli_tensor(probs, d)
        return refill(self, draw, "BernoulliBackward1") if found is None else _copied(self, found, draw)
    return refill(self, lambda n, c: s.bernoulli(n, p, d), "BernoulliBackward2")
