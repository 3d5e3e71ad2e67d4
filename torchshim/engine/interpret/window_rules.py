"""NumPy rules for pooling."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.lib.stride_tricks import as_strided

from .array_rules import padder
from .rules import F32, category, rule

def _windows(x, out_shape, kernel, strides, dilation, lead):
    """A view (lead dims, out positions, window offsets) of `x`, whose first `lead` dims are kept."""
    step = x.strides[lead:]
    return as_strided(
        x,
        (*x.shape[:lead], *out_shape, *kernel),
        (*x.strides[:lead], *(s * t for s, t in zip(step, strides)), *(s * t for s, t in zip(step, dilation))),
        writeable=False,
    )


# ---------------------------------------------------------------- pooling


def _offsets(window, dilation, strides, out_shape):
    """For every offset in the window, the index of the elements that all windows have there."""
    for offset in itertools.product(*map(range, window)):
        yield tuple(
            slice(o * d, o * d + (n - 1) * s + 1 if n else 0, s) for o, d, s, n in zip(offset, dilation, strides, out_shape)
        )


def _reduce_window(ufunc, identity):
    def make(params, ins, outs):
        dtype, shape = ins[0].dtype, outs[0].shape
        kind = category(dtype)
        window = params["window_dimensions"]
        work = F32 if kind == "low" else dtype
        if kind not in ("int", "uint", "float", "low") and not (kind == "complex" and ufunc is np.add):
            return None
        if 0 in shape or len(ins) != 1:
            return None
        config = [(a, b, d - 1) for (a, b), d in zip(params["padding"], params["base_dilation"])]
        pad = padder(ins[0].shape, config, work)
        fill = identity(work)
        strides, dilation = params["window_strides"], params["window_dilation"]
        axes = tuple(range(len(shape), 2 * len(shape)))
        offsets = list(_offsets(window, dilation, strides, shape)) if math.prod(window) <= 128 else None

        def reduce_window(x):
            x = pad(x.astype(work, copy=False), fill)
            if offsets is None:
                view = _windows(x, shape, window, strides, dilation, 0)
                return ufunc.reduce(view, axes, work).astype(dtype, copy=False)
            result = x[offsets[0]].copy()
            for index in offsets[1:]:
                ufunc(result, x[index], out=result)
            return result.astype(dtype, copy=False)

        return reduce_window

    return make


def _lowest(dtype):
    return dtype.type(-np.inf) if dtype.kind == "f" else np.iinfo(dtype).min


def _highest(dtype):
    return dtype.type(np.inf) if dtype.kind == "f" else np.iinfo(dtype).max


rule("reduce_window_sum")(_reduce_window(np.add, lambda dtype: dtype.type(0)))
rule("reduce_window_max")(_reduce_window(np.maximum, _lowest))
rule("reduce_window_min")(_reduce_window(np.minimum, _highest))


@rule("select_and_scatter_add")
def _make_select_and_scatter_add(params, ins, outs):
    """The gradient of max (or min) pooling: each window gives its value to the element it chose."""
    source, operand = ins
    name, window, strides = params["select_prim"].name, params["window_dimensions"], params["window_strides"]
    if name not in ("ge", "le") or category(operand.dtype) not in ("float", "low", "int", "uint"):
        return None
    if math.prod(window) > 128 or 0 in source.shape:
        return None
    dtype = operand.dtype
    work = F32 if category(dtype) == "low" else dtype
    keeps = np.greater_equal if name == "ge" else np.less_equal
    fill = _lowest(work) if name == "ge" else _highest(work)
    config = [(a, b, 0) for a, b in params["padding"]]
    pad = padder(operand.shape, config, work)
    ones = (1,) * len(window)
    offsets = list(_offsets(window, ones, strides, source.shape))
    inner = tuple(slice(max(a, 0), max(a, 0) + n) for (a, _), n in zip(params["padding"], operand.shape))
    if any(a < 0 or b < 0 for a, b in params["padding"]):
        return None

    def select_and_scatter_add(values, x):
        x = pad(x.astype(work, copy=False), fill)
        best = x[offsets[0]]
        chosen = np.zeros(best.shape, np.int32)
        for i, index in enumerate(offsets[1:], 1):
            candidate = x[index]
            better = ~keeps(best, candidate)
            best = np.where(better, candidate, best)
            chosen[better] = i
        result = np.zeros(x.shape, work)
        values = values.astype(work, copy=False)
        for i, index in enumerate(offsets):
            result[index] += np.where(chosen == i, values, work.type(0))
        return result[inner].astype(dtype, copy=False)

    return select_and_scatter_add
