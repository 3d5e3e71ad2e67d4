"""On the meta device nothing is drawn: shapes and dtypes are what draws would give."""
import pytest

import torchshim as torch
import torchshim.nn.functional as F

M = torch.ones(3, 4, device="meta")


@pytest.mark.parametrize("f, shape, dtype", [
    (lambda: torch.normal(M, M), (3, 4), torch.float32), (lambda: torch.normal(0.0, M), (3, 4), torch.float32),
    (lambda: torch.normal(M, 1.0), (3, 4), torch.float32), (lambda: torch.bernoulli(M), (3, 4), torch.float32),
    (lambda: torch.poisson(M), (3, 4), torch.float32), (lambda: torch.multinomial(M, 2), (3, 2), torch.int64),
    (lambda: torch.multinomial(M[0], 2), (2,), torch.int64), (lambda: torch._standard_gamma(M), (3, 4), torch.float32),
    (lambda: F.rrelu(M, training=True), (3, 4), torch.float32), (lambda: torch.clone(M).bernoulli_(M), (3, 4), torch.float32),
    (lambda: torch.linspace(M[0, 0], M[0, 0], 3), (3,), torch.float32), (lambda: torch.logspace(M[0, 0], 2, 3), (3,), torch.float32),
    (lambda: torch.linspace(M[0, 0], 2, 3, device="meta", dtype=torch.float64), (3,), torch.float64)])
def test_nothing_is_drawn(f, shape, dtype):
    made = f()
    assert (made.shape, made.dtype, made.device.type) == (shape, dtype, "meta")


def test_gradients_of_draws():
    made = torch.normal(M.clone().requires_grad_(), 1.0)
    assert made.is_meta and made.grad_fn.name() == "NormalBackward1"
