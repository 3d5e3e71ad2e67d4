"""Protects GradScaler beside unusual optimizers and gradients. All values are torch 2.13's."""
import pytest

import torchshim as torch


class TakesTheScaler(torch.optim.SGD):
    _step_supports_amp_scaling = True

    def step(self, closure=None, *, grad_scaler=None):
        self.seen = grad_scaler, hasattr(self, "grad_scale"), hasattr(self, "found_inf")
        return 7


class UnscalesItself(torch.optim.SGD):
    def __init__(self, params, lr):
        super().__init__(params, lr)
        self._step_supports_amp_scaling = True

    def step(self, closure=None):
        self.seen = self.grad_scale, self.found_inf
        return 8


def scaled(optimizer, x=1.0):
    layer = torch.nn.Linear(2, 1)
    made, scaler = optimizer(layer.parameters(), 0.1), torch.amp.GradScaler("cpu", init_scale=2.0)
    scaler.scale(layer(torch.full((1, 2), x)).sum()).backward()
    return made, scaler


def test_an_optimizer_that_takes_the_scaler_is_given_it():
    optimizer, scaler = scaled(TakesTheScaler)
    with pytest.warns(FutureWarning, match="GradScaler is going to stop passing itself as a keyword argument"):
        assert scaler.step(optimizer) == 7
    assert optimizer.seen == (scaler, False, False)
    with pytest.raises(RuntimeError, match="has already been called since the last update"):
        scaler.step(optimizer)
    with pytest.raises(AssertionError, match="No inf checks were recorded prior to update."):
        scaler.update()


def test_an_optimizer_that_unscales_by_itself_finds_what_it_needs():
    optimizer, scaler = scaled(UnscalesItself)
    assert scaler.step(optimizer) == 8 and [t.item() for t in optimizer.seen] == [2.0, 0.0]
    assert not hasattr(optimizer, "grad_scale") and not hasattr(optimizer, "found_inf")
    assert optimizer.param_groups[0]["params"][0].grad.tolist() == [[2, 2]]                # as it was
    scaler.update()
    assert scaler.get_scale() == 2.0
    optimizer, scaler = scaled(UnscalesItself, float("inf"))
    scaler.step(optimizer)                     # is not skipped
    assert [t.item() for t in optimizer.seen] == [2.0, 1.0]
    scaler.update()
    assert scaler.get_scale() == 1.0
    optimizer, scaler = scaled(UnscalesItself)
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    assert optimizer.seen[0] is None and optimizer.seen[1].item() == 0.0


@pytest.mark.parametrize("numbers, at, dtype, found", [
    ([16, 32, 64], [[0, 1, 1], [2, 0, 2]], torch.float16, 0), ([64000, 32, 64000], [[0, 1, 0], [2, 0, 2]], torch.float16, 1),
    ([64000, 32, 64000], [[0, 1, 0], [2, 0, 2]], torch.float32, 0), ([16, 32, float("nan")], [[0, 1, 1], [2, 0, 2]], torch.float32, 1)])
def test_half_gradients_at_one_place_overflow_together(numbers, at, dtype, found):
    p = torch.zeros(2, 3, dtype=dtype).to_sparse()
    p.grad = torch.sparse_coo_tensor(torch.tensor(at), torch.tensor(numbers, dtype=dtype), (2, 3))
    optimizer = torch.optim.SGD([p], lr=1.0)
    got = torch.GradScaler("cpu")._unscale_grads_(optimizer, torch.full((1,), 0.25), torch.zeros(1), True)
    assert [v.item() for v in got.values()] == [found]
