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
