"""torch.nn.init: fill tensors in place, with torch's very numbers."""
from __future__ import annotations

import math

import numpy as np

from ..engine import warn
from ..autograd.grad_mode import no_grad as _no_grad
from ..dropin import missing_attribute as _missing_attribute
from ..tensor.api import docs as _docs
from ..tensor.core.device import to_jax
from ..tensor.core.tensor import tensor_from

_GAINS = {**dict.fromkeys(("linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
                           "sigmoid"), 1), "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}


def calculate_gain(nonlinearity, param=None):
    """The factor by which weights before a nonlinearity are scaled. param: leaky_relu's slope."""
    if nonlinearity == "leaky_relu":
        if param is None:
            slope = 0.01
        elif not isinstance(param, bool) and isinstance(param, (int, float)):
            slope = param
        else:
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope ** 2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity]


def _filled(tensor, fill):
    with _no_grad():
        fill(tensor)
    return tensor


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Numbers from U(a, b)."""
    return _filled(tensor, lambda t: t.uniform_(a, b, generator=generator))


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Numbers from N(mean, std²)."""
    return _filled(tensor, lambda t: t.normal_(mean, std, generator=generator))


_no_grad_uniform_, _no_grad_normal_ = uniform_, normal_       # torch's inner names, which libraries of initialisers call


def constant_(tensor, val):
    """One value everywhere."""
    return _filled(tensor, lambda t: t.fill_(val))


def ones_(tensor):
    """Ones."""
    return constant_(tensor, 1.0)


def zeros_(tensor):
    """Zeros."""
    return _filled(tensor, lambda t: t.zero_())


def _write(tensor, array):
    """Put a NumPy array (of any float dtype) into the tensor."""
    return _filled(tensor, lambda t: t.copy_(tensor_from(np.ascontiguousarray(array))))


def eye_(tensor):
    """Ones on the diagonal of a matrix."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return _write(tensor, np.eye(*tensor.shape, dtype=np.float32))


def dirac_(tensor, groups=1):
    """A convolution kernel that passes its input on."""
    n = tensor.ndimension()
    if n not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    shape = tuple(tensor.shape)
    if shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    each = shape[0] // groups
    a = np.zeros(shape, np.float32)
    middle = tuple(k // 2 for k in shape[2:])
    for g in range(groups):
        for d in range(min(each, shape[1])):
            a[(g * each + d, d) + middle] = 1
    return _write(tensor, a)


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Numbers from N(mean, std²) inside [a, b]: draws outside are drawn again."""
    def below(x):
        return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0

    if mean < a - 2 * std or mean > b + 2 * std:
        warn("mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect.")
    if below((b - mean) / std) - below((a - mean) / std) > 0.3:
        return _filled(tensor, lambda t: _redraw_normal(t, mean, std, a, b, generator))
    return _filled(tensor, lambda t: _redraw_uniform(t, mean, std, a, b, generator))


def _no_grad_trunc_normal_(tensor, mean, std, a, b, generator=None):
    """trunc_normal_ under torch's inner name."""
    return trunc_normal_(tensor, mean, std, a, b, generator)


def _blank(t):
    from ..tensor.api.creation import empty_like
    return empty_like(t.detach())


def _drawn(t, fill):
    """Fresh numbers of t's dtype and layout, on the host."""
    return np.array(fill(_blank(t))._ts_host())


def _redraw_normal(t, mean, std, a, b, generator):
    x = _drawn(t, lambda s: s.normal_(mean, std, generator=generator))
    low, high = x.dtype.type(a), x.dtype.type(b)
    while True:
        out = (x < low) | (x > high)
        if not out.any():
            break
        again = _drawn(t, lambda s: s.normal_(mean, std, generator=generator))
        x[out] = again[out]
    t.copy_(tensor_from(x))


def _redraw_uniform(t, mean, std, a, b, generator):
    """Rejection from a uniform distribution, for bounds that hold little of the normal one."""
    f = np.float64 if t.dtype.name == "float64" else np.float32
    peak = -0.5 * ((min(max(mean, a), b) - mean) / std) ** 2

    def draw():
        x = _drawn(t, lambda s: s.uniform_(a, b, generator=generator))
        e = _drawn(t, lambda s: s.uniform_(0, 1, generator=generator))
        with np.errstate(divide="ignore"):
            z = (x.astype(f) - f(mean)) / f(std)
            return x, np.log(e.astype(f)) > f(-0.5) * (z * z) - f(peak)
    x, pending = draw()
    while pending.any():
        new, refused = draw()
        take = pending & ~refused
        x[take] = new[take]
        pending &= refused
    t.copy_(tensor_from(x))


def _calculate_fan_in_and_fan_out(tensor):
    """Inputs and outputs that each unit of a weight connects."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    inputs, outputs = tensor.size(1), tensor.size(0)
    area = math.prod(tensor.shape[2:]) if tensor.dim() > 2 else 1
    return inputs * area, outputs * area


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """U(-b, b) with b = gain * sqrt(6 / (fan_in + fan_out))."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    std = gain * math.sqrt(2.0 / float(fan_in + fan_out))
    a = math.sqrt(3.0) * std
    return uniform_(tensor, -a, a, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """N(0, s²) with s = gain * sqrt(2 / (fan_in + fan_out))."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator)


def _calculate_correct_fan(tensor, mode):
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


def _kaiming_std(tensor, a, mode, nonlinearity):
    if 0 in tensor.shape:
        warn("Initializing zero-element tensors is a no-op")
        return None
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """U(-b, b) with b = gain * sqrt(3 / fan)."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """N(0, s²) with s = gain / sqrt(fan)."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0.0, std, generator)


def orthogonal_(tensor, gain=1, generator=None):
    """A (semi-)orthogonal matrix; further dimensions are taken as one."""
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if not tensor.numel():
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    from ..tensor.api.creation import empty
    flat = empty(rows, columns, dtype=tensor.dtype, device=tensor.device).normal_(0, 1, generator=generator)._ts_host()
    q, r = np.linalg.qr(flat.T if rows < columns else flat)
    d = np.diag(r)
    q = q * np.sign(d)
    q = q.T if rows < columns else q
    _write(tensor, q.reshape(tuple(tensor.shape)))
    return _filled(tensor, lambda t: t.mul_(gain)) if gain != 1 else tensor


def sparse_(tensor, sparsity, std=0.01, generator=None):
    """N(0, std²) with a share of zeros in every column."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    from ..random.batches import differing
    from ..random.generator import stream
    if differing() is not None:
        raise NotImplementedError("torchshim: init.sparse_ under vmap with randomness='different'")
    source = stream(None, to_jax(None))

    def fill(t):
        x = _drawn(t, lambda s: s.normal_(0, std, generator=generator))
        for c in range(columns):
            x[source.randperm(rows)[:zeros], c] = 0
        t.copy_(tensor_from(x))
    return _filled(tensor, fill)


def _old(name):
    new = globals()[name + "_"]

    def f(*args, **kwargs):
        warn(f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning)
        return new(*args, **kwargs)
    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"The old name of `{name}_`."
    return f


for _name in ("uniform", "normal", "constant", "eye", "dirac", "xavier_uniform", "xavier_normal", "kaiming_uniform", "kaiming_normal",
              "orthogonal", "sparse"):
    globals()[_name] = _old(_name)
_docs.complete({"torch.nn.init.": globals()})
__getattr__ = _missing_attribute(__name__)
