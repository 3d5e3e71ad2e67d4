"""Protects the activation functions: values and torch's derivatives at their kinks, the `inplace` flag, names and errors.

Every expectation is what PyTorch 2.13 (CPU) prints for the same lines.
"""
import math

import numpy as np
import pytest

import torchshim as torch
import torchshim.nn.functional as F

POINTS = [-3.0, -2.0, 0.0, 2.0, 3.0, math.nan, 0.5, -0.5]
S = 1 / (1 + math.e ** -0.5)


@pytest.mark.parametrize("f, values, slopes", [
    (F.relu, [0, 0, 0, 2, 3, math.nan, 0.5, 0], [0, 0, 0, 1, 1, 1, 1, 0]),
    (F.relu6, [0, 0, 0, 2, 3, math.nan, 0.5, 0], [0, 0, 0, 1, 1, 1, 1, 0]),
    (lambda x: F.hardtanh(x, -2, 2), [-2, -2, 0, 2, 2, math.nan, 0.5, -0.5], [0, 0, 1, 0, 0, 1, 1, 1]),
    (F.hardsigmoid, [0, 1 / 6, 0.5, 5 / 6, 1, math.nan, 3.5 / 6, 2.5 / 6], [0, 1 / 6, 1 / 6, 1 / 6, 0, 0, 1 / 6, 1 / 6]),
    (F.hardswish, [0, -1 / 3, 0, 5 / 3, 3, math.nan, 1.75 / 6, -1.25 / 6], [0, -1 / 6, 0.5, 7 / 6, 1, 1, 2 / 3, 1 / 3]),
    (lambda x: F.softshrink(x, 0.5), [-2.5, -1.5, 0, 1.5, 2.5, math.nan, 0, 0], [1, 1, 0, 1, 1, 1, 0, 0]),
    (lambda x: F.hardshrink(x, 0.5), [-3, -2, 0, 2, 3, math.nan, 0, 0], [1, 1, 0, 1, 1, 1, 0, 0]),
    (lambda x: F.threshold(x, 0.5, 7.0), [7, 7, 7, 2, 3, math.nan, 7, 7], [0, 0, 0, 1, 1, 1, 0, 0]),
    (F.leaky_relu, [-0.03, -0.02, 0, 2, 3, math.nan, 0.5, -0.005], [0.01, 0.01, 0.01, 1, 1, 0.01, 1, 0.01]),
    (F.elu, [math.expm1(-3), math.expm1(-2), 0, 2, 3, math.nan, 0.5, math.expm1(-0.5)],
     [math.exp(-3), math.exp(-2), 1, 1, 1, 1, 1, math.exp(-0.5)]),
    (F.logsigmoid, [-3.0485873, -2.126928, -math.log(2), -0.126928, -0.04858735, math.nan, math.log(S), math.log(1 - S)],
     [0.95257413, 0.880797, 0.5, 0.11920292, 0.04742587, math.nan, 1 - S, S]),
    (F.softplus, [0.04858735, 0.126928, math.log(2), 2.126928, 3.0485873, math.nan, -math.log(1 - S), -math.log(S)],
     [0.04742587, 0.11920292, 0.5, 0.880797, 0.95257413, math.nan, S, 1 - S]),
])
def test_values_and_slopes(f, values, slopes):
    x = torch.tensor(POINTS, requires_grad=True)
    y = f(x)
    y.sum().backward()
    np.testing.assert_allclose(y.tolist(), values, rtol=2e-6, atol=1e-7)
    np.testing.assert_allclose(x.grad.tolist(), slopes, rtol=2e-6, atol=1e-7)


def test_smooth_ones():
    x = torch.tensor([-1.0, 0.5, 2.0], dtype=torch.float64)
    v = x.numpy()
    sigmoid = 1 / (1 + np.exp(-v))
    phi = np.array([0.5 * (1 + math.erf(a / math.sqrt(2))) for a in v])
    np.testing.assert_allclose(F.silu(x).tolist(), v * sigmoid)
    np.testing.assert_allclose(F.mish(x).tolist(), v * np.tanh(np.log1p(np.exp(v))))
    np.testing.assert_allclose(F.gelu(x).tolist(), v * phi)
    np.testing.assert_allclose(F.gelu(x, approximate="tanh").tolist(),
                               0.5 * v * (1 + np.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v ** 3))))
    np.testing.assert_allclose(F.selu(x).tolist(), np.where(v > 0, v, 1.6732632423543772 * np.expm1(v)) * 1.0507009873554805)
    np.testing.assert_allclose(F.celu(x, 0.5).tolist(), np.where(v > 0, v, 0.5 * np.expm1(v / 0.5)))
    np.testing.assert_allclose(F.glu(torch.stack([x, x])[:, :2], 1).tolist(), [[v[0] * sigmoid[1]]] * 2)
    np.testing.assert_allclose(F.tanhshrink(x).tolist(), v - np.tanh(v))
    np.testing.assert_allclose(F.softsign(x).tolist(), v / (1 + np.abs(v)))


