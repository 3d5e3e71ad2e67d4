"""torch.gru, rnn_tanh, rnn_relu and the single steps as calls of ATen's operators, in PyTorch's order; see `decomposed`."""
from __future__ import annotations

import torchshim as torch

from .decomposed import RULES, _linear, rule
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
    def network(*args):
        if isinstance(args[3], (list, tuple)):
            raise NotImplementedError(f"torchshim: torch.{name} of packed sequences under __torch_dispatch__")
        x, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first = args
        directions, each = 1 + bool(bidirectional), 4 if has_biases else 2
        if batch_first:
            x = do("transpose.int", x, 0, 1)
        states, last = do("unbind.int", hx), []
        for layer in range(num_layers):
            outputs = []
            for k in range(layer * directions, (layer + 1) * directions):
                w_ih, w_hh, b_ih, b_hh = [*params[k * each:(k + 1) * each], None, None][:4]
                given = list(do("unbind.int", _linear(x, w_ih, b_ih)))
                state, after = (states[k],), []
                for i in reversed(given) if k % directions else given:
                    state = _STEPS[name](lambda i=i: i, state, w_hh, b_hh)
                    after.append(state[0])
                outputs.append(do("stack", after[::-1] if k % directions else after))
                last.append(state[0])
            x = do("cat", outputs, 2) if bidirectional else outputs[0]
            if dropout and train and layer < num_layers - 1:
                x = torch.nn.functional.dropout(x, dropout)
        last = do("stack", last)
        return do("transpose.int", x, 0, 1) if batch_first else x, last         # torch: in place
    return network


RULES.update({name: _network(name) for name in _STEPS})


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
