"""Protects recurrent layers and one_hot under a dispatch mode: torch 2.13's operators in its order, and the gradients of an ordinary call."""
import pytest

import torchshim as torch
from torchshim import nn
from torchshim.fx.experimental.proxy_tensor import make_fx
from torchshim.utils._python_dispatch import TorchDispatchMode


class Log(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(func.overloadpacket.__name__)
        return func(*args, **(kwargs or {}))


CELLS = {
    "GRUCell": (lambda: nn.GRUCell(3, 2), "zeros t addmm unsafe_split t addmm unsafe_split add_ sigmoid_ detach add_ sigmoid_ detach clone mul_ "
                "add tanh_ detach sub clone mul_ add_"),
    "LSTMCell": (lambda: nn.LSTMCell(3, 2), "zeros t addmm t addmm add_ unsafe_split sigmoid_ detach sigmoid_ detach tanh_ detach sigmoid_ detach "
                 "mul mul add_ tanh detach mul"),
    "RNNCell": (lambda: nn.RNNCell(3, 2), "zeros t addmm t addmm add_ tanh detach"),
    "RNN": (lambda: nn.RNN(3, 2), "zeros unbind view t addmm view unbind t addmm add_ tanh detach t addmm add_ tanh detach stack stack"),
    "LSTM": (lambda: nn.LSTM(3, 2, 2, bidirectional=True), "zeros zeros " + 2 * (2 * "select select mkldnn_rnn_layer detach detach detach " + "cat ")
             + "stack stack"),
    "projected": (lambda: nn.LSTM(3, 2, proj_size=1), "zeros zeros unbind unbind view t addmm view unbind " + 2 * (
        "t addmm add_ unsafe_split sigmoid_ detach sigmoid_ detach tanh_ detach sigmoid_ detach mul mul add_ tanh detach mul t mm ")
        + "stack stack stack"),
    "no biases": (lambda: nn.LSTM(3, 2, bias=False), "zeros zeros select select zeros zeros mkldnn_rnn_layer detach detach detach stack stack")}


@pytest.mark.parametrize("name", CELLS)
def test_operators(name):
    make, names = CELLS[name]
    m, x = make(), torch.ones(2, 3) if "Cell" in name else torch.ones(2, 2, 3)
    with Log() as log:
        m(x)
    assert " ".join(log.names) == names


@pytest.mark.parametrize("make, shape", [
    (lambda: nn.GRU(3, 2, 2, bidirectional=True, batch_first=True), (2, 4, 3)), (lambda: nn.RNN(3, 2, nonlinearity="relu", bias=False), (4, 2, 3)),
    (lambda: nn.LSTM(3, 2, 2, bidirectional=True, batch_first=True), (2, 4, 3)), (lambda: nn.LSTM(3, 2, bias=False), (4, 2, 3)),
    (lambda: nn.LSTM(3, 2, proj_size=1), (4, 2, 3)), (lambda: nn.GRUCell(3, 2), (2, 3)), (lambda: nn.LSTMCell(3, 2), (2, 3)), (lambda: nn.RNNCell(3, 2), (2, 3))])
def test_gradients(make, shape):
    torch.manual_seed(0)
    m, x = make(), torch.randn(shape, requires_grad=True)

    def gradients():
        y = m(x)
        y = y[0] if isinstance(y, tuple) else y
        return [y.detach(), *torch.autograd.grad(y.pow(2).sum(), [x, *m.parameters()])]
    with Log():
        found = gradients()
    torch.testing.assert_close(found, gradients())


def test_graphs_and_what_is_missing():
    m = nn.GRU(3, 2)
    x = torch.randn(4, 2, 3)
    torch.testing.assert_close(make_fx(lambda x: m(x)[0])(x)(2 * x), m(2 * x)[0])
    with pytest.raises(NotImplementedError, match="torch.gru of packed sequences under __torch_dispatch__"), Log():
        m(nn.utils.rnn.pack_padded_sequence(x, [4, 2]))


def test_one_hot():
    with Log() as log:
        made = nn.functional.one_hot(torch.tensor([1, 2]))
        with pytest.raises(RuntimeError, match="^Class values must be smaller than num_classes.$"):
            nn.functional.one_hot(torch.tensor([1, 2]), 2)
    assert made.tolist() == [[0, 1, 0], [0, 0, 1]]
    assert " ".join(log.names[:7]) == "lift_fresh aminmax _local_scalar_dense _local_scalar_dense zeros unsqueeze scatter_"
