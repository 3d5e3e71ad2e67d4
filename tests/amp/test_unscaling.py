"""GradScaler divides gradients, and finds what is not finite."""
import pytest

import torchshim as torch


def unscaled(grad, factor, found=0.0, half=False):
    p = torch.zeros(grad.shape, dtype=grad.dtype)
    p.grad = grad
    opt = torch.optim.SGD([p], lr=1.0)
    scaler = torch.amp.GradScaler("cpu")
    inf = scaler._unscale_grads_(opt, torch.tensor([factor]), torch.tensor([found]), half)
    return p.grad, inf[torch.device("cpu")].item()


@pytest.mark.parametrize("values, bad", [([16.0, 32.0, 64.0], 0.0), ([16.0, 32.0, float("inf")], 1.0), ([16.0, 32.0, float("nan")], 1.0)])
def test_sparse_gradients(values, bad):
    """Their values alone are looked at and divided."""
    g, inf = unscaled(torch.sparse_coo_tensor(torch.tensor([[0, 1, 1], [2, 0, 2]]), torch.tensor(values), (2, 3)), 0.25)
    assert inf == bad and g.to_dense()[0, 2] == 4.0


def test_sums_of_a_sparse_half_gradient_overflow():
    """Values that go to one place are summed first, which may be too much for them."""
    i, v = torch.tensor([[0, 1, 0], [2, 0, 2]]), torch.tensor([64000.0, 32.0, 64000.0])
    assert unscaled(torch.sparse_coo_tensor(i, v, (2, 3), dtype=torch.float16), 0.25, half=True)[1] == 1.0


def test_short_gradients_are_divided_by_the_factor_itself():
    """Not by a factor that is rounded to their dtype; and what was found before stays found."""
    g, inf = unscaled(torch.tensor([200.0, 3.0], dtype=torch.bfloat16), 1 / 3, found=1.0)
    assert g.tolist() == [66.5, 1.0] and inf == 1.0


@pytest.mark.parametrize("before", [False, True])
def test_an_optimizer_that_scales_back_itself(before):
    """It finds the factor and what was found beside its parameters while it steps; gradients stay as they are."""
    class Own(torch.optim.SGD):
        _step_supports_amp_scaling = True

        def step(self):
            return self.grad_scale, self.found_inf
    scaler, p = torch.amp.GradScaler("cpu", init_scale=4.0), torch.nn.Parameter(torch.ones(2))
    opt = Own([p], lr=1.0)
    scaler.scale((p * 2).sum()).backward()
    if before:
        scaler.unscale_(opt)
    scale, found = scaler.step(opt)
    scaler.update()
    assert (scale is None if before else scale == 4) and found == 0 and not hasattr(opt, "grad_scale") and not hasattr(opt, "found_inf")
    assert p.grad.tolist() == ([2.0, 2.0] if before else [8.0, 8.0])


def test_an_optimizer_that_is_given_the_scaler():
    """As torch did once: with a warning that it will not."""
    class Given(torch.optim.SGD):
        _step_supports_amp_scaling = True

        def step(self, grad_scaler=None):
            return grad_scaler
    scaler, p = torch.amp.GradScaler("cpu", init_scale=4.0), torch.nn.Parameter(torch.ones(2))
    opt = Given([p], lr=1.0)
    scaler.scale((p * 2).sum()).backward()
    with pytest.warns(FutureWarning, match="GradScaler is going to stop passing itself as a keyword argument"):
        assert scaler.step(opt) is scaler
