"""torch._decomp: what make_fx writes with its tables is what PyTorch 2.13 writes, and computes the same."""
import pytest

import torchshim as torch
from torchshim._decomp import core_aten_decompositions, decomposition_table, get_decompositions, register_decomposition, remove_decompositions
from torchshim.fx.experimental.proxy_tensor import make_fx
from torchshim.nn import functional as F

aten = torch.ops.aten
X = torch.linspace(-2, 2, 6).view(2, 3)
CASES = {
    "gelu": (F.gelu, "mul mul_1 erf add mul_2"), "softmax": (lambda x: F.softmax(x, -1), "amax sub exp sum_1 div"),
    "tanh": (lambda x: F.gelu(x, approximate="tanh"), "mul mul_1 mul_2 add mul_3 mul_4 tanh add_1 mul_5"),
    "log_softmax": (lambda x: F.log_softmax(x, -1), "amax sub exp sum_1 log sub_1"),
    "layer_norm": (lambda x: F.layer_norm(x, (3,), x[0]), "select var_mean getitem getitem_1 add rsqrt sub mul mul_1"),
    "silu": (F.silu, "sigmoid mul"), "addmm": (lambda x: torch.addmm(x[0], x, x.t() @ x), "select transpose mm mm_1 mul mul_1 add"),
    "leaky_relu": (F.leaky_relu, "gt mul where"), "elu": (F.elu, "gt mul mul_1 expm1 mul_2 where"), "hardtanh": (F.hardtanh, "clamp"),
    "relu": (F.relu, "le scalar_tensor where"), "mse_loss": (lambda x: F.mse_loss(x, x * 2), "mul sub pow_1 mean"),
    "softplus": (F.softplus, "exp log1p gt where"), "hardswish": (F.hardswish, "add clamp clamp_1 mul div"),
    "smooth_l1_loss": (lambda x: F.smooth_l1_loss(x, x * 2), "mul sub abs_1 lt pow_1 mul_1 div sub_1 where mean"),
    "baddbmm": (lambda x: torch.baddbmm(x[None], x[None, :, :2], x[None]), "unsqueeze unsqueeze_1 slice_1 unsqueeze_2 bmm add"),
    "gelu_backward": (lambda x: aten.gelu_backward(x, x), "mul erf add mul_1 mul_2 mul_3 exp mul_4 mul_5 add_1 mul_6"),
    "_softmax_backward_data": (lambda x: aten._softmax_backward_data(x, x, 1, torch.float32), "mul sum_1 mul_1 sub"),
    "sigmoid_backward": (lambda x: aten.sigmoid_backward(x, x), "rsub mul mul_1"),
    "hardtanh_backward": (lambda x: aten.hardtanh_backward(x, x, -1, 1), "le ge bitwise_or scalar_tensor where"),
}
OPS = [getattr(aten, name) for name in """gelu gelu_backward _softmax _log_softmax native_layer_norm silu addmm leaky_relu elu hardtanh relu t
    mse_loss softplus hardswish smooth_l1_loss baddbmm _softmax_backward_data hardtanh_backward
    sigmoid_backward""".split()]


@pytest.mark.parametrize("name", CASES)
def test_steps_and_values(name):
    f, steps = CASES[name]
    made = make_fx(lambda x: f(x), decomposition_table=get_decompositions(OPS))(X)
    assert [n.name for n in made.graph.nodes if n.op == "call_function"] == steps.split()
    torch.testing.assert_close(made(X), f(X))


def test_tables():
    assert aten.gelu.default in get_decompositions([aten.gelu]) and aten.gelu.default in get_decompositions([aten.gelu.default])
    assert get_decompositions([aten.convolution]) == {} and aten.silu.default in core_aten_decompositions()
    assert aten.gelu.default not in core_aten_decompositions()
    table = dict(decomposition_table)
    remove_decompositions(table, [aten.gelu])
    assert aten.gelu.default not in table and aten.gelu.default in decomposition_table
    mine = {}

    @register_decomposition([aten.sin.default], registry=mine)
    def sin(x):
        return torch.cos(x - 1)
    assert [n.name for n in make_fx(lambda x: torch.sin(x), decomposition_table=mine)(X).graph.nodes] == ["x_1", "sub", "cos", "output"]
    assert mine == {aten.sin.default: sin}
    half = make_fx(lambda x: F.gelu(x), decomposition_table=get_decompositions(OPS))(X.bfloat16())
    assert torch.equal(half(X.bfloat16()), F.gelu(X.bfloat16()))
