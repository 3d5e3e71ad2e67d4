"""Convolutions that XLA's CPU backend has no fast loop for, made of those for which it has one.

Its fast loop knows one or two dimensions, one group and no space between the input's elements; what else there is takes up to sixty
times as long.
"""
from __future__ import annotations

import itertools
import math

import jax.numpy as jnp
from jax import lax

_TAPS = 49                 # of channels of their own, up to which a sum of shifted products is better than XLA's slow loop over groups
_MOST = 64                 # parts; beyond, compiling them costs more than they save


def lowered(eqn, x, w, fence):
    """The result of a `conv_general_dilated` equation, or None where XLA does well by itself."""
    p = eqn.params
    lhs, rhs, out = (tuple(map(int, spec)) for spec in p["dimension_numbers"])
    if 0 in eqn.outvars[0].aval.shape or 0 in x.shape or 0 in w.shape:
        return None
    spread, deep = any(n > 1 for n in p["lhs_dilation"]), len(lhs) == 5
    groups = p["feature_group_count"] * p["batch_group_count"]
    points = groups == 1 and not spread and _points(p, [x.shape[d] for d in lhs[2:]], [w.shape[d] for d in rhs[2:]])
    crops = not spread and any(n < 0 for pair in p["padding"] for n in pair)
    kind = eqn.outvars[0].aval.dtype
    floats = jnp.issubdtype(kind, jnp.floating) and x.dtype == w.dtype == kind
    taps = floats and groups > 1 and _tap_by_tap(p, groups, x.shape, w.shape, eqn.outvars[0].aval.shape)
    if taps:
        made = taps(x.transpose(lhs), w.transpose(rhs), p, groups, [eqn.outvars[0].aval.shape[d] for d in out[2:]])
        return fence(made).transpose([out.index(d) for d in range(len(out))])
    if groups > _MOST or not (groups > 1 or deep or points or crops or spread and all(n == 1 for n in p["window_strides"])):
        return None
    if not floats:
        return None
    x, w = x.transpose(lhs), w.transpose(rhs)
    one = _Form(p)
    if p["batch_group_count"] > 1:
        xs = jnp.split(x, groups, 0)
    else:
        xs = jnp.split(x, groups, 1) if groups > 1 else [x]
    parts = [one(a, b) for a, b in zip(xs, jnp.split(w, groups, 0) if groups > 1 else [w])]
    made = jnp.concatenate(parts, 1) if groups > 1 else parts[0]
    return made.transpose([out.index(d) for d in range(len(out))])


def _tap_by_tap(p, groups, x, w, out):
    """The function for groups of one channel or one filter and few taps: sums of shifted products."""
    lhs, rhs, made = p["dimension_numbers"]
    channels, filters = w[rhs[1]], w[rhs[0]] // groups
    if p["feature_group_count"] > 1:
        return _each_channel if min(channels, filters) == 1 and math.prod([w[d] for d in rhs[2:]]) <= _TAPS else None
    return _each_filter if x[lhs[0]] == groups and math.prod([out[d] for d in made[2:]]) <= _TAPS else None


def _shifted(x, tap, counts, steps, reach):
    """What a tap meets of a padded `x`."""
    first = [t * d for t, d in zip(tap, reach)]
    last = [f + (c - 1) * s + 1 for f, c, s in zip(first, counts, steps)]
    return lax.slice(x, (0, 0, *first), (*x.shape[:2], *last), (1, 1, *steps))


def _padded(x, p):
    around = [(int(a), int(b), s - 1) for (a, b), s in zip(p["padding"], p["lhs_dilation"])]
    return lax.pad(x, jnp.zeros((), x.dtype), [(0, 0, 0), (0, 0, 0), *around])


