"""Scaled dot-product attention in NumPy: weights exist for a block of rows at a time, and for what a causal mask leaves of it."""

from __future__ import annotations

import math

import numpy as np

from ..pool import parts, together
from .array_rules import WORTH
from .fused import _peak, _summed

_WEIGHTS = 1 << 17         # weights of a block


class Attention:
    """For queries (..., L, E), keys (..., S, E) and values (..., S, V) with the same dimensions before, of which keys and values may
    have fewer heads in the last. keep: whether an array of the weights that dropout keeps comes after the mask, and its probability as a
    number after the arrays. `scale`: None, where it comes as a number after that."""

    def __init__(self, q, k, v, dtype, causal, mask=False, wants=(0, 1, 2), scale=None, keep=False):
        self.lead, (self.rows, self.width), (self.columns, self.made) = q[:-2], q[-2:], v[-2:]
        self.shapes, self.dtype, self.causal, self.mask, self.wants = (q, k, v), dtype, causal, mask, wants
        self.scale, self.keep = scale, keep
        self.heads = math.prod(self.lead)
        self.shared = self.heads // max(1, math.prod(k[:-2]))      # how many heads of queries see the same keys
        each = self.rows * self.columns
        self.many = max(1, min(self.heads, _WEIGHTS // max(each, 1)))
        self.block = self.rows if self.many > 1 else max(64, min(self.rows, _WEIGHTS // max(self.columns, 1)))
        block = min(self.block, self.rows)
        self.hidden = np.arange(block) > np.arange(block)[:, None] if causal else None
        self.terms = self.heads * each * (self.width + self.made)

    def _operands(self, arrays):
        """(queries times the scale, keys, values, mask or None, (what dropout keeps, by what that is multiplied) or None, the scale),
        heads first."""
        q, k, v = [np.asarray(a).reshape(-1, *a.shape[-2:]) for a in arrays[:3]]
        if self.shared > 1:
            k, v = np.repeat(k, self.shared, 0), np.repeat(v, self.shared, 0)
        mask = arrays[3] if self.mask else None
        if mask is not None:
            mask = self._of_weights(mask)
        kept = None
        if self.keep:
            p = arrays[-1 if self.scale is not None else -2]
            kept = self._of_weights(arrays[3 + self.mask]), self.dtype.type(1) / self.dtype.type(1 - p)
        scale = self.dtype.type(arrays[-1] if self.scale is None else self.scale)
        return q * scale, k, v, mask, kept, scale

    def _of_weights(self, array):
        return np.broadcast_to(np.asarray(array), (*self.lead, self.rows, self.columns)).reshape(self.heads, self.rows, self.columns)

    def _each_block(self, job):
        """job(blocks) for all blocks, which are (heads, rows, how many columns they may see); several threads take some of the heads."""
        def some(part):
            job([(slice(h, min(h + self.many, self.heads)), slice(r, end), min(end, self.columns) if self.causal else self.columns)
                 for h in heads[part] for r in range(0, self.rows, self.block) for end in [min(r + self.block, self.rows)]])
        heads = range(0, self.heads, self.many)
        together(some, parts(len(heads)) if self.terms >= WORTH else [slice(None)])

    def _exponentials(self, q, k, mask, heads, rows, seen, buffer):
        """(exp of the logits of a block less the greatest of their row, the sums of the rows as a column)."""
        shape = heads.stop - heads.start, rows.stop - rows.start, seen
        s = buffer[:math.prod(shape)].reshape(shape)
        np.matmul(q[heads, rows], k[heads, :seen].transpose(0, 2, 1), out=s)
        if self.causal and seen > rows.start:
            np.copyto(s[:, :, rows.start:], -np.inf, where=self.hidden[:shape[1], :seen - rows.start])
        if mask is not None:
            part = mask[heads, rows, :seen]
            if part.dtype == np.bool_:
                np.copyto(s, -np.inf, where=~part)
            else:
                s += part
        flat = s.reshape(-1, seen)
        top = _peak(flat)
        if mask is not None:
            top[np.isneginf(top)] = 0          # a row that sees nothing
        flat -= top
        np.exp(flat, out=flat)
        total = _summed(len(flat), seen, self.dtype)(flat).reshape(*shape[:2], 1)
        if mask is not None:
            total[total == 0] = 1
        return s, total

    def _buffer(self):
        return np.empty(self.many * self.block * self.columns, self.dtype)

    def forward(self, *arrays):
        """The result, from all operands."""
        q, k, v, mask, kept, _ = self._operands(arrays)
        out = np.empty((self.heads, self.rows, self.made), self.dtype)

        def job(blocks):
            buffer = self._buffer()
            for heads, rows, seen in blocks:
                e, total = self._exponentials(q, k, mask, heads, rows, seen, buffer)
                if kept is not None:
                    e /= total
                    e *= kept[0][heads, rows, :seen] * kept[1]
                    np.matmul(e, v[heads, :seen], out=out[heads, rows])
                    continue
                made = np.matmul(e, v[heads, :seen])
                np.divide(made, total, out=out[heads, rows])
        self._each_block(job)
        return [out.reshape(*self.lead, self.rows, self.made)]

    def backward(self, *arrays):
        """Gradients of the operands numbered in `wants`, from all operands and the cotangent."""
        q, k, v, mask, kept, scale = self._operands(arrays)
        ct = np.asarray(arrays[3 + self.mask + self.keep]).reshape(self.heads, self.rows, self.made)
        d_q, d_k, d_v = np.empty(q.shape, self.dtype), np.zeros(k.shape, self.dtype), np.zeros(v.shape, self.dtype)

        def job(blocks):
            buffer, other = self._buffer(), self._buffer()
            for heads, rows, seen in blocks:
                w, total = self._exponentials(q, k, mask, heads, rows, seen, buffer)
                w /= total
                given = ct[heads, rows]
                d_w, shown = other[:w.size].reshape(w.shape), w
                if kept is not None:
                    factor = kept[0][heads, rows, :seen] * kept[1]
                    shown = np.multiply(w, factor, out=d_w)
                d_v[heads, :seen] += np.matmul(shown.transpose(0, 2, 1), given)
                np.matmul(given, v[heads, :seen].transpose(0, 2, 1), out=d_w)
                if kept is not None:
                    d_w *= factor
                d_w -= np.vecdot(d_w, w)[..., None]
                d_w *= w
                np.matmul(d_w, k[heads, :seen], out=d_q[heads, rows])
                d_k[heads, :seen] += np.matmul(d_w.transpose(0, 2, 1), q[heads, rows])
        self._each_block(job)
        d_q *= scale
        if self.shared > 1:
            d_k, d_v = [d.reshape(-1, self.shared, *d.shape[1:]).sum(1) for d in (d_k, d_v)]
        made = [d.reshape(shape) for d, shape in zip((d_q, d_k, d_v), self.shapes)]
        return [made[i] for i in self.wants]
