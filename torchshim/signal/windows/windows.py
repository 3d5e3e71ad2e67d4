"""The windows of torch.signal.windows.

All take the number of points M, `sym` (True for filters; False for one period, as spectral analysis wants it), dtype (float32 or
float64), layout, device and requires_grad. The formulas are those of Harris (1978), "On the use of windows for harmonic analysis with
the discrete Fourier transform", and of SciPy's documentation.
"""
from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Iterable

from ...tensor.api.creation import empty, ones, tensor
from ...tensor.api.ranges import linspace
from ...tensor.core.dtype import ALL, get_default_dtype
from ...tensor.core.layout import ALL as LAYOUTS

STRIDED = LAYOUTS["strided"]


def window(f, name=None):
    """`f(M, points, sym, ...)` as a window: checks (in which it is called `name`), and the windows of no point and of one.
    `points(start, stop)` are M numbers."""
    name = name or f.__name__
    sig = inspect.signature(f)
    own = [p.replace(kind=p.KEYWORD_ONLY) for p in list(sig.parameters.values())[3:]]
    keyword = lambda name, default: inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
    shown = [inspect.Parameter("M", inspect.Parameter.POSITIONAL_OR_KEYWORD), *own, keyword("sym", True), keyword("dtype", None),
             keyword("layout", STRIDED), keyword("device", None), keyword("requires_grad", False)]

    @functools.wraps(f)
    def g(M, *, sym=True, dtype=None, layout=STRIDED, device=None, requires_grad=False, **own):
        dtype = get_default_dtype() if dtype is None else dtype
        if M < 0:
            raise ValueError(f"{name} requires non-negative window length, got M={M}")
        if layout is not STRIDED:
            raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
        if dtype not in (ALL["float32"], ALL["float64"]):
            raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
        points = lambda start, stop: linspace(start, stop, M, dtype=dtype, device=device)
        made = f(M, points, sym, **own)                    # for its own checks, whatever M is
        if M < 2:
            made = (ones if M else empty)(M, dtype=dtype, device=device)
        return made.requires_grad_() if requires_grad else made
    g.__signature__ = sig.replace(parameters=shown)
    del g.__wrapped__
    return g


def _steps(M, sym):
    """The number of steps between the points, or of a whole period."""
    return max(M if not sym else M - 1, 1)


@window
def exponential(M, points, sym, center=None, tau=1.0):
    """exp(-|n - center| / tau)."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    center = _steps(M, sym) / 2 if center is None else center
    return (-points(-center / tau, (-center + (M - 1)) / tau).abs()).exp()


@window
def cosine(M, points, sym):
    """sin(pi (n + 1/2) / M)."""
    step = math.pi / max(M if sym else M + 1, 1)
    return points(0.5 * step, (0.5 + (M - 1)) * step).sin()


@window
def gaussian(M, points, sym, std=1.0):
    """A normal density without its factor, `std` points wide."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    start, scale = -_steps(M, sym) / 2, 1 / (std * math.sqrt(2))
    return (-points(start * scale, (start + (M - 1)) * scale) ** 2).exp()


@window
def kaiser(M, points, sym, beta=12.0):
    """I0(sqrt(beta ** 2 - k ** 2)) / I0(beta) for k from -beta to beta."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    stop = min(beta, -beta + (M - 1) * (2 * beta / _steps(M, sym)))
    k = points(-beta, stop)
    return (beta * beta - k * k).clamp(min=0).sqrt().i0() / k.new_tensor(beta).i0()


def _cosines(M, points, sym, a):
    """The sum of (-1) ** i * a[i] * cos(i * 2 pi n / steps)."""
    k = points(0.0, 2 * math.pi / _steps(M, sym) * (M - 1))
    weights = tensor([(-1) ** i * w for i, w in enumerate(a)], dtype=k.dtype, device=k.device)
    orders = tensor(list(range(len(weights))), dtype=k.dtype, device=k.device)
    return (weights.unsqueeze(-1) * (orders.unsqueeze(-1) * k).cos()).sum(0)


@window
def general_cosine(M, points, sym, a):
    """Weighted cosines of 0, 1, 2, … periods, with the weights `a`."""
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    return _cosines(M, points, sym, a)


cosines = functools.partial(window, name="general_cosine")


@cosines
def general_hamming(M, points, sym, alpha=0.54):
    """alpha - (1 - alpha) * cos."""
    return _cosines(M, points, sym, (alpha, 1 - alpha))


@cosines
def hamming(M, points, sym):
    """0.54 - 0.46 * cos."""
    return _cosines(M, points, sym, (0.54, 1 - 0.54))


@cosines
def hann(M, points, sym):
    """A raised cosine."""
    return _cosines(M, points, sym, (0.5, 0.5))


@window
def blackman(M, points, sym):
    """Three cosines."""
    return _cosines(M, points, sym, (0.42, 0.5, 0.08))


@cosines
def nuttall(M, points, sym):
    """Four cosines with the least side lobes."""
    return _cosines(M, points, sym, (0.3635819, 0.4891775, 0.1365995, 0.0106411))


@window
def bartlett(M, points, sym):
    """A triangle that is 0 at both ends."""
    return 1 - points(-1.0, -1.0 + (M - 1) * (2 / _steps(M, sym))).abs()
