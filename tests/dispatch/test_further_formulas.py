"""Gradients of dispatched operators: torch 2.13's operators in its order, and the values of a backward that nobody looks at."""
import pytest

import torchshim as torch
from torchshim.fx.experimental.proxy_tensor import make_fx
from torchshim.nn import functional as F


torch.manual_seed(0)                           # or what other tests drew would decide how far roundings go


def _x(*shape, low=0.1):
    return (torch.rand(shape) * 2 - low).requires_grad_()


CASES = {
    "clamp_min": (lambda x: x.clamp_min(0.5), (_x(2, 3),)), "clamp_max": (lambda x: x.clamp_max(0.5), (_x(2, 3),)),
    "clamp by tensors": (lambda x, a, b: torch.clamp(x, a, b), (_x(2, 3), _x(3), _x(3))),
    "clamp by a tensor": (lambda x, a: torch.clamp(x, max=a), (_x(2, 3), _x(3))),
    "logits": (lambda x, y: F.binary_cross_entropy_with_logits(x, y), (_x(2, 3), _x(2, 3))),
    "logits, weighed": (lambda x, y, w, p: F.binary_cross_entropy_with_logits(x, y, w, pos_weight=p, reduction="sum"),
                        (_x(2, 3), _x(2, 3), torch.rand(3), torch.rand(3))),
    "groups": (lambda x, w, b: F.group_norm(x, 2, w, b), (_x(2, 4, 3), _x(4), _x(4))),
    "groups without weights": (lambda x: F.group_norm(x, 2), (_x(2, 4, 3),)),
    "repeat": (lambda x: x.repeat(2, 1, 3), (_x(2, 3),)), "xlogy": (torch.xlogy, (_x(2, 3), _x(2, 3, low=0))),
    "xlogy of a number": (lambda x: torch.xlogy(x, 2.0), (_x(2, 3),)), "prod": (lambda x: x.prod(), (_x(2, 3),)),
    "prod dim": (lambda x: x.prod(1, keepdim=True), (_x(2, 3),)), "prod last": (lambda x: x.prod(-1), (_x(2, 3),)),
    "nearest": (lambda x: F.interpolate(x, scale_factor=2), (_x(1, 1, 2, 3),)),
    "bilinear": (lambda x: F.interpolate(x, scale_factor=1.7, mode="bilinear"), (_x(1, 1, 5, 3),)),
    "bilinear, sizes": (lambda x: F.interpolate(x, size=(4, 4), mode="bilinear", align_corners=True), (_x(1, 1, 2, 3),)),
    "fill": (lambda x, v: x.clone().fill_(v), (_x(2, 3), _x())), "roll": (lambda x: x.roll([1, 2], [0, 1]), (_x(2, 3),)),
    "attention of three dimensions": (lambda x, m: F.scaled_dot_product_attention(x, x, x, m), (_x(2, 3, 4), torch.rand(3, 3))),
    "masked attention": (lambda x, m: F.scaled_dot_product_attention(x, x, x, m), (_x(1, 2, 3, 4), torch.ones(3, 3).tril().bool())),
    "greater of two": (torch.max, (_x(2, 3), _x(3))), "less of two": (lambda x: x.min(x.detach().round()), (_x(2, 3),)),
    "attention in groups": (lambda q, k: F.scaled_dot_product_attention(q, k, k, enable_gqa=True), (_x(1, 4, 3, 4), _x(1, 2, 3, 4))),
    "attention in groups, four of three dimensions": (lambda q, k: F.scaled_dot_product_attention(q, k, k, enable_gqa=True),
                                                      (_x(4, 3, 4), _x(2, 3, 4))),
    "joined with nothing": (lambda x, e: torch.cat([e, x], 1), (_x(2, 3), torch.zeros(0, requires_grad=True))),
    "causal attention": (lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True), (_x(2, 3, 4),)),
}


@pytest.mark.parametrize("name", CASES)
def test_they_are_those_of_backward(name):
    f, xs = CASES[name]
    wanted = [x for x in xs if x.requires_grad]

    def gradients(*given):
        y = f(*given)
        return torch.autograd.grad(y, [x for x in given if x.requires_grad], torch.arange(1., y.numel() + 1).view_as(y))
    with torch.no_grad():
        made = make_fx(torch.enable_grad()(gradients))(*xs)(*xs)
    for got, want in zip(made, gradients(*xs), strict=True):
        torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)
    assert len(made) == len(wanted)


def test_their_operators_are_torch_s():
    def names(f, *xs):
        made = make_fx(lambda *xs: torch.autograd.grad(f(*xs).sum(), [x for x in xs if x.requires_grad]))(*xs)
        return [n.name for n in made.graph.nodes if n.op == "call_function"]
    x = torch.rand(2, 3, requires_grad=True)
    assert names(lambda x: x.clamp_min(0.5), x)[4:] == ["scalar_tensor", "ge", "where"]
    assert names(lambda x: F.binary_cross_entropy_with_logits(x, torch.ones(2, 3)), x)[-4:] == ["sigmoid", "sub", "mul", "div_"]
    assert names(lambda x: x.repeat(2, 1, 3), x)[-3:] == ["sum_2", "view", "sum_3"]
    assert names(lambda x: x.prod(), x)[-12:] == ["view", "ones", "slice_1", "cat", "cumprod", "slice_2", "flip", "cat_1", "cumprod_1",
                                                  "flip_1", "mul", "mul_1", "view_1"][-12:]
    assert names(lambda x: F.interpolate(x[None, None], scale_factor=2), x)[-3:] == ["upsample_nearest2d_backward", "squeeze", "squeeze_1"]
    nodes = make_fx(lambda x: F.scaled_dot_product_attention(x, x, x, dropout_p=0.1))(torch.rand(1, 1, 2, 3)).graph.nodes
    assert [n.name for n in nodes][10:15] == ["_safe_softmax", "empty_like", "bernoulli_", "div_", "mul_2"]