def _each_channel(x, w, p, groups, out):
    """(N, C, ...) and (O, C / groups, *kernel): each channel with filters of its own, or several with one."""
    kernel, channels = w.shape[2:], w.shape[1]
    x, w = _padded(x, p), w.reshape(-1, *kernel)
    if channels == 1:
        x = jnp.repeat(x, len(w) // groups, 1)
    total = 0
    for tap in itertools.product(*map(range, kernel)):
        part = _shifted(x, tap, out, p["window_strides"], p["rhs_dilation"])
        total = total + part * w[(slice(None), *tap)].reshape(-1, *(1,) * len(out))
    return total if channels == 1 else total.reshape(len(x), groups, channels, *out).sum(2)


def _each_filter(x, w, p, groups, out):
    """(groups, N, ...) and (O, N, ...): the sums over everything of products, for each of few shifts; weights' gradients."""
    x = jnp.repeat(_padded(x, p), len(w) // groups, 0)
    sums = [jnp.sum(_shifted(x, tap, w.shape[2:], p["rhs_dilation"], p["window_strides"]) * w, tuple(range(1, w.ndim)))
            for tap in itertools.product(*map(range, out))]
    return jnp.stack(sums, 1).reshape(1, len(w), *out)


def _points(p, sizes, kernel):
    """Whether it is a product of matrices: of points ("each"), or of whole images ("all")."""
    if any(map(any, p["padding"])):
        return None
    if all(k == 1 for k in kernel) and all(s == 1 for s in p["window_strides"]):
        return "each"
    return "all" if sizes == kernel else None


class _Form:
    """A convolution of (N, C, ...) and (O, C, ...) without groups."""

    def __init__(self, p):
        self.strides, self.padding, self.dilation = p["window_strides"], [tuple(map(int, pair)) for pair in p["padding"]], p["rhs_dilation"]
        self.spacing, self.precision, self.preferred = p["lhs_dilation"], p["precision"], p["preferred_element_type"]
        self.p = p

    def __call__(self, x, w):
        sizes, kernel = list(x.shape[2:]), list(w.shape[2:])
        if all(n == 1 for n in self.spacing):
            points = _points(self.p, sizes, kernel)
            if points:
                return self.product(x, w, points)
        elif all(n == 1 for n in self.strides):
            return self.phases(x, w, self.padding)
        return self.whole(x, w, self.strides, self.padding, self.spacing, self.dilation)

    def product(self, x, w, points):
        if points == "all":
            made = lax.dot_general(x.reshape(len(x), -1), w.reshape(len(w), -1), (((1,), (1,)), ((), ())), self._dot())
            return made.reshape(*made.shape, *(1,) * (x.ndim - 2))
        flat = jnp.broadcast_to(w.reshape(len(w), -1), (len(x), len(w), w.shape[1]))
        made = lax.dot_general(flat, x.reshape(*x.shape[:2], -1), (((2,), (1,)), ((0,), (0,))), self._dot())
        return made.reshape(len(x), len(w), *x.shape[2:])

    def _dot(self):
        return self.precision if self.precision is None or isinstance(self.precision, lax.Precision) else tuple(self.precision)

    def plain(self, x, w, strides, padding, spacing, dilation):
        if all(n == 1 for n in spacing) and any(n < 0 for pair in padding for n in pair):      # XLA's fast loop gets them wrong
            x = lax.pad(x, jnp.zeros((), x.dtype), [(0, 0, 0)] * 2 + [(min(a, 0), min(b, 0), 0) for a, b in padding])
            padding = [(max(a, 0), max(b, 0)) for a, b in padding]
        return lax.conv_general_dilated(x, w, strides, padding, spacing, dilation, precision=self.precision,
                                        preferred_element_type=self.preferred)

    def whole(self, x, w, strides, padding, spacing, dilation):
        """In three dimensions, one of two for each place in the first of them."""
        if x.ndim < 5 or any(n > 1 for n in spacing):
            return self.plain(x, w, strides, padding, spacing, dilation)
        s, d, kernel = strides[0], dilation[0], w.shape[2]
        x = lax.pad(x, jnp.zeros((), x.dtype), [(0, 0, 0), (0, 0, 0), (*padding[0], 0), (0, 0, 0), (0, 0, 0)])
        count = (x.shape[2] - d * (kernel - 1) - 1) // s + 1
        rest = strides[1:], padding[1:], spacing[1:], dilation[1:]
        if min(kernel, count) > _MOST:
            return self.plain(x, w, strides, [(0, 0), *padding[1:]], spacing, dilation)
        if kernel <= count:                    # the places of the results are samples
            total = None
            for k in range(kernel):
                part = lax.slice_in_dim(x, k * d, k * d + (count - 1) * s + 1, s, 2).swapaxes(1, 2)
                made = self.plain(part.reshape(-1, *part.shape[2:]), w[:, :, k], *rest)
                total = made if total is None else total + made
            return total.reshape(len(x), count, *total.shape[1:]).swapaxes(1, 2)
        parts = []                             # the places of the taps are channels
        for i in range(count):
            part = lax.slice_in_dim(x, i * s, i * s + (kernel - 1) * d + 1, d, 2)
            parts.append(self.plain(part.reshape(len(x), -1, *part.shape[3:]), w.reshape(len(w), -1, *w.shape[3:]), *rest))
        return jnp.stack(parts, 2)

    def phases(self, x, w, padding):
        """A spaced input: results whose places leave the same rest see the same taps, and no space."""
        dims = range(x.ndim - 2)
        n, k = x.shape[2:], w.shape[2:]
        out = [(n[i] - 1) * self.spacing[i] + 1 + sum(padding[i]) - self.dilation[i] * (k[i] - 1) for i in dims]
        many = [-(-m // g) for m, g in zip(out, self.spacing)]
        if math.prod(self.spacing) > _MOST:
            return self.plain(x, w, self.strides, padding, self.spacing, self.dilation)
        parts = []
        for rests in itertools.product(*map(range, self.spacing)):
            taps, pads, dilation = [], [], []
            for i, r in zip(dims, rests):
                gap, d, low = self.spacing[i], self.dilation[i], padding[i][0]
                step = gap // math.gcd(gap, d)
                first = next((t for t in range(min(step, k[i])) if (r + d * t - low) % gap == 0), None)
                if first is None:
                    break
                taps.append(slice(first, None, step))
                count, apart, before = len(range(first, k[i], step)), d * step // gap, -((r + d * first - low) // gap)
                pads.append((before, many[i] + (count - 1) * apart - n[i] - before))
                dilation.append(apart)
            if len(taps) == len(n):
                parts.append(self.whole(x, w[(slice(None), slice(None), *taps)], self.strides, pads, (1,) * len(n), dilation))
            else:
                parts.append(jnp.zeros((len(x), len(w), *many), x.dtype))
        made = jnp.stack(parts, -1).reshape(*parts[0].shape, *self.spacing)
        order = [0, 1] + [a for i in dims for a in (2 + i, 2 + len(n) + i)]
        made = made.transpose(order).reshape(len(x), len(w), *[m * g for m, g in zip(many, self.spacing)])
        return made[(slice(None), slice(None), *[slice(m) for m in out])]
