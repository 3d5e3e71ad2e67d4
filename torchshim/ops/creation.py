"""Operators without operands: constants and ranges of a given shape, dtype and layout."""
from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np

from ..engine import Instance, Operator
from . import promotion as P
from .half_kernels import refused
from .casts import cast


class Make(Operator):
    """`body(shape, dtype, *static arguments, *numbers)`. `layout` is (the Meta of the result, static arguments). `host` is the same
    with NumPy, for numbers of at least 32 bits and bool. `half`: torch has no kernel of this name for `least` or more complex32."""

    def __init__(self, name, body, host=None, half=None, least=0):
        super().__init__(name)
        self.body, self.host, self.half, self.fewest = body, host, half, least

    def key(self, layout, metas, kinds):
        return layout, kinds

    def build(self, layout, metas, kinds):
        m, extra = layout
        return Instance(self, layout, lambda *nums: [self.body(m.shape, m.dtype, *extra, *nums)], (), kinds, m.device, (m.strides,),
                        results=[(m.shape, m.dtype)])

    def build_half(self, layout, metas, kinds):
        if self.half and layout[0].numel >= self.fewest:
            raise refused(self.half)
        return super().build_half(layout, metas, kinds)

    def on_host(self, inst):
        (m, extra), host = inst.layout, self.host
        if host is None or m.dtype.kind not in "fiub" or m.dtype == np.float16:
            return None
        return lambda *nums: [host(m.shape, m.dtype, *extra, *nums)]


def _full(shape, dtype, *value):
    v = value[0] if len(value) == 1 else jax.lax.complex(*value)
    if dtype == np.bool_:
        v = v != 0
    return jnp.broadcast_to(v.astype(dtype), shape)


def _fused(k, step, start, xp):
    """`start + k * step` of float64 numbers with one rounding: the error of the product, found by halves, is added last."""
    product = k * step
    k1, s1 = ((134217729. * x) - ((134217729. * x) - x) for x in (k, step))
    error = ((k1 * s1 - product) + k1 * (step - s1) + (k - k1) * s1) + (k - k1) * (step - s1)
    total = product + start
    back = total - product
    exact = total + (((product - (total - back)) + (start - back)) + error)
    return xp.where(xp.isfinite(exact), exact, total)          # the halves of huge numbers overflow


def _arange(shape, dtype, start, step, xp=jnp):
    n, size = shape[0], np.dtype(dtype).itemsize
    if P.kind_of(dtype) == 1:
        return start.astype(dtype) + xp.arange(n, dtype=dtype) * step.astype(dtype)
    narrow = size == 2
    if narrow:                                # halves are counted in float32
        start, step = start.astype(np.float32), step.astype(np.float32)
    start, step, k = start.astype(np.float64), step.astype(np.float64), xp.arange(n).astype(np.float64)
    count = functools.partial(_fused, xp=xp) if not narrow else lambda k, step, start: (k * step + start).astype(np.float32)
    # torch fills registers of 32 bytes, two at a time: their first number is rounded to the dtype, the others are counted from it;
    # what is left over is counted one by one
    lanes = 32 // size
    each = count(k, step, start).astype(dtype)
    whole = n - n % (2 * lanes)
    if not whole:
        return each
    first, lane = each[:whole:lanes, None].astype(np.float64), xp.arange(lanes).astype(np.float64)
    more = (lane * step).astype(np.float32).astype(np.float64) + first if narrow else count(lane, step, first)
    return xp.concatenate([more.reshape(whole).astype(dtype), each[whole:]])


def _arange_on_host(shape, dtype, start, step):
    if P.kind_of(dtype) == 1 or start == (whole := int(start)) and step == (by := int(step)) and abs(whole) + shape[0] * abs(by) < 1 << 24:
        wide = dtype if P.kind_of(dtype) == 1 else np.float64       # whole numbers that every step of the counting represents
        out = np.arange(shape[0], dtype=wide)
        if step != 1:
            out *= step.astype(wide)
        if start != 0:
            out += start.astype(wide)
        return out.astype(dtype, copy=False)
    return _arange(shape, dtype, start, step, np)


def _ends(dtype, numbers):
    """Numbers as they are counted with: real ones as they come, complex ones from their parts."""
    return [jax.lax.complex(a, b) for a, b in zip(numbers[::2], numbers[1::2])] if P.kind_of(dtype) == 3 else numbers


def _linspace(shape, dtype, *numbers, xp=jnp):
    start, end = _ends(dtype, numbers)
    n = shape[0]
    if n == 1:
        return start.astype(dtype).reshape(1)
    wide = np.float64 if P.kind_of(dtype) == 1 else P.compute_dtype(dtype)
    i = xp.arange(n)
    if dtype in (P.float16, P.bfloat16):       # where torch rounds after every step
        def short(x):
            return x.astype(dtype).astype(np.float32)
        a, b, far, near = (short(x) for x in (start, end, i, n - 1 - i))
        step = short(short(b - a) / short(xp.asarray(n - 1)))
        return xp.where(i < n // 2, short(a + short(step * far)), short(b - short(step * near))).astype(dtype)
    a, b = start.astype(wide), end.astype(wide)
    step = (b - a) / (n - 1)
    exact = np.complex128 if P.kind_of(dtype) == 3 else np.float64
    # torch counts from both ends, so that the last element is `end` itself, and multiplies and adds in one rounding
    a, b, step, far = (x.astype(exact) for x in (a, b, step, i))
    count = functools.partial(_fused, xp=xp) if dtype == np.float64 else lambda k, step, start: start + step * k
    return xp.where(i < n // 2, count(far, step, a), count(n - 1 - far, -step, b)).astype(wide).astype(dtype)


def _logspace(shape, dtype, *numbers):
    start, end, base = _ends(dtype, numbers)
    n = shape[0]
    if not n:
        return jnp.zeros(0, dtype)
    if P.kind_of(dtype) == 2 and n > 1:        # a single power is made of the number as it was given
        start, end = [x.astype(dtype).astype(x.dtype) for x in (start, end)]
    i = jnp.arange(n).astype(jnp.float64)
    span = end - start
    if P.kind_of(dtype) == 2:
        span = span.astype(dtype).astype(span.dtype)
    step = span / max(n - 1, 1)
    at = jnp.where(i < n // 2, start + step * i, end - step * (n - 1 - i)) if n > 1 else start.reshape(1)
    return cast(jnp.power(base, at), dtype)


ZEROS = Make("zeros", lambda shape, dtype: jnp.zeros(shape, dtype), np.zeros)
ONES = Make("ones", lambda shape, dtype: jnp.ones(shape, dtype),
            lambda shape, dtype: np.ones(shape, dtype) if shape else np.array(1, dtype))       # as most backward passes begin
FULL = Make("full", _full, lambda shape, dtype, value: np.full(shape, value != 0 if dtype == np.bool_ else value, dtype))
ARANGE = Make("arange", _arange, _arange_on_host, "arange_cpu")
LINSPACE = Make("linspace", _linspace, functools.partial(_linspace, xp=np), "linspace_cpu", 2)
LOGSPACE = Make("logspace", _logspace, half="logspace_cpu", least=2)
EYE = Make("eye", lambda shape, dtype: jnp.eye(*shape, dtype=dtype), lambda shape, dtype: np.eye(*shape, dtype=dtype), "eye")
