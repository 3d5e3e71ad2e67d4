"""Recurrent layers with quantized weights, whose inputs choose their own scales."""
from __future__ import annotations

import torchshim as torch

from . import declare
from .linear import dynamic, linear_dynamic_fp16


class CellParams:
    """The two packed weights of a cell, for its input and its state, and how they meet these."""

    def __init__(self, ih, hh, half, reduce_range):
        self.ih, self.hh, self.half, self.reduce_range = ih, hh, half, reduce_range

    def __deepcopy__(self, memo):
        return self

    def products(self, x, h):
        """(of the input, of the state)."""
        if self.half:
            return linear_dynamic_fp16(x, self.ih), linear_dynamic_fp16(h, self.hh)
        return dynamic(x, self.ih, self.reduce_range), dynamic(h, self.hh, self.reduce_range)

    def of_input(self, x):
        """Of the input alone, of all steps at once."""
        return linear_dynamic_fp16(x, self.ih) if self.half else dynamic(x, self.ih, self.reduce_range)

    def of_state(self, h):
        """Of the state alone."""
        return linear_dynamic_fp16(h, self.hh) if self.half else dynamic(h, self.hh, self.reduce_range)


@declare("make_quantized_cell_params_dynamic")
def make_quantized_cell_params_dynamic(w_ih, w_hh, bias_ih, bias_hh, reduce_range=False):
    """The parameters of a cell of levels."""
    return CellParams(w_ih, w_hh, False, reduce_range)


@declare("make_quantized_cell_params_fp16")
def make_quantized_cell_params_fp16(w_ih, w_hh):
    """The parameters of a cell of float16 weights."""
    return CellParams(w_ih, w_hh, True, False)


def _lstm(gx, gh, c):
    i, f, g, o = (gx + gh).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def _gru(gx, gh, h):
    (xr, xz, xn), (hr, hz, hn) = gx.chunk(3, -1), gh.chunk(3, -1)
    r, z = (xr + hr).sigmoid(), (xz + hz).sigmoid()
    n = (xn + r * hn).tanh()
    return (h - n) * z + n


def _packed_cell(w_ih, w_hh, reduce_range=True):
    return CellParams(w_ih, w_hh, getattr(w_ih._weight, "_ints", None) is None, reduce_range)


@declare("quantized_lstm_cell_dynamic")
def lstm_cell(input, hx, w_ih, w_hh, b_ih, b_hh):
    """(hidden state, cell state) after a step."""
    with torch.no_grad():
        return _lstm(*_packed_cell(w_ih, w_hh).products(input, hx[0]), hx[1])


@declare("quantized_gru_cell_dynamic")
def gru_cell(input, hx, w_ih, w_hh, b_ih, b_hh):
    """The hidden state after a step."""
    with torch.no_grad():
        return _gru(*_packed_cell(w_ih, w_hh).products(input, hx), hx)


def _rnn_cell(f):
    def cell(input, hx, w_ih, w_hh, b_ih, b_hh):
        with torch.no_grad():
            x, h = _packed_cell(w_ih, w_hh).products(input, hx)
            return f(x + h)
    cell.__doc__ = "The hidden state after a step."
    return cell


declare("quantized_rnn_tanh_cell_dynamic")(_rnn_cell(torch.tanh))
declare("quantized_rnn_relu_cell_dynamic")(_rnn_cell(torch.relu))


def _steps(x, batch_sizes):
    """The inputs of each step: of a padded tensor, steps first, or of a packed one."""
    if batch_sizes is None:
        return list(x.unbind(0))
    return list(x.split(batch_sizes.tolist()))


def _one_way(steps, states, cell, one, backwards):
    """(outputs of each step, state after the last one), for one layer in one direction, from what the input gives at each step; sequences
    may end before others."""
    outs, order = [None] * len(steps), range(len(steps))
    full, state = states, None
    rows = [s.shape[0] for s in steps]
    if backwards:
        state = tuple([s[:rows[-1]] for s in full])
        for t in reversed(order):
            n = state[0].shape[0]
            if rows[t] > n:
                state = tuple([torch.cat([a, s[n:rows[t]]]) for a, s in zip(state, full)])
            state = one(steps[t], cell.of_state(state[0]), state)
            outs[t] = state[0]
        return outs, state
    state, ended = full, []
    for t in order:
        n = state[0].shape[0]
        if rows[t] < n:
            ended.append(tuple([s[rows[t]:] for s in state]))
            state = tuple([s[:rows[t]] for s in state])
        state = one(steps[t], cell.of_state(state[0]), state)
        outs[t] = state[0]
    ended.append(state)
    return outs, tuple([torch.cat([e[k] for e in reversed(ended)]) for k in range(len(state))])


def run(x, states, params, num_layers, bidirectional, batch_first, batch_sizes, one, dropout=0., train=False):
    """(output, states after the last step) of stacked layers. states: tensors (layers * directions, batch, size)."""
    with torch.no_grad():
        if batch_first and batch_sizes is None:
            x = x.transpose(0, 1)
        ways, after = 2 if bidirectional else 1, []
        for layer in range(num_layers):
            parts = []
            for way in range(ways):
                k = layer * ways + way
                steps = _steps(params[k].of_input(x), batch_sizes)
                outs, state = _one_way(steps, tuple([s[k] for s in states]), params[k], one, way == 1)
                parts.append(outs)
                after.append(state)
            joined = parts[0] if ways == 1 else [torch.cat(pair, -1) for pair in zip(*parts)]
            x = torch.stack(joined) if batch_sizes is None else torch.cat(joined)
            if dropout and train and layer < num_layers - 1:
                x = torch.dropout(x, dropout, True)
        if batch_first and batch_sizes is None:
            x = x.transpose(0, 1)
        return (x, *[torch.stack([state[k] for state in after]) for k in range(len(states))])


def lstm_step(gx, gh, state):
    return _lstm(gx, gh, state[1])


def gru_step(gx, gh, state):
    return (_gru(gx, gh, state[0]),)
