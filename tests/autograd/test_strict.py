"""torch.autograd.functional with strict=True refuses what does not depend on its inputs, in torch's words."""
import pytest

import torchshim as torch
from torchshim.autograd import functional

X = torch.rand(3)


@pytest.mark.parametrize("f, text", [
    (lambda: functional.hessian(lambda a: (3 * a).sum(), X, strict=True), "jacobian of the user-provided function with respect to input 0"),
    (lambda: functional.hessian(lambda a, b: (a ** 3).sum(), (X, X), strict=True), "with respect to input 1 is independent"),
    (lambda: functional.hvp(lambda a: (3 * a).sum(), X, X, strict=True), "with respect to input 0 is independent"),
    (lambda: functional.jacobian(lambda a: 3 * a, X, strict=True, create_graph=True), "strict mode when create_graph=True"),
    (lambda: functional.vjp(lambda a: 3 * a, X, X, strict=True, create_graph=True), "strict mode when create_graph=True"),
    (lambda: functional.jvp(lambda a: 3 * a, X, X, strict=True, create_graph=True), "strict mode when create_graph=True"),
    (lambda: functional.jvp(lambda a, b: a ** 2, (X, X), (X, X), strict=True), "independent of input 1"),
])
def test_refusals(f, text):
    with pytest.raises(RuntimeError, match=text):
        f()


def test_a_jacobian_without_rows_is_refused():
    x = torch.ones(2)
    for vectorize, error, text in ((False, RuntimeError, "stack expects a non-empty TensorList"),
                                   (True, IndexError, "index 0 is out of bounds")):
        with pytest.raises(error, match=text):
            torch.autograd.functional.jacobian(lambda x: x[:0], x, vectorize=vectorize)
    assert torch.autograd.functional.jacobian(lambda x: x.sum(), torch.ones(0)).shape == (0,)


def test_what_is_detached_from_an_inference_tensor_counts_for_itself():
    with torch.inference_mode():
        x = torch.ones(2)
    assert x.detach()._version == 0 and x.detach().is_inference()
    y = x.detach().add_(1)                     # and so may be written
    assert y._version == 1 and x.tolist() == [2, 2]
