"""Convolutions with their bias, and their gradients, as whole operators: the parameters of the convolutions that they are made of need no
tracing. Those of gradients are `lax.conv_general_dilated`'s own (Dumoulin & Visin, A guide to convolution arithmetic, 2016)."""

from __future__ import annotations

import numpy as np
from jax import lax

from .conv_rules import make_conv
from .copies import contiguous
from .rules import Spec
from .sum_rules import make_reduce_sum


class Sizes:
    """One convolution: operands (N, C, ...) and (O, C / groups, ...) as Specs, and `lax.conv_general_dilated`'s parameters."""

    def __init__(self, x, w, out, strides, padding, spacing, dilation, groups):
        self.x, self.w, self.out, self.groups = Spec(x.shape, x.dtype), Spec(w.shape, w.dtype), Spec(out.shape, out.dtype), groups
        self.strides, self.padding, self.spacing, self.dilation = strides, padding, spacing, dilation

    def _apart(self):
        """[(input, kernel, result, padding before)] for each dimension, with its gaps."""
        wide = lambda sizes, gaps: [(n - 1) * gap + 1 for n, gap in zip(sizes[2:], gaps)]
        return zip(wide(self.x.shape, self.spacing), wide(self.w.shape, self.dilation), wide(self.out.shape, self.strides),
                   [low for low, _ in self.padding])

    def _rule(self, lhs, rhs, out, strides, padding, spacing, dilation, swapped=False):
        spec = tuple(range(len(out.shape)))
        turned = (1, 0, *spec[2:]) if swapped else spec
        params = {"window_strides": strides, "padding": padding, "lhs_dilation": spacing, "rhs_dilation": dilation,
                  "dimension_numbers": (turned, turned, turned), "feature_group_count": 1 if swapped else self.groups,
                  "batch_group_count": self.groups if swapped else 1, "precision": lax.Precision.HIGHEST}
        return make_conv(params, [lhs, rhs], [out])

    def forward(self):
        """A function of x and w that gives the result, or None."""
        return self._rule(self.x, self.w, self.out, self.strides, self.padding, self.spacing, self.dilation)

    def of_input(self):
        """A function of the cotangent and of `turned` w that gives the gradient of x, or None."""
        padding = [(k - low - 1, n + low - m) for n, k, m, low in self._apart()]
        w = Spec(turned_shape(self.w.shape, self.groups), self.w.dtype)
        return self._rule(self.out, w, self.x, self.spacing, padding, self.strides, self.dilation)

    def of_weight(self):
        """A function of x and the cotangent that gives the gradient of w, or None."""
        padding = [(low, m - n + k - low - 1) for n, k, m, low in self._apart()]
        return self._rule(self.x, self.out, self.w, self.dilation, padding, self.spacing, self.strides, swapped=True)


def turned_shape(shape, groups):
    return shape[1] * groups, shape[0] // groups, *shape[2:]


def turned(w, groups):
    """(O, C / groups, ...) as the weight of the adjoint convolution: (C, O / groups, ...), mirrored. It is its own inverse; of NumPy's
    arrays and JAX's."""
    w = w[(slice(None), slice(None)) + (slice(None, None, -1),) * (w.ndim - 2)]
    shape = turned_shape(w.shape, groups)
    return w.reshape(groups, w.shape[0] // groups, *w.shape[1:]).swapaxes(1, 2).reshape(shape)


def forward(sizes, transposed, bias):
    """A function of x, w and the bias, if there is one, that gives [result]; w is that of the adjoint where it is `transposed`. Or None."""
    conv = sizes.forward()
    if conv is None:
        return None
    across = (-1, *(1,) * (len(sizes.out.shape) - 2))

    def run(x, w, *more):
        w = np.asarray(w)
        y = conv(np.asarray(x), turned(w, sizes.groups) if transposed else w)
        if bias:
            y += np.asarray(more[0]).reshape(across)
        return [y]
    return run


def backward(sizes, transposed, needs):
    """A function of x, w and the cotangent that gives the gradients of those of x, w and the bias (0, 1, 2) that `needs` names. Or None."""
    groups = sizes.groups
    of_input, of_weight = sizes.of_input() if 0 in needs else None, sizes.of_weight() if 1 in needs else None
    axes = (0, *range(2, len(sizes.out.shape)))
    added = make_reduce_sum({"axes": axes}, [sizes.out], [Spec(sizes.out.shape[1:2], sizes.out.dtype)])
    if 0 in needs and of_input is None or 1 in needs and of_weight is None:
        return None

    def run(x, w, ct):
        x, w, ct, made = np.asarray(x), np.asarray(w), np.asarray(ct), []
        for k in needs:
            if k == 0:
                made.append(of_input(ct, w if transposed else turned(w, groups)))
            elif k == 1:
                dw = of_weight(x, ct)
                made.append(contiguous(turned(dw, groups)) if transposed else dw)
            else:
                made.append(np.asarray(added(ct)))
        return made
    return run


def weights(sizes, transposed, bias, needs=None):
    """What `engine.compile.cost.weighed` says of the program of `forward`, or of `backward` for `needs`."""
    w, out, turns = sizes.w.size, sizes.out.size, 4 if transposed else 0
    if needs is None:
        return 1 + turns + 3 * bias, 40 + turns + 3 * bias, out + 2 * w * bool(turns) + bias * (out + w), 0
    turned_too = 2 * w * bool(turns)
    each = {0: (2 + turns, 41 + turns, w + sizes.x.size + turned_too, 0), 1: (1 + turns, 40 + turns, w + turned_too, 0), 2: (5, 5, 0, out)}
    return tuple([sum(counts) for counts in zip(*[each[k] for k in needs])])
