"""torch.utils.flop_counter and module_tracker: what PyTorch's counter says of the same calls, by operator and by module."""
import pytest

import torchshim as torch
from torchshim import nn
from torchshim.nn import functional as F
from torchshim.utils.flop_counter import FlopCounterMode, register_flop_formula
from torchshim.utils.module_tracker import ModuleTracker

X = torch.ones(2, 5, 8, requires_grad=True)
Q = torch.ones(2, 3, 5, 8, requires_grad=True)
M = torch.ones(2, 3, 5, 8, device="meta", requires_grad=True)
IMAGE = torch.ones(2, 4, 8, 8, requires_grad=True)


@pytest.mark.parametrize("f, expected", [
    (lambda: nn.Linear(8, 4)(X), {"aten.addmm": 640, "aten.mm": 1280}),
    (lambda: nn.Linear(8, 4)(X.detach()), {"aten.addmm": 640, "aten.mm": 640}),
    (lambda: nn.Linear(8, 4)(X[0, 0]), {"aten.addmm": 64, "aten.mm": 128}),
    (lambda: nn.Linear(5, 4)(X.mT), {"aten.mm": 1920}),
    (lambda: X @ X.mT, {"aten.bmm": 2400}),
    (lambda: X @ torch.ones(8, 3), {"aten.mm": 960}),
    (lambda: torch.ones(3, 5) @ X, {"aten.bmm": 960}),
    (lambda: X @ torch.ones(8), {}),
    (lambda: torch.einsum("bij,bjk,bkl->bil", X, X.mT, X), {"aten.bmm": 4800}),
    (lambda: torch.einsum("bij,bik->bijk", X, X), {}),
    (lambda: torch.linalg.multi_dot([X[0], X[0].mT, X[0]]), {"aten.mm": 2400}),
    (lambda: nn.Conv2d(4, 6, 3, groups=2)(IMAGE), {"aten.convolution": 15552, "aten.convolution_backward": 46656}),
    (lambda: nn.ConvTranspose2d(4, 6, 3, stride=2)(IMAGE), {"aten.convolution": 55296, "aten.convolution_backward": 110592}),
    (lambda: F.scaled_dot_product_attention(Q, Q, Q), {}),
    (lambda: F.scaled_dot_product_attention(Q, Q, Q, dropout_p=0.1), {"aten.bmm": 14400}),
    (lambda: F.scaled_dot_product_attention(M, M, M), {"aten.bmm": 14400}),
    (lambda: nn.GRU(8, 3)(X)[0], {"aten.addmm": 1980, "aten.mm": 3690}),
    (lambda: nn.LSTM(8, 3)(X)[0], {}),
    (lambda: nn.LSTMCell(8, 3)(X[0])[0], {"aten.addmm": 1320, "aten.mm": 2280}),
    (lambda: torch.autograd.grad(((X[0] @ X[0].mT) ** 2).sum(), X, create_graph=True)[0], {"aten.mm": 3600}),
])
def test_operators(f, expected):
    with FlopCounterMode(display=False) as counter:
        f().sum().backward()
    assert {str(k): n for k, n in counter.get_flop_counts().get("Global", {}).items()} == expected
    assert counter.get_total_flops() == sum(expected.values())


def test_modules_and_table(capsys):
    net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Sequential(nn.Linear(16, 3)))
    x = torch.ones(2, 8)
    net(x)                                     # what was recorded before does not count
    with FlopCounterMode() as counter:
        net(x).sum().backward()
        assert counter.get_total_flops() == 512 + 192 + 512 + 2 * 192
        x @ x.mT
    assert counter.get_flop_counts()["Sequential.2"] == {"aten.addmm": 192, "aten.mm": 384}
    assert capsys.readouterr().out == """\
Module             FLOP    % Total
---------------  ------  ---------
Global             1664    100.00%
 - aten.addmm       704     42.31%
 - aten.mm          960     57.69%
 Sequential        1600     96.15%
  - aten.addmm      704     42.31%
  - aten.mm         896     53.85%
  Sequential.0     1024     61.54%
   - aten.addmm     512     30.77%
   - aten.mm        512     30.77%
  Sequential.2      576     34.62%
   - aten.addmm     192     11.54%
   - aten.mm        384     23.08%
"""
    with FlopCounterMode(display=False) as counter:
        torch.ones(2) + 1
    assert counter.get_table().splitlines()[-1].split() == ["Global", "0", "0%"]
    with pytest.raises(NotImplementedError, match="custom_mapping"):
        FlopCounterMode(custom_mapping={"mm": None})
    with pytest.raises(NotImplementedError, match="register_flop_formula"):
        register_flop_formula("mm")


def test_running_modules():
    seen = []

    class Doubled(nn.Module):
        def forward(self, x):
            seen.append((sorted(tracker.parents), tracker.is_bw))
            x.register_hook(lambda g: seen.append((sorted(tracker.parents), tracker.is_bw)))
            return x * 2

    with ModuleTracker() as tracker:
        nn.Sequential(Doubled(), nn.Sequential(Doubled()))(torch.ones(2, requires_grad=True) * 1).sum().backward()
        assert tracker.parents == {"Global"} and not tracker.is_bw
    assert seen == [(["Global", "Sequential", "Sequential.0"], False), (["Global", "Sequential", "Sequential.1", "Sequential.1.0"], False),
                    (["Global", "Sequential", "Sequential.0"], True), (["Global"], True)]


def test_callbacks_after_a_backward_pass():
    engine, said = torch.autograd.Variable._execution_engine, []
    with pytest.raises(RuntimeError, match="can only be installed during backward pass"):
        engine.queue_callback(lambda: None)
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: engine.queue_callback(lambda: said.append(x.grad.tolist())))
    y.sum().backward()
    assert said == [[2, 2]]
