"""torch.autograd.functional: what it refuses and in which order, and functions that depend on nothing (torch 2.13)."""
import pytest

import torchshim as torch
from torchshim.autograd import functional as AF

X = torch.tensor([1.0, 2.0])


def cubed(x):
    return (x ** 3).sum()


@pytest.mark.parametrize("product", [AF.vjp, AF.jvp, AF.vhp, AF.hvp])
def test_directions_that_do_not_fit(product):
    f = cubed if product in (AF.vhp, AF.hvp) else (lambda x: x ** 3)
    with pytest.raises(RuntimeError, match="^The given v should contain a single Tensor"):
        product(f, X, (X, X))
    with pytest.raises(RuntimeError, match=r"^v has invalid size: should be torch.Size\(\[2\]\) but got torch.Size\(\[3\]\)"):
        product(f, X, torch.ones(3))


def test_directions_are_counted():
    with pytest.raises(RuntimeError, match="^v is a tuple of invalid length: should be 2 but got 1"):
        AF.vhp(lambda x, y: cubed(x), (X, X), X)
    with pytest.raises(RuntimeError, match="^Entry 1 in v has invalid size"):
        AF.jvp(lambda x, y: x * y, (X, X), (X, torch.ones(3)))


@pytest.mark.parametrize("name", ["vhp", "hvp"])
def test_products_with_the_hessian_of_what_depends_on_nothing(name):
    product = getattr(AF, name)
    value, made = product(lambda x: x.detach().sum(), X, X)
    assert value.item() == 3.0 and made.tolist() == [0.0, 0.0]
    with pytest.raises(RuntimeError, match="^Output 0 of the user-provided function does not require gradients"):
        product(lambda x: torch.ones(2), X, X, strict=True)
    with pytest.raises(RuntimeError, match=f"^The Tensor returned by the function given to {name} should contain a single element"):
        product(lambda x: x * 2, X, X)
    with pytest.raises(TypeError, match=f"^The inputs given to {name} must be"):
        product(cubed, [X], X)


def test_strategies():
    with pytest.raises(AssertionError, match='Otherwise, prefer to use "reverse-mode".$'):
        AF.jacobian(cubed, X, strategy="sideways")
    with pytest.raises(NotImplementedError, match="are not supported together .yet.. Please either set `create_graph=False`"):
        AF.jacobian(cubed, X, strategy="forward-mode", create_graph=True)


def test_a_block_without_tangents():
    with torch.autograd.forward_ad.dual_level():
        x = torch.autograd.forward_ad.make_dual(X, X)
        with torch.autograd.forward_ad._set_fwd_grad_enabled(False):
            y = x * 2
        assert torch.autograd.forward_ad.unpack_dual(y).tangent is None
        assert torch.autograd.forward_ad.unpack_dual(x * 2).tangent.tolist() == [2.0, 4.0]
