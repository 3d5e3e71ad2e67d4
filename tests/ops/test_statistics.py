"""Covariance, trapezoids, gradients, histograms, distances, renorm. Expectations are PyTorch 2.13's."""
import pytest

import torchshim as torch

X = [[1., 2., 4.], [3., 1., 0.]]


def close(t, expected):
    return torch.allclose(t, torch.tensor(expected, dtype=t.dtype), atol=1e-5)


def test_covariance():
    x = torch.tensor(X)
    assert close(torch.cov(x), [[2.3333333, -2.1666667], [-2.1666667, 2.3333333]])
    assert close(torch.cov(x, fweights=torch.tensor([1, 2, 1]), aweights=torch.tensor([.5, 1., 2.])),
                 [[1.8571428, -1.3571429], [-1.3571429, 1.2142857]])
    assert close(torch.corrcoef(x.long()), [[1.0, -0.9285713], [-0.9285713, 1.0]])
    with pytest.warns(UserWarning, match=r"cov\(\): degrees of freedom is <= 0"):
        assert torch.cov(torch.tensor(3.)).isnan().item()
    with pytest.raises(RuntimeError, match="fweights with Float dtype"):
        torch.cov(x, fweights=torch.tensor([1., 2, 1]))


def test_integrals_and_derivatives():
    x = torch.tensor(X)
    assert torch.trapezoid(x.long(), dx=.5).tolist() == [2.25, 1.25]
    assert torch.trapezoid(x, torch.tensor([0., 1., 3.])).tolist() == [7.5, 3.0]
    assert torch.cumulative_trapezoid(x, dx=2, dim=0).tolist() == [[4, 3, 4]]
    assert [g.tolist() for g in torch.gradient(x)] == [[[2, -1, -4], [2, -1, -4]], [[1, 1.5, 2], [-2, -1.5, -1]]]
    assert torch.gradient(x, spacing=2., dim=1, edge_order=2)[0].tolist() == [[.25, .75, 1.25], [-1.25, -.75, -.25]]
    assert torch.gradient(x, spacing=(torch.tensor([0., 1., 3.]),), dim=1)[0].tolist() == [[1, 1, 1], [-2, -1.5, -.5]]


def test_coordinates_decide_the_dtype_of_a_gradient():
    x, at = torch.tensor([0.0, 1.0, 4.0, 9.0]), torch.tensor([0.0, 1.0, 3.0, 4.0])
    for order, ends in ((1, (1.0, 5.0)), (2, (5 / 6, 37 / 6))):
        made, = torch.gradient(x, spacing=(at.double(),), edge_order=order)
        assert made.dtype is torch.float64
        torch.testing.assert_close(made, torch.tensor([ends[0], 7 / 6, 23 / 6, ends[1]]).double())
    made, = torch.gradient(x, spacing=2j)
    assert made.dtype is torch.complex64 and made.tolist() == [-0.5j, -1j, -2j, -2.5j]


def test_the_distance_of_samples_is_a_real_number():
    for name in ("trapezoid", "cumulative_trapezoid"):
        for dx in (1j, 2 + 0j, True):
            with pytest.raises(RuntimeError, match=f"^{name}: Currently, we only support dx as a real number"):
                getattr(torch, name)(torch.ones(3), dx=dx)
    assert torch.trapezoid(torch.ones(2, 0), dx=1j).tolist() == [0, 0]


def test_histograms():
    x = torch.tensor(X)
    h = torch.histogram(x, 4)
    assert h.hist.tolist() == [1, 2, 1, 2] and h.bin_edges.tolist() == [0, 1, 2, 3, 4]
    assert torch.histogram(x, torch.tensor([0., 1., 2., 4.])).hist.tolist() == [1, 2, 3]
    assert torch.histogram(torch.ones(3), 2).bin_edges.tolist() == [.5, 1, 1.5]
    assert torch.histogramdd(x.t(), [2, 2]).hist.tolist() == [[1, 1], [1, 0]]
    with pytest.raises(RuntimeError, match="derivative for aten::histogram is not implemented"):
        torch.histogram(x.requires_grad_(), 4).hist.sum().backward()


def test_distances_and_norms():
    x = torch.tensor(X)
    assert torch.cdist(x, x, p=1).tolist() == [[0, 7], [7, 0]] and close(torch.cdist(x, x), [[0., 4.5825757], [4.5825757, 0.]])
    assert close(torch.renorm(x, 2, 0, 1), [[.21821788, .43643576, .87287152], [.94868326, .31622776, 0.]])
    y = x.clone().requires_grad_()
    torch.cdist(y, y).sum().backward()                       # nothing is nan at distance zero
    assert not y.grad.isnan().any().item()
    assert x.sum_to_size(1, 3).tolist() == [[4, 3, 4]] and x.sum_to_size(2, 3) is x
    with pytest.raises(RuntimeError, match="X1 and X2 must have the same number of columns. X1: 3 X2: 2"):
        torch.cdist(x, x[:, :2])


def test_the_second_derivative_of_std_of_a_constant_is_zero():
    """As torch's; the first is too."""
    x = torch.full((4,), 3.0, dtype=torch.float64, requires_grad=True)
    g, = torch.autograd.grad(x.std(), x, create_graph=True)
    assert g.tolist() == [0] * 4 and torch.autograd.grad(g.sum(), x)[0].tolist() == [0] * 4
