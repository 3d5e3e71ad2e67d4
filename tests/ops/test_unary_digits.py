"""Functions of few float32 numbers are rounded once, as nearly all of torch's are (exp2, tan and the inverse tangent less often)."""
import numpy as np
import pytest

import torchshim as torch


@pytest.mark.parametrize("name, where", [("sin", ()), ("cos", ()), ("sinh", ()), ("cosh", ()), ("expm1", ()), ("log1p", "+"), ("log2", "+"),
                                         ("log10", "+"), ("exp2", ()), ("tanh", ()), ("exp", ())])
def test_rounded_once(name, where, monkeypatch):
    from torchshim.engine.compile import policy
    monkeypatch.setattr(policy, "tier", "operators")
    x = np.random.RandomState(0).randn(200).astype(np.float32)
    x = np.abs(x) + np.float32(0.01) if where else x
    expected = getattr(np, name)(x.astype(np.float64)).astype(np.float32)
    assert (getattr(torch, name)(torch.from_numpy(x)).numpy() == expected).all()


def _gradient(f, x):
    x = x.clone().requires_grad_()
    f(x).sum().backward()
    return x.grad.tolist()


def test_values_as_torch_has_them():
    """Formulas and roundings of torch 2.13."""
    a, b, u = torch.tensor([-3.25, 0.1, 2.5, 1e-3]), torch.tensor([1.5, -0.3, 0.7, 2e-3]), torch.tensor([-0.93, -0.2, 0.31, 0.998])
    assert torch.hypot(a, b).tolist() == [3.5794553756713867, 0.3162277638912201, 2.5961508750915527, 0.0022360680159181356]
    assert torch.atan2(a, b).tolist()[1:] == [2.8198421001434326, 1.2977876663208008, 0.46364760398864746]
    assert u.asin().tolist() == [-1.1944128274917603, -0.20135793089866638, 0.3151930272579193, 1.5075405836105347]
    assert u.acos().tolist() == [2.765209197998047, 1.7721542119979858, 1.255603313446045, 0.0632556900382042]
    assert u.erfinv().tolist() == [-1.2812143564224243, -0.17914345860481262, 0.28203311562538147, 2.185127019882202]
    assert _gradient(torch.erfinv, u) == [4.575555324554443, 0.9151294231414795, 0.9595992565155029, 105.00395965576172]
    nan, inf = float("nan"), float("inf")
    odd = torch.hypot(torch.tensor([inf, nan, nan]), torch.tensor([nan, 1.0, -inf]))
    assert odd.isinf().tolist() == [True, False, True] and odd.isnan().tolist() == [False, True, False]


def test_gradients_as_torch_has_them():
    """Softplus and the logarithm of the sigmoid by their exponential, silu with one rounding less."""
    F, x = torch.nn.functional, torch.tensor([-5.0, -1.3, 0.0, 0.4, 6.7])
    assert _gradient(F.softplus, x) == [0.006692850962281227, 0.21416503190994263, 0.5, 0.5986877083778381, 0.9987705945968628]
    assert _gradient(F.logsigmoid, x) == [0.9933071732521057, 0.7858349680900574, 0.5, 0.40131232142448425, 0.0012293988838791847]
    assert _gradient(F.silu, x) == [-0.02654743380844593, -0.004622842650860548, 0.5, 0.6947919726371765, 1.00699782371521]
    second = [0.16829836246906024, 0.25, 0.24026074574152914]
    for f, sign in ((F.softplus, 1), (F.logsigmoid, -1)):
        y = torch.tensor([-1.3, 0.0, 0.4], dtype=torch.float64).requires_grad_()
        d, = torch.autograd.grad(f(y).sum(), y, create_graph=True)
        assert torch.autograd.grad(d.sum(), y)[0].tolist() == pytest.approx([sign * s for s in second], rel=1e-15)


def test_functions_that_round_to_half_types_in_between():
    """And the normal distribution function by erf, which cancels far to the left."""
    x, special = torch.tensor([0.03, 0.3, 0.45, 0.7, 0.9]), torch.special
    assert special.ndtr(torch.tensor([-5.0, -1.3])).tolist() == [2.980232238769531e-07, 0.09680050611495972]
    h, b = x.half(), x.half().bfloat16()
    assert h.logit().tolist() == [-3.4765625, -0.84765625, -0.200439453125, 0.8486328125, 2.197265625]
    assert b.logit().tolist() == [-3.46875, -0.84375, -0.203125, 0.84375, 2.1875]
    assert special.entr(h).tolist() == [0.10516357421875, 0.361328125, 0.359375, 0.2496337890625, 0.09490966796875]
    assert special.entr(b).tolist() == [0.10498046875, 0.361328125, 0.359375, 0.25, 0.09619140625]
    assert special.ndtr(h * -3).tolist() == [0.464111328125, 0.183837890625, 0.088623046875, 0.017822265625, 0.00341796875]
    assert special.ndtr(b * -3).tolist() == [0.46484375, 0.18359375, 0.08984375, 0.017578125, 0.00390625]


@pytest.mark.parametrize("tier", ["operators", "compiled"])
def test_digamma_by_torchs_steps(tier, monkeypatch):
    """Near its root, where they cancel, too; and as the gradient of lgamma."""
    from torchshim.engine.compile import policy
    monkeypatch.setattr(policy, "tier", tier)
    x = torch.tensor([0.3, 1.46, 1.4616, 2.0, 7.5, 100.0, -0.5, -3.7, 0.0, -0.0])
    inf = float("inf")
    expected = [-3.502523899078369, -0.0015807701274752617, -3.161426866427064e-05, 0.4227842092514038, 1.946757435798645, 4.600162029266357,
                0.03648991510272026, -0.845077633857727, -inf, inf]
    assert x.digamma().tolist() == expected and torch.tensor(-2.0).digamma().isnan()
    assert x[:4].double().digamma().tolist() == [-3.5025240762240166, -0.0015805250181040878, -3.115848574775895e-05, 0.422784335098467]
    y = x[:3].clone().requires_grad_()
    d, = torch.autograd.grad(torch.lgamma(y).sum(), y, create_graph=True)
    assert d.tolist() == expected[:3]
    assert torch.autograd.grad(d.sum(), y)[0].tolist() == pytest.approx([12.245363235473633, 0.9691196084022522, 0.9677007794380188], rel=1e-6)


def test_complex_numbers_at_the_edges():
    nan, inf = float("nan"), float("inf")
    x = torch.log1p(torch.tensor([complex(inf, nan), complex(nan, inf), complex(-inf, nan)]))
    assert x.real.isnan().all()
    zeros = torch.tensor([complex(0, 0), complex(0, -0.0), complex(-1, 0)], dtype=torch.complex128)
    assert torch.acos(zeros).imag.signbit().tolist() == [False] * 3        # pi / 2 - asin(x), in double precision alone
    x = torch.tensor([complex(0, 2), complex(inf, 0), complex(nan, 1)])
    assert torch.pow(x, 0j).tolist() == torch.pow(x, 0.0).tolist() == [1, 1, 1]
    assert repr(torch.pow(x[:1], 2 + 0j).tolist()) == "[(-4+0j)]" and torch.pow(x[:1], complex(0.5)).tolist() == x[:1].sqrt().tolist()
