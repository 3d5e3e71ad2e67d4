"""What is no tensor where a tensor belongs is refused with torch's words, before anything runs: a gradient that isn't there is None."""
import re

import pytest

import torchshim as torch

F, nn = torch.func, torch.nn


def square(x, *rest):
    return (x * x).sum()


@pytest.mark.parametrize("f, error, told", [
    *[(lambda v, f=f: f(square)(None), ValueError, "Thing passed to transform API must be Tensor, got <class 'NoneType'>")
      for f in (F.grad, F.grad_and_value, F.jacrev)],
    (lambda v: F.grad(square, argnums=1)(v, 3), ValueError, "Thing passed to transform API must be Tensor, got <class 'int'>"),
    (lambda v: F.vjp(square, [v, None]), ValueError, "Thing passed to transform API must be Tensor, got <class 'NoneType'>"),
    *[(lambda v, f=f: f(square)(None), AttributeError, "'NoneType' object has no attribute 'numel'") for f in (F.jacfwd, F.hessian)],
    (lambda v: F.linearize(square, None), AttributeError, "'NoneType' object has no attribute 'new_empty'"),
    (lambda v: v.sum().backward(inputs=[None]), RuntimeError, "all inputs have to be Tensors or GradientEdges, but got NoneType"),
    (lambda v: nn.utils.clip_grad_norm_([None], 1.0), AttributeError, "'NoneType' object has no attribute 'grad'"),
    (lambda v: nn.utils.clip_grad_value_([v, None], 1.0), AttributeError, "'NoneType' object has no attribute 'grad'"),
    (lambda v: torch.einsum("i,j->ij", v, None), TypeError, "expected Tensor as element 1 in argument 1, but got NoneType"),
    (lambda v: torch.einsum("i", 3), TypeError, "expected Tensor as element 0 in argument 1, but got int"),
    (lambda v: torch._foreach_add_([None, None], 1), TypeError, "expected Tensor as element 0 in argument 0, but got NoneType"),
    (lambda v: torch.where(v > 0, None, None), TypeError, "where() received an invalid combination of arguments - got (Tensor, NoneType, "
                                                         "NoneType)"),
    (lambda v: nn.functional.dropout(None, 0.0), TypeError, "dropout(): argument 'input' (position 1) must be Tensor, not NoneType"),
    (lambda v: nn.functional.binary_cross_entropy_with_logits(None, v), AttributeError, "'NoneType' object has no attribute 'size'"),
    (lambda v: F.functional_call(nn.Linear(3, 3), {"weight": None}, (v,)), TypeError,
     "linear(): argument 'weight' (position 2) must be Tensor, not NoneType")])
def test_none_in_the_place_of_a_tensor(f, error, told):
    with pytest.raises(error, match="^" + re.escape(told)):
        f(torch.ones(3, requires_grad=True))


def test_a_parameter_can_be_replaced_by_none():
    layer = nn.Linear(3, 2)
    x = torch.ones(1, 3)
    assert torch.equal(F.functional_call(layer, {"bias": None}, (x,)), x @ layer.weight.t())
    assert layer.bias is not None and len(torch.where(torch.tensor([1, 0]))) == 1
