"""A layer of an LSTM in NumPy: what does not depend on the state is done for all times at once.

Arrays are (time, gates, batch), so that the gates of one time lie one after the other. Their order here is output, input, forget,
candidate: the first three, which go through the logistic function, are neighbours, and so are the last three, through which the cell
state is differentiated. The first three are computed with their signs changed, which costs nothing in the weights.
"""

from __future__ import annotations

import numpy as np

from .array_rules import product
from .kept import Kept
from .sum_rules import _ones

_ORDER = [3, 0, 1, 2]      # of torch's gates: input, forget, candidate, output
_BACK = [1, 2, 3, 0]       # the place of each of these in our order
_kept = Kept(8, None)      # what `_run` gave, by operands and direction
_MOST = 1 << 23            # bytes of that


def _ordered(a, hidden):
    """Rows of torch's gates in our order."""
    return a.reshape(4, hidden, -1)[_ORDER].reshape(4 * hidden, -1)


def _restored(a, hidden):
    """Rows in our order in torch's."""
    return a.reshape(4, hidden, -1)[_BACK].reshape(4 * hidden, -1)


class Lstm:
    """One layer in one direction, of these sizes: `forward` and `backward` are functions for where it is interpreted."""

    def __init__(self, times, batch, inputs, hidden, dtype, biases, reverse, wants=()):
        self.times, self.batch, self.inputs, self.hidden, self.dtype = times, batch, inputs, hidden, dtype
        self.biases, self.reverse, self.wants = biases, reverse, wants

    def forward(self, x, h, c, w_ih, w_hh, *biases):
        operands = x, h, c, w_ih, w_hh, *biases
        small = 7 * self.times * self.batch * self.hidden * self.dtype.itemsize <= _MOST
        ran = self._run(x, h, c, w_ih, w_hh, biases, small)
        if small:
            _kept.keep((*operands, self.reverse), ran)
        states, cells, _ = ran
        out = states.transpose(0, 2, 1)
        last = np.ascontiguousarray(out[-1])
        out = np.ascontiguousarray(out[::-1] if self.reverse else out)
        return [out, last, np.ascontiguousarray(cells[-1].T)]

    def _run(self, x, h, c, w_ih, w_hh, biases, keep=False):
        """(states, cell states, and with `keep` (gates, tanh of the cell states)) at all times."""
        times, batch, hidden, dtype = self.times, self.batch, self.hidden, self.dtype
        x = np.asarray(x)[::-1] if self.reverse else np.asarray(x)
        first = 3 * hidden
        w, u = _ordered(np.asarray(w_ih), hidden), _ordered(np.asarray(w_hh), hidden)
        w[:first] *= -1
        u[:first] *= -1
        given = product(np.ascontiguousarray(x).reshape(times * batch, self.inputs), w.T)
        if biases:
            b = _ordered(np.asarray(biases[0]) + np.asarray(biases[1]), hidden).reshape(-1)
            b[:first] *= -1
            given += b
        given = np.ascontiguousarray(given.reshape(times, batch, 4 * hidden).transpose(0, 2, 1))
        states, cells = np.empty((times, hidden, batch), dtype), np.empty((times, hidden, batch), dtype)
        tops = np.empty((times, hidden, batch), dtype) if keep else [np.empty((hidden, batch), dtype)] * times
        h, c = np.ascontiguousarray(np.asarray(h).T), np.ascontiguousarray(np.asarray(c).T)
        buffer, one = np.empty((4 * hidden, batch), dtype), np.ones((), dtype)
        add, multiply, divide, exp, tanh = np.add, np.multiply, np.divide, np.exp, np.tanh
        # iterated along the times: a view that a loop takes costs less than one that an index makes
        views = (given, given[:, :first], given[:, first:], given[:, :hidden], given[:, hidden:2 * hidden], given[:, 2 * hidden:first])
        for gates, logistic, candidate, shown, entered, stays, state, cell, top in zip(*views, states, cells, tops):
            add(gates, u.dot(h, buffer), gates)
            exp(logistic, logistic)
            divide(one, add(logistic, one, logistic), logistic)
            tanh(candidate, candidate)
            multiply(stays, c, cell)
            add(cell, multiply(entered, candidate, top), cell)
            multiply(shown, tanh(cell, top), state)
            h, c = state, cell
        return states, cells, (given, tops)

    def backward(self, x, h, c, w_ih, w_hh, *more):
        """Gradients of the operands numbered in `wants`, from all operands and the cotangents of the three results."""
        biases, (d_out, d_last, d_cell) = more[:-3], [np.asarray(a) for a in more[-3:]]
        times, batch, hidden, dtype = self.times, self.batch, self.hidden, self.dtype
        states, cells, (gates, tops) = (_kept.taken((x, h, c, w_ih, w_hh, *biases, self.reverse))
                                        or self._run(x, h, c, w_ih, w_hh, biases, keep=True))
        o, i, f, g = [gates[:, k:k + hidden] for k in range(0, 4 * hidden, hidden)]
        one = dtype.type(1)
        before = np.concatenate([np.asarray(c).T[None], cells[:-1]])
        through = (one - tops * tops) * o                                  # of the cell state from the state
        slope = np.empty_like(gates)
        np.multiply(tops, o * (one - o), out=slope[:, :hidden])
        np.multiply(g, i * (one - i), out=slope[:, hidden:2 * hidden])
        np.multiply(before, f * (one - f), out=slope[:, 2 * hidden:3 * hidden])
        np.multiply(i, one - g * g, out=slope[:, 3 * hidden:])
        back = np.ascontiguousarray(_ordered(np.asarray(w_hh), hidden).T)
        out = d_out[::-1] if self.reverse else d_out
        out = np.ascontiguousarray(out.transpose(0, 2, 1))
        d_h, d_c = np.array(d_last.T, order="C"), np.array(d_cell.T, order="C")      # they are written
        part = np.empty((hidden, batch), dtype)
        add, multiply = np.add, np.multiply
        shown, rest = slope[:, :hidden], slope[:, hidden:].reshape(times, 3, hidden, batch)
        for given, along, all_, first, others, stays in zip(*[a[::-1] for a in (out, through, slope, shown, rest, f)]):
            add(d_h, given, d_h)
            add(d_c, multiply(d_h, along, part), d_c)
            multiply(first, d_h, first)
            multiply(others, d_c, others)
            multiply(d_c, stays, d_c)
            back.dot(all_, d_h)
        flat = np.ascontiguousarray(slope.transpose(0, 2, 1)).reshape(times * batch, 4 * hidden)
        made = {1: lambda: np.ascontiguousarray(d_h.T), 2: lambda: np.ascontiguousarray(d_c.T)}

        def to_input():
            d_x = product(flat, _ordered(np.asarray(w_ih), hidden)).reshape(times, batch, self.inputs)
            return np.ascontiguousarray(d_x[::-1]) if self.reverse else d_x

        def to_weight():
            given = np.asarray(x)[::-1] if self.reverse else np.asarray(x)
            return _restored(product(flat.T, np.ascontiguousarray(given).reshape(times * batch, self.inputs)), hidden)

        def to_recurrent():
            previous = np.concatenate([np.asarray(h).T[None], states[:-1]]).transpose(0, 2, 1)
            return _restored(product(flat.T, np.ascontiguousarray(previous).reshape(times * batch, hidden)), hidden)

        def to_bias():
            return _restored(_ones(times * batch, dtype) @ flat, hidden).reshape(-1)
        made.update({0: to_input, 3: to_weight, 4: to_recurrent, 5: to_bias, 6: to_bias})
        out = {k: made[k]() for k in self.wants if k != 6 or 5 not in self.wants}
        return [out[k if k in out else 5] for k in self.wants]           # both biases have one gradient
