"""Gradients by torch's own formulas, where others differ in the last digits, in what is read, or in what has a derivative at all."""
import pytest

import torchshim as torch
from torchshim.nn import functional as F


def test_a_products_gradient_is_the_product_divided():
    """torch: grad * (result / input), unless something is 0."""
    x = (torch.arange(1., 13).reshape(3, 4) / 7).requires_grad_()
    for f in (torch.prod, lambda x: torch.prod(x, 0), lambda x: torch.prod(x, 1, keepdim=True)):
        g, = torch.autograd.grad(f(x).sum(), x, create_graph=True)
        made = f(x).detach()
        assert torch.equal(g, made / x) and g.requires_grad
    y = torch.tensor([2., 0., 3.], requires_grad=True)
    assert torch.autograd.grad(y.prod(), y)[0].tolist() == [0, 6, 0]


def test_gradients_of_cholesky_factors_are_those_of_all_elements():
    L = torch.tensor([[2., 5.], [1., 3.]], dtype=torch.float64, requires_grad=True)
    b = torch.tensor([[1.], [2.]], dtype=torch.float64, requires_grad=True)
    x = torch.cholesky_solve(b, L)
    g, = torch.autograd.grad(x.sum(), L)
    u = torch.cholesky_solve(torch.ones(2, 1, dtype=torch.float64), L.detach())
    both = u @ x.detach().mT
    assert torch.allclose(g, -(both + both.mT) @ L.detach()) and g[0, 1] != 0
    inverse = torch.cholesky_inverse(L)
    g, = torch.autograd.grad(inverse.sum(), L)
    done = inverse.detach()
    assert torch.allclose(g, -done @ torch.full((2, 2), 2., dtype=torch.float64) @ done @ L.detach())


@pytest.mark.parametrize("f, name", [
    (lambda x: F.hardsigmoid(x), "hardsigmoid_backward"),
    (lambda x: F.multi_margin_loss(x, torch.tensor([0, 1])), "multi_margin_loss_backward"),
    (lambda x: F.multilabel_margin_loss(x, torch.tensor([[0, -1], [1, -1]])), "multilabel_margin_loss_backward"),
])
def test_gradients_without_a_derivative_say_so(f, name):
    x = torch.tensor([[0.5, -0.25], [1., 2.]], requires_grad=True)
    g, = torch.autograd.grad(f(x).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match=f"derivative for aten::{name} is not implemented"):
        g.sum().backward()


def test_distances_are_differentiated_once_and_inverses_in_place_never():
    x = torch.tensor([[0.5, 0.25], [0.125, 0.75]], requires_grad=True)
    for distances, name in ((lambda: torch.cdist(x, x + 1), "cdist"), (lambda: torch.pdist(x), "pdist")):
        g, = torch.autograd.grad(distances().sum(), x, create_graph=True)
        with pytest.raises(NotImplementedError, match=f"^the derivative for '_{name}_backward' is not implemented.$"):
            g.sum().backward()
    g, = torch.autograd.grad(torch.cdist(x, x + 1, compute_mode="use_mm_for_euclid_dist").sum(), x, create_graph=True)
    g.sum().backward()                         # these are products of matrices
    for name in ("asinh", "acosh", "atanh"):
        y = getattr(x + 0, name + "_")()
        assert type(y.grad_fn).__name__ == f"{name.capitalize()}Backward1"
        with pytest.raises(NotImplementedError, match=f"^the derivative for 'inplace version of {name}' is not implemented.$"):
            y.sum().backward()
    torch.asinh(x).sum().backward()


def test_nothing_has_a_cholesky_decomposition_with_a_history():
    for shape in ((0, 0), (0, 3, 3), (2, 0, 0)):
        assert type(torch.cholesky(torch.rand(shape, requires_grad=True)).grad_fn).__name__ == "CholeskyBackward0"


def test_draws_with_tensors_have_gradients_of_zeros():
    x = torch.rand(3, requires_grad=True)
    for made, name in ((torch.normal(x, 1.), "NormalBackward1"), (torch.normal(1., x), "NormalBackward2"),
                       (torch.normal(x, x), "NormalBackward3"), (torch.poisson(x), "PoissonBackward0")):
        assert type(made.grad_fn).__name__ == name
        assert torch.autograd.grad(made.sum(), x)[0].tolist() == [0, 0, 0]


def test_names_of_copies_and_writes():
    x = torch.full((3, 3), 1.5, requires_grad=True)
    named = lambda y: type(y.grad_fn).__name__
    assert [named(f) for f in (torch.view_copy(x, (9,)), torch.t_copy(x), torch.narrow_copy(x, 0, 1, 2), torch.slice_copy(x, 0, 1, 2))] == [
        "ViewBackward0_copy", "TBackward0_copy", "NarrowCopyBackward0", "SliceBackward0_copy"]
    assert named(x.log2()) == "Log2Backward0" and named(torch.special.ndtr(x)) == "MulBackward1"
    assert named((x * 1).acosh_()) == "AcoshBackward1" and named((x * 1).polygamma_(1)) == "PolygammaBackward1"
    assert torch.view_copy(x[:, ::2], (3, 2)).shape == (3, 2) and x.to_dense() is x


def test_take_along_dim_takes_views():
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        torch.take_along_dim(torch.arange(12).reshape(3, 4)[:, :3], torch.tensor([0]))
