"""autocast casts what torch's lists say and costs nothing while it is off; GradScaler skips steps that overflow."""
import pytest

import torchshim as torch
from torchshim import amp
from torchshim.nn import functional as F
from torchshim.tensor.core import dispatch


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_lists(dtype):
    a, h = torch.randn(2, 2), torch.randn(2, 2).to(dtype)
    with torch.autocast("cpu", dtype=dtype):
        assert (a @ a).dtype == F.linear(a, a, a[0]).dtype == torch.einsum("ij,jk->ik", a, a).dtype == dtype
        assert F.scaled_dot_product_attention(a, h, a).dtype == dtype
        assert F.conv1d(a[None], torch.randn(1, 2, 1)).dtype == dtype
        assert h.exp().dtype == h.softmax(-1).dtype == dtype
        assert F.mse_loss(h, h).dtype == F.cross_entropy(h, torch.tensor([0, 1])).dtype == torch.linalg.inv(h).dtype == torch.float32
        assert torch.cat([h, a]).dtype == torch.float32
        assert (a.double() @ a.double()).dtype == torch.float64
        with torch.autocast("cpu", enabled=False):
            assert (a @ a).dtype == torch.float32
    assert (a @ a).dtype == torch.float32


def test_off_means_the_plain_code():
    before = dispatch.apply2.__code__
    with torch.autocast("cpu"):
        assert torch.is_autocast_enabled("cpu") and dispatch.apply2.__code__ is not before
    assert not torch.is_autocast_enabled("cpu") and dispatch.apply2.__code__ is before


def test_gradients_and_the_cache():
    layer = torch.nn.Linear(2, 2)
    with torch.autocast("cpu"):
        y, z = layer(torch.ones(1, 2)), layer(torch.ones(1, 2))
    assert y.dtype == torch.bfloat16
    (y + z).sum().backward()
    assert layer.weight.grad.dtype == torch.float32 and layer.weight.grad.tolist() == [[2, 2], [2, 2]]


def test_without_a_gpu():
    if torch.cuda.is_available():
        pytest.skip("there is one")
    with pytest.warns(UserWarning, match="CUDA is not available"):
        with torch.autocast("cuda"):
            assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.float32
    with pytest.warns(UserWarning, match="Disabling"):
        scaler = amp.GradScaler()
    assert not scaler.is_enabled() and scaler.get_scale() == 1.0 and scaler.state_dict() == {}


def test_grad_scaler():
    p = torch.nn.Parameter(torch.ones(2))
    optimizer, scaler = torch.optim.SGD([p], lr=1.0), amp.GradScaler("cpu", growth_interval=2)
    seen = []
    for factor in (1.0, float("inf"), 1.0, 1.0):
        p.grad = None
        scaler.scale((p * factor).sum()).backward()
        scaler.step(optimizer)
        with pytest.raises(RuntimeError, match="already been called"):
            scaler.step(optimizer)
        scaler.update()
        seen.append((p[0].item(), scaler.get_scale(), scaler._get_growth_tracker()))
    assert seen == [(0, 65536, 1), (0, 32768, 0), (-1, 32768, 1), (-2, 65536, 0)]


def test_custom_function():
    modes = []

    class Twice(torch.autograd.Function):
        @staticmethod
        @amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        def forward(ctx, x):
            modes.append((torch.is_autocast_enabled("cpu"), x.dtype))
            return 2 * x

        @staticmethod
        @amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            modes.append(torch.is_autocast_enabled("cpu"))
            return 2 * g
    with torch.autocast("cpu"):
        Twice.apply(torch.ones(2, dtype=torch.bfloat16, requires_grad=True)).sum().backward()
    assert modes == [(False, torch.float32), False]


@pytest.mark.parametrize("first", ["autocast", "asking"])
def test_functions_that_ask_their_arguments_are_cast_too(first):
    """A subclass of tensors makes functions ask (see torchshim.overrides), at any time before, inside of or after autocast."""
    import subprocess
    import sys
    program = """
import torchshim as torch
F = torch.nn.functional
def cast():
    a = torch.ones(1, 1, 2, 2)
    with torch.autocast("cpu"):
        return F.scaled_dot_product_attention(a, a, a).dtype, F.linear(a, a[0, 0]).dtype
def ask():
    class Mine(torch.Tensor):
        pass
    assert type(F.relu(torch.ones(2).as_subclass(Mine))) is Mine
for f in {order}:
    f()
assert cast() == (torch.bfloat16,) * 2
a = torch.ones(1, 1, 2, 2)
assert F.scaled_dot_product_attention(a, a, a).dtype == torch.float32
with torch.autocast("cpu"):
    ask()
ask()
"""
    order = "(cast, ask, cast)" if first == "autocast" else "(ask, cast)"
    assert subprocess.run([sys.executable, "-c", program.replace("{order}", order)], timeout=100).returncode == 0


def test_products_of_vectors_stay_and_cells_are_cast():
    """On a CPU torch shortens `matmul`, but neither `dot` nor `mv`; a cell's two linear layers are shortened."""
    x = torch.ones(2, 3)
    with torch.autocast("cpu"):
        assert torch.dot(x[0], x[1]).dtype == torch.mv(x, x[0]).dtype == torch.float32
        assert (x @ x[0]).dtype == (x[0] @ x[1]).dtype == torch.nn.RNNCell(3, 2)(x).dtype == torch.bfloat16


def test_tangents_are_pushed_under_autocast():
    x = torch.arange(4.).reshape(2, 2)
    with torch.autograd.forward_ad.dual_level(), torch.autocast("cpu", dtype=torch.bfloat16):
        dual = torch.autograd.forward_ad.make_dual(x, torch.ones(2, 2))
        std, product = [torch.autograd.forward_ad.unpack_dual(y).tangent for y in (dual.std(), dual @ dual)]
    assert std.dtype is torch.float32 and abs(std) < 1e-6
    assert product.dtype is torch.bfloat16 and product.tolist() == [[3, 5], [7, 9]]


def test_covariances_multiply_in_the_short_type():
    x, w = torch.tensor([[1., 2, 3.3], [4, 1, 7.1]], requires_grad=True), torch.tensor([1., 2, 3])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for made, expected in ((x.cov(), [[1.3359375, 2.015625], [2.015625, 9.3125]]), (x[0].cov(), 1.3359375),
                               (x.corrcoef(), [[1.0, 0.5703125], [0.5703125, 1.0]]),
                               (x.cov(aweights=w), [[1.2734375, 2.859375], [2.859375, 12.25]]),
                               (x.long().cov(), [[1.0, 1.5], [1.5, 9.0]])):
            assert made.dtype is torch.bfloat16 and made.tolist() == expected
        assert x.double().cov().dtype is torch.float64
        assert x.cov().grad_fn.name() == "SqueezeBackward0"
