"""Samplers that draw a varying number of uniforms per element."""

import math
import operator

import numpy as np

from . import floats

_SQUEEZE = float(np.float32(0.0331))
_THIRD = float(np.float32(1) / np.float32(3))  # single precision for doubles too


class Uniforms:
    """An engine's uniforms one at a time: ``draw()``.  As a context manager it
    gives back, at the end, those that were made ahead but not drawn."""

    def __init__(self, engine):
        self._engine = engine
        self._ahead = iter(())
        self.draw = self._chain().__next__

    def _chain(self):
        while True:
            self._ahead = iter(self._engine.block_doubles())
            yield from self._ahead

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._engine.give_back(operator.length_hint(self._ahead))

    def normal(self):
        """A unit normal; the pair's other half waits in the engine."""
        cached = self._engine.next_normal
        if cached is not None:
            self._engine.next_normal = None
            return cached
        u = self.draw()
        r = math.sqrt(-2.0 * math.log1p(-self.draw()))
        t = floats.TWO_PI * u
        self._engine.next_normal = r * math.sin(t)
        return r * math.cos(t)


def poisson(rate, draw):
    """One Poisson variate of mean ``rate`` >= 0."""
    if rate == 0:
        return 0
    if rate < 10:
        limit = math.exp(-rate)
        count, product = -1, 1.0
        while True:
            count += 1
            product *= draw()
            if product <= limit:
                return count
    # transformed rejection with squeeze (Hörmann, 1993)
    root, log_rate = math.sqrt(rate), math.log(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    log_inverse_alpha = math.log(1.1239 + 1.1328 / (b - 3.4))
    v_r = 0.9277 - 3.6224 / (b - 2)
    while True:
        u = draw() - 0.5
        v = draw()
        us = 0.5 - abs(u)
        if us == 0:
            continue
        k = math.floor((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= v_r:
            return k
        if k < 0 or (us < 0.013 and v > us):
            continue
        log_v = math.log(v) if v else -math.inf
        if (log_v + log_inverse_alpha - math.log(a / (us * us) + b)
                <= -rate + k * log_rate - math.lgamma(k + 1)):
            return k


def binomial(count, prob, draw):
    """One binomial variate of ``count`` trials."""
    if count <= 0 or prob <= 0:
        return 0.0
    if prob >= 1:
        return count
    if prob <= 0.5:
        return (_binomial_rejection if count * prob >= 10 else _binomial_inversion)(count, prob, draw)
    if prob > 0.5:
        return count - (_binomial_rejection if count * (1 - prob) >= 10 else _binomial_inversion)(count, 1 - prob, draw)
    return math.nan


def _binomial_inversion(count, prob, draw):
    """The number of geometric waiting times that fit into ``count`` trials."""
    log_miss = math.log1p(-prob)
    waited, successes = 0.0, -1.0
    while waited <= count:
        successes += 1
        u = draw()
        waited += math.ceil(math.log(u) / log_miss) if u else math.inf
    return successes


def _stirling_tail(k):
    """log(k!) less Stirling's approximation."""
    if k <= 9:
        return math.lgamma(k + 1) - (0.5 * math.log(2 * math.pi) + (k + 0.5) * math.log(k + 1) - (k + 1))
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)


def _binomial_rejection(count, prob, draw):
    """Transformed rejection with squeeze, BTRS (Hörmann, 1993)."""
    deviation = math.sqrt(count * prob * (1 - prob))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    c = count * prob + 0.5
    v_r = 0.92 - 4.2 / b
    r = prob / (1 - prob)
    alpha = (2.83 + 5.1 / b) * deviation
    m = math.floor((count + 1) * prob)
    while True:
        u = draw() - 0.5
        v = draw()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + c) if us else -1
        if us >= 0.07 and v <= v_r:
            return k
        if k < 0 or k > count:
            continue
        bound = ((m + 0.5) * math.log((m + 1) / (r * (count - m + 1))) + (count + 1) * math.log((count - m + 1) / (count - k + 1))
                 + (k + 0.5) * math.log(r * (count - k + 1) / (k + 1)) + _stirling_tail(m) + _stirling_tail(count - m)
                 - _stirling_tail(k) - _stirling_tail(count - k))
        if v == 0 or math.log(v * alpha / (a / (us * us) + b)) <= bound:
            return k


def standard_gammas(alpha, uniforms):
    """A gamma variate, as float64, for each shape of a float32 or float64 array
    (Marsaglia and Tsang, 2000).  Shapes are shifted in the array's precision."""
    one = alpha.dtype.type(1)
    small = alpha < 1
    with np.errstate(divide="ignore"):
        powers = np.where(small, one / alpha, one).astype(np.float64).tolist()
    shifted = np.where(small, alpha + one, alpha)
    if alpha.dtype == np.float32:
        d = (shifted - np.float32(_THIRD)).astype(np.float64)
    else:
        d = shifted - _THIRD
    c = 1.0 / np.sqrt(9.0 * d)
    out = []
    for a, power, d, c in zip(alpha.tolist(), powers, d.tolist(), c.tolist(), strict=True):
        if a == 0:
            out.append(0.0)
            continue
        scale = math.pow(1.0 - uniforms.draw(), power) if a < 1 else 1.0
        out.append(_gamma(scale * d, d, c, uniforms))
    return out


def _gamma(scaled, d, c, uniforms):
    while True:
        y = 0.0
        while y <= 0:
            x = uniforms.normal()
            y = 1.0 + c * x
        v = y * y * y
        u = 1.0 - uniforms.draw()
        square = x * x
        if u < 1.0 - _SQUEEZE * square * square:
            return scaled * v
        if math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return scaled * v
