"""Sums of a product that torch's CPU kernels round once: in both tiers the digits are those of a fused multiply-add."""
from fractions import Fraction

import numpy as np
import pytest

import torchshim as torch
from torchshim.engine.compile import policy


def fused(z, x, y):
    """z + x * y of arrays of one dtype, rounded once."""
    exact = [Fraction(float(a)) + Fraction(float(b)) * Fraction(float(c)) for a, b, c in np.broadcast(z, x, y)]
    return np.array([_nearest(e, z.dtype.type) for e in exact])


def _nearest(exact, kind):
    near = kind(float(exact))                  # at most one step off, where a float64 was rounded again
    steps = [np.nextafter(near, kind(-np.inf)), near, np.nextafter(near, kind(np.inf))]
    return min(steps, key=lambda s: abs(Fraction(float(s)) - exact))


@pytest.fixture(params=["operators", "compiled"])
def tier(request):
    policy.pin(request.param)
    yield request.param
    policy.pin(None)


def arrays(n, dtype):
    rng = np.random.default_rng(n)
    return [rng.standard_normal(n).astype(dtype) for _ in range(3)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 7, 100, 2111])
def test_sums_of_a_multiple_are_rounded_once(tier, n, dtype):
    x, y, _ = arrays(n, dtype)
    a, b, kind = torch.from_numpy(x), torch.from_numpy(y), dtype
    assert np.array_equal(torch.add(a, b, alpha=0.3).numpy(), fused(x, kind(0.3), y))
    assert np.array_equal(a.sub(b, alpha=0.3).numpy(), fused(x, kind(-0.3), y))
    assert np.array_equal(torch.rsub(a, b, alpha=0.3).numpy(), fused(y, kind(-0.3), x))
    assert np.array_equal(torch.lerp(a, b, 0.3).numpy(), fused(x, kind(0.3), y - x))
    assert np.array_equal(a.clone().lerp_(b, 0.7).numpy(), fused(y, kind(0.7) - kind(1), y - x))


def test_sums_of_products_are_rounded_once(tier):
    x, y, z = arrays(100, np.float32)
    a, b, c = map(torch.from_numpy, (x, y, z))
    assert np.array_equal(torch.addcmul(a, b, c, value=0.7).numpy(), fused(x, np.float32(0.7) * y, z))
    assert np.array_equal(torch.addcmul(a[:30, None], b, c[:1]).numpy()[5], fused(x[5:6], y, z[:1]))


def test_multiples_keep_nan_infinity_and_strides(tier):
    x = torch.tensor([1.0, 2.0, 3.0, 4.0]).repeat(1000)
    odd = torch.tensor([float("nan"), float("inf"), -float("inf"), 1e38]).repeat(1000)
    assert torch.add(x, odd, alpha=0.0)[:3].isnan().all()
    assert torch.add(x, odd, alpha=1e10)[1:4].tolist() == [float("inf"), -float("inf"), float("inf")]
    turned = torch.ones(3, 1000).t()
    assert torch.equal(torch.add(turned, x[:1000, None].expand(1000, 3), alpha=2.0), 1 + 2 * x[:1000, None].expand(1000, 3))


def test_gradients_of_any_order_and_batches(tier):
    x, y = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 5.0], requires_grad=True)
    gx, gy = torch.autograd.grad(torch.add(x, y * y, alpha=0.5).sum(), (x, y), create_graph=True)
    assert gx.tolist() == [1, 1] and gy.tolist() == [3, 5] and torch.autograd.grad(gy.sum(), y)[0].tolist() == [1, 1]
    d, = torch.autograd.grad(torch.addcmul(x, x, y).sum(), x)
    assert d.tolist() == [4, 6]
    made = torch.func.vmap(lambda a, b: torch.addcmul(a, b, a))(torch.ones(2, 3), torch.full((2,), 2.0))
    assert made.tolist() == [[3.0] * 3] * 2
    made = torch.func.vmap(lambda a, b: torch.addcmul(a, b, a), in_dims=(0, 1))(torch.ones(2, 2), torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert made.tolist() == [[2.0, 4.0], [3.0, 5.0]]


def test_steps_of_gradient_descent_are_rounded_once(tier):
    x, g, _ = arrays(2100, np.float32)
    p = torch.nn.Parameter(torch.from_numpy(x.copy()))
    p.grad = torch.from_numpy(g)
    torch.optim.SGD([p], lr=0.1).step()
    assert np.array_equal(p.detach().numpy(), fused(x, np.float32(-0.1), g))


def test_gradients_multiply_in_the_order_of_torch(tier):
    x, z, g = arrays(100, np.float32)
    a, b, ct = torch.from_numpy(x).requires_grad_(), torch.from_numpy(z).requires_grad_(), torch.from_numpy(g)

    def gradient(y, *inputs):
        return [t.numpy() for t in torch.autograd.grad(y, inputs, ct if y.ndim else torch.tensor(1.3))]
    y = a.sigmoid()
    assert np.array_equal(gradient(y, a)[0], g * (1 - y.detach().numpy()) * y.detach().numpy())
    y = a.tanh()
    out = y.detach().numpy()
    assert np.array_equal(gradient(y, a)[0], g * fused(np.ones_like(out), -out, out))
    ga, gb = gradient(a / b, a, b)
    assert np.array_equal(ga, g / z) and np.array_equal(gb, -g * ((x / z) / z))
    assert np.array_equal(gradient(a / 3, a)[0], g / np.float32(3))
    assert np.array_equal(gradient(torch.nn.functional.mse_loss(a, b), a)[0], np.float32(2 / 100) * (x - z) * np.float32(1.3))
    d, = torch.autograd.grad(torch.nn.functional.mse_loss(a, b), a, create_graph=True)
    assert torch.allclose(torch.autograd.grad(d.sum(), a)[0], torch.full((100,), 0.02))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_factors_may_have_no_dimensions(tier, dtype):
    x, y = torch.arange(4.0, dtype=dtype), torch.tensor(2.0, dtype=dtype)
    assert torch.add(x, y, alpha=0.5).tolist() == [1, 2, 3, 4] and torch.addcmul(x, y, y).tolist() == [4, 5, 6, 7]


def test_rounding_in_place_writes():
    x = torch.tensor([0.26, 1.7])
    assert x.round_(decimals=1) is x and torch.allclose(x, torch.tensor([0.3, 1.7]))
    assert torch.round_(x) is x and x.tolist() == [0.0, 2.0]
    y = torch.tensor([0.26], requires_grad=True)
    assert [f(y).grad_fn.name() for f in (torch.round, lambda y: y.round(decimals=0))] == ["RoundBackward0", "RoundBackward1"]
