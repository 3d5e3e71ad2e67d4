"""torch.lstm, gru, rnn_tanh, rnn_relu and the single steps as calls of ATen's operators, in PyTorch's order; see `decomposed`."""
from __future__ import annotations

import torchshim as torch

from ..tensor.core.layout import strided
from .decomposed import RULES, _linear, _matmul, rule
from .formulas import FORMULAS, _add, _once
from .python import do


def _split(gates, n):
    return do("unsafe_split.Tensor", gates, gates.shape[1] // n, 1)


def _plain(activation):
    def step(i, state, w_hh, b_hh):
        gates = do("add_.Tensor", _linear(state[0], w_hh, b_hh), i())
        return (do(activation, gates),)
    return step


def _gru(i, state, w_hh, b_hh):
    (i_r, i_z, i_n), (h_r, h_z, h_n) = _split(i(), 3), _split(_linear(state[0], w_hh, b_hh), 3)
    r = do("sigmoid_", do("add_.Tensor", h_r, i_r))
    z = do("sigmoid_", do("add_.Tensor", h_z, i_z))
    n = do("tanh_", do("add.Tensor", i_n, do("mul_.Tensor", h_n, r)))
    return (do("add_.Tensor", do("mul_.Tensor", do("sub.Tensor", state[0], n), z), n),)


def _lstm(i, state, w_hh, b_hh):
    i, f, g, o = _split(do("add_.Tensor", _linear(state[0], w_hh, b_hh), i()), 4)
    i, f, g, o = do("sigmoid_", i), do("sigmoid_", f), do("tanh_", g), do("sigmoid_", o)
    kept = do("mul.Tensor", f, state[1])
    c = do("add_.Tensor", kept, do("mul.Tensor", i, g))
    return do("mul.Tensor", o, do("tanh", c)), c


_STEPS = {"gru": _gru, "rnn_tanh": _plain("tanh"), "rnn_relu": _plain("relu")}


def _cell(step):
    def cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
        return step(lambda: _linear(input, w_ih, b_ih), (hx,), w_hh, b_hh)[0]
    return cell


RULES.update({f"{name}_cell": _cell(step) for name, step in _STEPS.items()})
rule("lstm_cell")(lambda input, hx, w_ih, w_hh, b_ih=None, b_hh=None: _lstm(lambda: _linear(input, w_ih, b_ih), hx, w_hh, b_hh))


def _network(name):
    of_two = name == "lstm"

    def network(*args):
        if isinstance(args[3], (list, tuple)):
            raise NotImplementedError(f"torchshim: torch.{name} of packed sequences under __torch_dispatch__")
        x, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first = args
        directions = 1 + bool(bidirectional)
        each = len(params) // (num_layers * directions)        # a matrix that projects the states comes last
        if batch_first:
            x = do("transpose.int", x, 0, 1)
        at_once = of_two and each < 5 and each != 3 and x.dtype is torch.float32 and x.device.type == "cpu" and x.numel()
        states = None if at_once else list(zip(*[do("unbind.int", h) for h in (hx if of_two else (hx,))]))
        last = []
        for layer in range(num_layers):
            outputs = []
            for k in range(layer * directions, (layer + 1) * directions):
                own = params[k * each:(k + 1) * each]
                if at_once:
                    y, *state = _layer(x, [do("select.int", h, 0, k) for h in hx], own, k % directions == 1, num_layers, has_biases, bidirectional,
                                       batch_first, train)
                else:
                    y, state = _direction(name, x, states[k], own, has_biases, k % directions == 1)
                outputs.append(y)
                last.append(state)
            x = do("cat", outputs, -1 if at_once else 2) if bidirectional else outputs[0]
            if dropout and train and layer < num_layers - 1:
                x = torch.nn.functional.dropout(x, dropout)
        last = [do("stack", list(h)) for h in list(zip(*last))[::-1]][::-1]
        return do("transpose.int", x, 0, 1) if batch_first else x, *last        # torch: in place
    return network


def _direction(name, x, state, params, has_biases, back):
    """One layer in one direction, step by step: all outputs, and the last state."""
    w_ih, w_hh, *more = params
    b_ih, b_hh = more[:2] if has_biases else (None, None)
    project = more[-1] if len(more) % 2 else None
    given, after = list(do("unbind.int", _linear(x, w_ih, b_ih))), []
    for i in reversed(given) if back else given:
        state = _STEPS[name](lambda i=i: i, state, w_hh, b_hh)
        if project is not None:
            state = (_matmul(state[0], do("t", project)), *state[1:])
        after.append(state[0])
    return do("stack", after[::-1] if back else after), state


_LSTM = 2                                      # what oneDNN's layers call it


def _layer(x, state, params, back, num_layers, has_biases, bidirectional, batch_first, train):
    """One layer of an LSTM in one direction, as one operator: outputs, and both last states."""
    w_ih, w_hh, *biases = params
    if not has_biases:
        biases = [do("zeros", list(w.shape), dtype=w.dtype, layout=strided, device=w.device) for w in (w_hh, w_ih)][::-1]
    return do("mkldnn_rnn_layer", x, w_ih, w_hh, *biases, *state, back, [], _LSTM, state[1].shape[1], num_layers, has_biases, bool(bidirectional),
              batch_first, train)[:3]


def _layer_back(a):
    _once("mkldnn_rnn_layer")
    made = do("mkldnn_rnn_layer_backward", a.input, a.weight0, a.weight1, a.weight2, a.weight3, a.hx_, a.cx_, *[
        do("detach", x) for x in a.results[:3]], *a.gs[:3], a.reverse, a.mode, a.hidden_size, a.num_layers, a.has_biases, a.train,
        a.bidirectional, a.batch_sizes, a.batch_first, a.results[3])
    return dict(zip(("input", "weight0", "weight1", "weight2", "weight3", "hx_", "cx_"), made))


_STEPS["lstm"] = _lstm
RULES.update({name: _network(name) for name in _STEPS})
_add("mkldnn_rnn_layer", "MkldnnRnnLayerBackward0", _layer_back, only=(0, 1, 2))
FORMULAS["mkldnn_rnn_layer"].first = (0, 1, 2)


@rule("one_hot")
def _one_hot(input, num_classes=-1):
    if not input.numel():
        raise NotImplementedError("torchshim: torch.nn.functional.one_hot of nothing under __torch_dispatch__")
    low, high = [do("_local_scalar_dense", x) for x in do("aminmax", input)]
    if low < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes != -1 and num_classes <= high:
        raise RuntimeError("Class values must be smaller than num_classes.")
    made = do("zeros", [*input.shape, high + 1 if num_classes == -1 else num_classes], dtype=torch.int64, layout=torch.strided,
              device=input.device)
    return do("scatter_.value", made, -1, do("unsqueeze", input, -1), 1)
