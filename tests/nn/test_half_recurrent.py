"""Protects recurrent layers in half precision and under autocast: torch 2.13 rounds after each operator that a cell consists of, an LSTM of
bfloat16 what goes into the next product, and a GRU's state stays in float32 under autocast."""
import pytest

import torchshim as torch
from torchshim import nn

BF, F16, F32 = torch.bfloat16, torch.float16, torch.float32
MODULES = {"GRUCell": lambda: nn.GRUCell(4, 2), "LSTMCell": lambda: nn.LSTMCell(4, 2), "RNNCell": lambda: nn.RNNCell(4, 2),
           "GRU": lambda: nn.GRU(4, 2), "RNN": lambda: nn.RNN(4, 2, nonlinearity="relu"), "LSTM": lambda: nn.LSTM(4, 2)}
WANTED = [                                     # autocast, dtype, module, dtype of the result, its grad_fn, its last numbers
    (False, BF, "GRUCell", BF, "AddBackward0", [-0.0156, 0.4961, -0.4785, -0.1016]),
    (False, BF, "LSTMCell", BF, "MulBackward0", [-0.0253, 0.1172, -0.5156, -0.3008]),
    (False, BF, "RNNCell", BF, "TanhBackward0", [-0.0659, -0.1245, 0.8398, 0.9727]),
    (False, BF, "GRU", BF, "StackBackward0", [-0.3828, -0.5312, -0.4668, -0.5859]),
    (False, BF, "RNN", BF, "StackBackward0", [2.9375, 3.5469, 0.0, 4.3125]),
    (False, BF, "LSTM", BF, "MkldnnRnnLayerBackward0", [-0.4785, -0.3848, -0.0957, -0.6133]),
    (False, F16, "GRUCell", F16, "AddBackward0", [-0.0132, 0.4958, -0.4802, -0.1001]),
    (False, F16, "GRU", F16, "StackBackward0", [-0.3806, -0.5303, -0.4641, -0.5889]),
    (False, F16, "LSTM", F16, "StackBackward0", [-0.4788, -0.384, -0.0955, -0.6143]),
    (True, BF, "GRUCell", F32, "AddBackward0", [-0.0147, 0.4955, -0.4787, -0.1008]),
    (True, BF, "LSTMCell", F32, "MulBackward0", [-0.0252, 0.1174, -0.5155, -0.3016]),
    (True, BF, "RNNCell", BF, "TanhBackward0", [-0.0659, -0.1245, 0.8398, 0.9727]),
    (True, BF, "GRU", F32, "StackBackward0", [-0.3826, -0.5312, -0.4634, -0.5881]),
    (True, BF, "LSTM", BF, "MkldnnRnnLayerBackward0", [-0.4785, -0.3848, -0.0957, -0.6133]),
    (True, F16, "GRUCell", F32, "AddBackward0", [-0.0134, 0.4959, -0.4803, -0.0999]),
    (True, F16, "GRU", F32, "StackBackward0", [-0.3805, -0.5301, -0.4646, -0.5889]),
    (True, F16, "RNN", F16, "StackBackward0", [2.9512, 3.5469, 0.0, 4.3164])]


@pytest.mark.parametrize("autocast, dtype, name, result, grad_fn, numbers", WANTED)
def test_roundings(autocast, dtype, name, result, grad_fn, numbers):
    m = MODULES[name]()
    with torch.no_grad():
        for p in m.parameters():
            p.copy_(torch.arange(p.numel()).reshape(p.shape).sin())
    x = torch.arange(24.).reshape(3, 2, 4).cos()
    x = x[0] if "Cell" in name else x
    if not autocast:
        m, x = m.to(dtype), x.to(dtype)
    with torch.autocast("cpu", dtype=dtype, enabled=autocast):
        y = m(x)
    y = y[0] if isinstance(y, tuple) else y
    assert y.dtype is result and y.grad_fn.name() == grad_fn
    assert [round(v, 4) for v in y.float().flatten()[-4:].tolist()] == numbers
    y.float().sum().backward()
    assert all([p.grad.dtype is p.dtype and p.grad.isfinite().all() for p in m.parameters()])
