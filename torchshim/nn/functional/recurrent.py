"""torch.lstm, gru, rnn_tanh and rnn_relu: layers and directions around the scan, for padded and packed sequences."""
from __future__ import annotations

import numpy as np

from ...ops.nn import rnn as ops
from ...tensor.api.bind import FUNCTIONS, call, function
from ...tensor.core.handle import TensorBase
from ...tensor.core.tensor import tensor_from
from .dropouts import dropout as drop


class Packing:
    """Where the rows of a packed sequence stand in (time, batch), from the batch sizes at all times."""

    def __init__(self, batch_sizes):
        sizes = batch_sizes if isinstance(batch_sizes, np.ndarray) else batch_sizes.detach().numpy()
        self.times, self.batch = len(sizes), int(sizes[0]) if len(sizes) else 0
        alive = np.arange(self.batch) < sizes[:, None]
        self.rows = tensor_from(np.flatnonzero(alive))
        self.lengths = tensor_from(alive.sum(0))

    def padded(self, data, value=0, times=None):
        """The packed rows as (time, batch, ...)."""
        return call(ops.unpack_rows, (data, self.rows.to(data.device), value, self.times if times is None else times, self.batch))

    def packed(self, x, name="CatBackward0"):
        """The rows of (time, batch, ...) that are in sequences."""
        return call(ops.pack_rows, (x, self.rows.to(x.device), name))


def _recurrent(mode, input, packing, h, c, params, has_biases, num_layers, dropout, train, bidirectional, projects=False):
    """(output, last states, last cell states) of all layers, for (time, batch, features) or packed rows."""
    if packing is None and not input.shape[0]:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    directions, each = 2 if bidirectional else 1, 2 + 2 * bool(has_biases) + projects
    states, cells, x = [], [], input
    for layer in range(num_layers):
        whole = x if packing is None else packing.padded(x)
        outputs = []
        for k in range(layer * directions, (layer + 1) * directions):
            w = list(params[k * each:(k + 1) * each])
            w_hr = w.pop() if projects else None
            w += [None, None] if not has_biases else []
            out, last, cell = call(ops.rnn_layer, (whole, h[k], None if c is None else c[k], *w, w_hr,
                                                   None if packing is None else packing.lengths.to(x.device), mode, k % directions == 1))
            outputs.append(out if packing is None else packing.packed(out))
            states.append(last)
            cells.append(cell)
        x = outputs[0] if directions == 1 else FUNCTIONS["cat"](outputs, -1)
        if dropout and train and layer < num_layers - 1:
            x = drop(x, dropout, True)
    stack = FUNCTIONS["stack"]
    return x, stack(states, 0), stack(cells, 0) if c is not None else None


def _arguments(args):
    """(input, packing, states, rest, batch_first) of torch's two overloads: padded, and packed with batch_sizes second."""
    if isinstance(args[1], TensorBase) and not isinstance(args[2], bool) and isinstance(args[3], (list, tuple)):
        data, batch_sizes, hx, *rest = args
        return data, Packing(batch_sizes), hx, rest, False
    input, hx, *rest, batch_first = args
    return input, None, hx, rest, batch_first


def _run(mode, args):
    input, packing, hx, rest, batch_first = _arguments(args)
    h, c = hx if mode == "LSTM" else (hx, None)
    if batch_first:
        input = input.transpose(0, 1)
    projects = mode == "LSTM" and h.shape[-1] != c.shape[-1]
    out, h, c = _recurrent(mode, input, packing, h, c, *rest, projects=projects)
    if batch_first:                            # in place or not, as the grad_fn tells in torch
        out = out.transpose(0, 1) if mode == "LSTM" else out.transpose_(0, 1)
    return (out, h) if c is None else (out, h, c)


@function(method=False)
def lstm(*args):
    """lstm(input, (h, c), params, has_biases, num_layers, dropout, train, bidirectional, batch_first), or for a packed sequence
    lstm(data, batch_sizes, (h, c), params, has_biases, num_layers, dropout, train, bidirectional): (output, h, c)."""
    return _run("LSTM", args)


@function(method=False)
def gru(*args):
    """As lstm, with one state: (output, h)."""
    return _run("GRU", args)


@function(method=False)
def rnn_tanh(*args):
    """As lstm, with one state and h = tanh(W x + U h + b): (output, h)."""
    return _run("RNN_TANH", args)


@function(method=False)
def rnn_relu(*args):
    """As lstm, with one state and h = relu(W x + U h + b): (output, h)."""
    return _run("RNN_RELU", args)


@function(method=False)
def lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """(h, c) after one step of an LSTM for input (batch, features) from hx = (h, c)."""
    c, gate = call(ops.lstm_cell_state, (input, *hx, w_ih, w_hh, b_ih, b_hh))
    return gate * c.tanh(), c
