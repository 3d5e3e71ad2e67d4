"""torch.lstm, gru, rnn_tanh and rnn_relu as linear functions and gates, step by step, for who must see each product."""
from __future__ import annotations

import functools

from ..nn import functional as F
from ..tensor.api.bind import FUNCTIONS


def _plain(gate):
    def step(i, state, product):
        return (gate(product(state[0]) + i),)
    return step


def _gru(i, state, product):
    (h,), (i_r, i_z, i_n), (h_r, h_z, h_n) = state, i.chunk(3, -1), product(state[0]).chunk(3, -1)
    z, n = (h_z + i_z).sigmoid(), (i_n + h_n * (h_r + i_r).sigmoid()).tanh()
    return ((h - n) * z + n,)


def _lstm(i, state, product):
    gates = (product(state[0]) + i).chunk(4, -1)
    c = gates[1].sigmoid() * state[1] + gates[0].sigmoid() * gates[2].tanh()
    return gates[3].sigmoid() * c.tanh(), c


_STEPS = {"lstm": _lstm, "gru": _gru, "rnn_tanh": _plain(FUNCTIONS["tanh"]), "rnn_relu": _plain(FUNCTIONS["relu"])}


def _steps(step, state, given, initial, packed):
    """The states after each step. Of a packed sequence the samples that have ended stand last; they keep what they had (the second
    result is the states of all)."""
    cat = FUNCTIONS["cat"]
    after, ended, batch = [], [], state[0].shape[0]
    for i in given:
        size = i.shape[0]
        if packed and size < batch:
            ended.append([s.narrow(0, size, batch - size) for s in state])
            state = [s.narrow(0, 0, size) for s in state]
        elif packed and size > batch:          # backwards in time
            state = [cat((s, first.narrow(0, batch, size - batch)), 0) for s, first in zip(state, initial)]
        state = step(i, state)
        batch = size
        after.append(state[0])
    return after, [cat(parts, 0) for parts in zip(state, *reversed(ended))] if ended else state


def _layer(step, x, initial, weights, has_biases, sizes, reverse):
    """(output, last states) of one layer in one direction, for (time, batch, features), or packed rows and their batch sizes."""
    w_ih, w_hh, *rest = weights
    b_ih, b_hh = rest[:2] if has_biases else (None, None)
    w_hr = rest[-1] if len(rest) % 2 else None

    def one(i, state):
        h, *c = step(i if sizes is None else F.linear(i, w_ih, b_ih), state, lambda h: F.linear(h, w_hh, b_hh))
        return h if w_hr is None else F.linear(h, w_hr), *c

    given = list(x.split(sizes)) if sizes else list(F.linear(x, w_ih, b_ih))
    if reverse:
        given.reverse()
    state = [s.unsqueeze(0) for s in initial] if sizes is None else [s.narrow(0, 0, given[0].shape[0]) for s in initial]
    after, last = _steps(one, state, given, initial, sizes is not None)
    if reverse:
        after.reverse()
    return FUNCTIONS["cat"](after, 0), last if sizes else [s.squeeze(0) for s in last]


def _network(mode, x, sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first=False):
    states = [list(h) for h in (hx if mode == "lstm" else (hx,))]
    directions, each = 1 + bool(bidirectional), len(params) // (num_layers * (1 + bool(bidirectional)))
    if batch_first:
        x = x.transpose(0, 1)
    last = []
    for layer in range(num_layers):
        outputs = []
        for k in range(layer * directions, (layer + 1) * directions):
            out, state = _layer(_STEPS[mode], x, [s[k] for s in states], params[k * each:(k + 1) * each], has_biases, sizes,
                                k % directions == 1)
            outputs.append(out)
            last.append(state)
        x = FUNCTIONS["cat"](outputs, -1) if bidirectional else outputs[0]
        if dropout and train and layer < num_layers - 1:
            x = F.dropout(x, dropout, True)
    return x.transpose(0, 1) if batch_first else x, *[FUNCTIONS["stack"](s, 0) for s in zip(*last)]


def padded(mode, input, hx, params, *settings):
    """As torch's function for (time, batch, features), or with batch_first the other way round."""
    return _network(mode, input, None, hx, params, *settings)


def packed(mode, data, batch_sizes, hx, params, *settings):
    """As torch's function for a packed sequence."""
    return _network(mode, data, batch_sizes.tolist(), hx, params, *settings)


def either(mode):
    """torch's function `mode`, which tells the two apart by its arguments."""
    def decomposed(*args):
        return (packed if isinstance(args[3], (list, tuple)) else padded)(mode, *args)
    return decomposed


PADDED, PACKED = ({mode: functools.partial(kind, mode) for mode in _STEPS} for kind in (padded, packed))
