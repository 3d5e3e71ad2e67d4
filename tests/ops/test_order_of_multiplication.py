"""Gradients are products of several factors: their last digits are torch's where they are multiplied in torch's order. Expected: PyTorch 2.13."""
import pytest

import torchshim as torch
import torchshim.nn.functional as F

X = torch.tensor([-3.3, -1.7, -.9, -.31, -.001, .002, .37, 1.1, 2.9, 7.3])
Y = torch.tensor([.2, .9, 1.4, -.6, .3, .7, 1.9, -2.3, .8, 5.1])
C = torch.tensor([.3, 1.7, .9, -1.3, .77, 2.1, -.31, .11, 1.9, .7])
P = torch.tensor([0, .1, .2, 0, .3, 0, .1, .2, .05, .05])


def _hex(x):
    return [float.hex(v).replace("0000000p", "p") for v in x.tolist()]


def _gradients(f, *xs, ct=C):
    xs = [x.clone().requires_grad_() for x in xs]
    out = f(*xs)
    return torch.autograd.grad(out, xs, ct if out.ndim else torch.tensor(1.37))


GOLDENS = {
    "bce_none": ["-0x1.3bf68ap-3", "-0x1.e45d28p-1", "-0x1.d8e75cp-2", "-0x1.6e311cp-4", "-0x1.d725f4p-5", "-0x1.689884p-2",
                 "0x1.618ae8p-4", "0x1.28fb18p-4", "0x1.f5b73ap-2", "0x1.ee0c00p-9"],
    "bce_mean": ["-0x1.20945ep-4", "-0x1.3845b2p-4", "-0x1.1ff224p-4", "0x1.34ba58p-7", "-0x1.4f4f8cp-7", "-0x1.7864b0p-6",
                 "-0x1.387c6cp-5", "0x1.71e04ap-4", "0x1.216928p-5", "0x1.82c4a4p-11"],
    "bce_weighted": ["-0x1.e5100cp-9", "-0x1.d9846ap-4", "-0x1.765cdep-4", "-0x1.20c2f0p-4", "0x1.b524d4p-7", "-0x1.3e7482p-6",
                     "0x1.a04cf4p-6", "0x1.6a9354p-7", "0x1.1a9d0ap-4", "0x1.08d3eep-12"],
    "logit": ["0x1.17d5dep+3", "0x1.a08550p+3", "0x1.184aa2p+2", "-0x1.54dc18p+2", "0x1.8a3d76p+1", "0x1.0cccdep+3", "-0x1.486dccp+0",
              "0x1.2c94fap-1", "0x1.337bcap+5", "0x1.03671ep+10"],
    "glu": ["-0x1.f5d846p-3", "-0x1.301320p-1", "-0x1.073d3ap-3", "0x1.79a6c4p-4", "-0x1.8ac0c6p-13", "0x1.e836c2p-11", "-0x1.a962fcp-7",
            "0x1.485fa6p-7", "0x1.2dbb84p+0", "0x1.f8434ap-6"],
}
T = Y.sigmoid()
CALLS = {
    "bce_none": lambda: _gradients(lambda a: F.binary_cross_entropy_with_logits(a, T, reduction="none"), X)[0],
    "bce_mean": lambda: _gradients(lambda a: F.binary_cross_entropy_with_logits(a, T), X)[0],
    "bce_weighted": lambda: _gradients(lambda a: F.binary_cross_entropy_with_logits(a, T, weight=C, pos_weight=Y), X)[0],
    "logit": lambda: _gradients(torch.logit, X.sigmoid())[0],
    "glu": lambda: _gradients(lambda a: F.glu(a, 0), torch.cat([X, Y]))[0][10:],
}


@pytest.mark.parametrize("name", list(GOLDENS))
def test_digits(name):
    assert _hex(CALLS[name]()) == _hex(torch.tensor([float.fromhex(v) for v in GOLDENS[name]]))


def test_weights_broadcast():
    x = torch.ones(4, 3, requires_grad=True)
    F.binary_cross_entropy_with_logits(x, torch.zeros(4, 3), pos_weight=torch.ones(3), weight=torch.ones(3)).backward()
    assert torch.allclose(x.grad, torch.full((4, 3), 0.7310586 / 12))


def test_signs_of_a_gradient_of_nothing():
    gradient, = _gradients(lambda t: F.kl_div(X, t, reduction="none"), P, ct=torch.zeros(10))
    assert _hex(gradient[[1, 2, 4, 6, 7, 8, 9]]) == ["0x0.0p+0"] * 7 and gradient[[0, 3, 5]].isnan().all()


def test_silu_where_the_sigmoid_is_nothing():
    for n in (1, 20):                          # torch: x / (1 + exp(-x)), which is not 0 yet
        assert _hex(F.silu(torch.asinh(torch.full((n,), -8e37))))[0] == "-0x1.762cc6p-121"
    assert _hex(F.silu(torch.tensor([-89., -float("inf")])))[0] == "-0x0.0p+0"


def test_log10_of_a_power():
    assert torch.log10(torch.tensor([1e-9, 1e9, 1e-30, 1e-3])).tolist() == [-9, 9, -30, -3]
