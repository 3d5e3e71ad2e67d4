"""What is kept for backward because torch keeps it must not cost the gradients that are one function of NumPy's."""
import pytest

import torchshim as torch
from torchshim.engine.compile import policy
from torchshim.engine.interpret import fused
from torchshim.ops.nn import attention


@pytest.fixture
def made(monkeypatch):
    """What the makers of such gradients were asked for."""
    found = []
    for module, name in ((fused, "layer_norm_back"), (attention, "_back_on_host")):
        def maker(*args, original=getattr(module, name), name=name):
            result = original(*args)
            found.append((name, result is not None))
            return result
        monkeypatch.setattr(module, name, maker)
    monkeypatch.setattr(attention.attention, "host_back", attention._back_on_host)
    policy.pin("operators")
    yield found
    policy.pin(None)


@pytest.mark.parametrize("weight, bias", [(False, False), (True, False), (True, True), (False, True)])
def test_of_layer_norm(made, weight, bias):
    n = 23 + 2 * weight + bias                 # a size of its own: what is known of one is not made again
    given = [torch.full((n,), 1.5, requires_grad=True) if wanted else None for wanted in (weight, bias)]
    x = torch.arange(3.0 * n).reshape(3, n).requires_grad_()
    torch.nn.functional.layer_norm(x, (n,), *given).square().sum().backward()
    assert x.grad.abs().max().item() < 1e-3 and made == [("layer_norm_back", True)]


def test_of_attention(made):
    q = torch.ones(1, 2, 5, 7, requires_grad=True)
    torch.nn.functional.scaled_dot_product_attention(q, q, q).sum().backward()
    assert q.grad.unique().tolist() == [1.0] and made == [("_back_on_host", True)]
