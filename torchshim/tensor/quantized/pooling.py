"""Pooling, resizing and padding of quantized tensors."""
from __future__ import annotations


from ..core.dtype import ALL as DTYPES
from .base import LEVELS, handles, like, made, per_tensor, wraps
from .. import kinds
from ..api.bind import FUNCTIONS as F

_FLOAT = DTYPES["float32"]


def _picked(*names):
    """Functions that pick or move levels: computed in float32, which holds them exactly."""
    for name in names:
        @handles(name)
        @wraps
        def f(func, input, *args, **kwargs):
            per_tensor(input)
            out = kinds.unasked(func)(input._ints.to(_FLOAT), *args, **kwargs)
            if isinstance(out, tuple):
                raise NotImplementedError("torchshim: indices of a quantized tensor's maxima; torch has none either")
            return like(input, out.to(input._ints.dtype))


_picked(*[f"{where}max_pool{d}d" for where in ("", "nn.functional.") for d in (1, 2, 3)], "nn.functional.pixel_shuffle", "pixel_shuffle",
        "nn.functional.pixel_unshuffle", "pixel_unshuffle", "channel_shuffle", "nn.functional.channel_shuffle")


def shifted(s):
    """Levels minus the zero point in float32."""
    q = per_tensor(s)
    return s._ints.to(_FLOAT) - q.zero_point


def averages(s, pool):
    """Means of levels as `pool` makes them, rounded: sums times the reciprocal of how many numbers each is made of."""
    q, (held, least, most) = per_tensor(s), LEVELS[s._dtype]
    x = shifted(s).to(DTYPES["float64"])
    means, ones = pool(x), pool(F["ones_like"](x), sums=True)
    if ones is None:
        rounded = means.to(_FLOAT).round()
    else:
        rounded = ((means * ones).round().to(_FLOAT) * (1 / ones.to(_FLOAT))).round()
    return made((rounded + q.zero_point).clamp(least, most).to(held), q, s._dtype)


def _windows(n, size):
    """How many elements each of `size` adaptive windows on n has."""
    return [-((-(k + 1) * n) // size) - k * n // size for k in range(size)]


@handles(*[f"{where}adaptive_avg_pool{d}d" for where in ("", "nn.functional.") for d in (1, 2, 3)])
@wraps
def adaptive(func, input, output_size):
    def pool(x, sums=False):
        out = kinds.unasked(func)(x, output_size)
        if not sums:
            return out
        d = int(func.__name__[-2])
        for k in range(1, d + 1):
            counts = _windows(x.shape[-k], out.shape[-k])
            shape = [-1 if j == out.dim() - k else 1 for j in range(out.dim())]
            out = out * F["tensor"](counts, dtype=out.dtype).reshape(shape)
        return out
    return averages(input, pool)


@handles(*[f"{where}avg_pool{d}d" for where in ("", "nn.functional.") for d in (1, 2, 3)])
@wraps
def averaged(func, input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    f, options = kinds.unasked(func), dict(stride=stride, padding=padding, ceil_mode=ceil_mode, count_include_pad=count_include_pad)

    def pool(x, sums=False):
        if func.__name__.endswith("1d"):
            return None if sums else f(x, kernel_size, **options)
        means = f(x, kernel_size, **options, divisor_override=divisor_override)
        return f(x, kernel_size, **options, divisor_override=1) / means if sums else means
    return averages(input, pool)


@handles("nn.functional.interpolate", "nn.functional.upsample", "nn.functional.upsample_nearest", "nn.functional.upsample_bilinear")
@wraps
def interpolate(func, input, *args, **kwargs):
    """The nearest levels, or mixtures of four of them, rounded."""
    q, (held, least, most) = per_tensor(input), LEVELS[input._dtype]
    out = kinds.unasked(func)(shifted(input), *args, **kwargs)
    return made((out.round() + q.zero_point).clamp(least, most).to(held), q, input._dtype)


@handles("nn.functional.pad", "pad")
@wraps
def pad(func, input, pad, mode="constant", value=None):
    per_tensor(input, "Only per-tensor padding is supported.")
    if mode != "constant":
        return like(input, kinds.unasked(func)(input._ints.to(_FLOAT), pad, mode).to(input._ints.dtype))
    from .arithmetic import level_of
    return like(input, kinds.unasked(func)(input._ints, pad, mode, level_of(input, value or 0.)))


@handles("constant_pad_nd")
def constant_pad_nd(input, pad, value=0):
    from .arithmetic import level_of
    return like(input, F["constant_pad_nd"](input._ints, pad, level_of(input, value)))