def test_inplace_flag():
    x = torch.tensor([-1.0, 2.0], requires_grad=True)
    for f, name in ((F.relu, "ReluBackward0"), (F.leaky_relu, "LeakyReluBackward1"), (F.elu, "EluBackward1"), (F.silu, "SiluBackward0"),
                    (F.hardtanh, "HardtanhBackward0"), (F.selu, "EluBackward1")):
        y = x * 1
        assert f(y, inplace=True) is y and type(y.grad_fn).__name__ == name
        want = torch.autograd.grad(f(x).sum(), x)[0].tolist()
        np.testing.assert_allclose(torch.autograd.grad(y.sum(), x)[0].tolist(), want, rtol=1e-6)
    z = torch.tensor([-1.0, 2.0])
    assert z.relu_() is z and torch.relu_(z) is z and z.tolist() == [0, 2]


def test_prelu():
    x = torch.tensor([[-1.0, 2.0], [0.0, -4.0]], requires_grad=True)
    w = torch.tensor([0.5, 0.25], requires_grad=True)
    y = F.prelu(x, w)
    y.sum().backward()
    assert y.tolist() == [[-0.5, 2], [0, -1]] and x.grad.tolist() == [[0.5, 1], [0.5, 0.25]] and w.grad.tolist() == [-1, -4]
    with pytest.raises(RuntimeError, match="Mismatch of parameter numbers and input channel size. Found parameter numbers = 3 and channel "
                                           "size = 2."):
        F.prelu(x, torch.ones(3))


def test_half_types_round_once():
    x = torch.tensor([-1.5, 0.7, 3.0]).to(torch.bfloat16)
    for f in (F.gelu, F.silu, F.mish, F.softplus, torch.sigmoid, torch.tanh):
        assert f(x).dtype is torch.bfloat16
        assert f(x).tolist() == f(x.float()).to(torch.bfloat16).tolist()


@pytest.mark.parametrize("f, error, text", [
    (lambda i: F.leaky_relu(i), NotImplementedError, "\"leaky_relu_cpu\" not implemented for 'Long'"),
    (lambda i: F.gelu(i), NotImplementedError, "\"GeluKernelImpl\" not implemented for 'Long'"),
    (lambda i: F.gelu(i.float(), approximate="x"), RuntimeError, "approximate argument must be either none or tanh."),
    (lambda i: F.relu(i > 1), RuntimeError, "Boolean inputs not supported for relu"),
    (lambda i: F.glu(torch.ones(3)), RuntimeError, "Halving dimension must be even, but dimension 0 is size 3"),
    (lambda i: F.softshrink(i.float(), -1), RuntimeError, "lambda must be in range"),
    (lambda i: F.celu(i.float(), 0), RuntimeError, "ZeroDivisionError: alpha cannot be 0 for CELU"),
])
def test_errors(f, error, text):
    with pytest.raises(error, match=text):
        f(torch.tensor([1, 2]))


@pytest.mark.parametrize("name", ["elu", "selu", "celu"])
def test_the_second_derivative_of_exponential_units_at_zero_is_zero(name):
    z = torch.zeros(1, requires_grad=True)
    g, = torch.autograd.grad(getattr(torch.nn.functional, name)(z), z, create_graph=True)
    assert torch.autograd.grad(g, z)[0].item() == 0


def test_nothing_is_scaled_at_zero():
    x = torch.tensor([0.0, 2.0])
    assert F.elu(x, math.inf).tolist() == F.celu(x, math.nan).tolist() == F.elu(x, math.nan).tolist() == [0, 2]


def test_the_gradient_of_gelu_is_infinite_where_its_cotangent_is():
    """The slope is put together before it is multiplied by the cotangent, as in torch: no NaN at 0."""
    x = torch.tensor([0.0, 1.0], dtype=torch.float64, requires_grad=True)
    F.gelu(x).backward(torch.tensor([-torch.inf, torch.inf], dtype=torch.float64))
    assert x.grad.tolist() == [-torch.inf, torch.inf]


@pytest.mark.parametrize("f, text", [
    (lambda x: F.elu_(x, alpha=-2), "elu"), (lambda x: F.elu(x, -2.0, inplace=True), "elu"), (lambda x: F.celu_(x, alpha=-2), "elu"),
    (lambda x: F.celu(x, -2.0, True), "elu"), (lambda x: F.leaky_relu_(x, -2), "leakyReLu"),
    (lambda x: F.leaky_relu(x, -0.5, True), "leakyReLu"), (lambda x: F.rrelu_(x, -5.0, 1.0), "leakyReLu")])
def test_negative_slopes_in_place_have_no_gradient(f, text):
    x = torch.tensor([-1.0, 1.0], requires_grad=True)
    y = f(x.clone())
    assert torch.equal(y, f(x.detach().clone()))
    with pytest.raises(RuntimeError, match=f"^In-place {text} backward calculation is triggered with a negative slope"):
        y.sum().backward()


def test_other_slopes_in_place_have_theirs():
    for f, slope in ((lambda x: F.leaky_relu_(x, 0.0), 0), (lambda x: F.elu_(x, 0.0), 0), (lambda x: F.rrelu_(x, -5.0, -5.0, True), -5),
                     (lambda x: F.leaky_relu(x, -2.0), -2)):
        x = torch.tensor([-1.0, 1.0], requires_grad=True)
        f(x.clone()).sum().backward()
        assert x.grad.tolist() == [slope, 1]
