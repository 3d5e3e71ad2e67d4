"""Samplers that draw a varying number of uniforms per element."""

import math

import numpy as np

from . import floats

_SQUEEZE = float(np.float32(0.0331))
_THIRD = float(np.float32(1) / np.float32(3))  # single precision for doubles too


class Uniforms:
    """Uniforms one at a time from an engine; ``close`` returns unused ones."""

    def __init__(self, engine):
        self._engine = engine
        self._pool, self._used = [], 0

    def __call__(self):
        if self._used == len(self._pool):
            self._pool, self._used = self._engine.block_doubles(), 0
        self._used += 1
        return self._pool[self._used - 1]

    def close(self):
        self._engine.give_back(len(self._pool) - self._used)

    def normal(self):
        """A unit normal; the pair's other half waits in the engine."""
        cached = self._engine.next_normal
        if cached is not None:
            self._engine.next_normal = None
            return cached
        u = self()
        r = math.sqrt(-2.0 * math.log1p(-self()))
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


def standard_gamma(alpha, draw):
    """One gamma variate of shape ``alpha``, a float32 or float64 scalar whose
    precision decides how the shape is shifted (Marsaglia and Tsang, 2000)."""
    single = isinstance(alpha, np.float32)
    scale = 1.0
    if alpha < 1:
        if alpha == 0:
            return 0.0
        scale = math.pow(1.0 - draw(), float(alpha.dtype.type(1) / alpha))
        alpha = alpha + alpha.dtype.type(1)
    d = float(alpha - np.float32(_THIRD)) if single else float(alpha) - _THIRD
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        y = 0.0
        while y <= 0:
            x = draw.normal()
            y = 1.0 + c * x
        v = y * y * y
        u = 1.0 - draw()
        square = x * x
        if u < 1.0 - _SQUEEZE * square * square:
            return scale * d * v
        if math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return scale * d * v
