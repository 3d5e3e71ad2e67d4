"""Averages of a model's weights: stochastic weight averaging (Izmailov et al., arXiv:1803.05407) and exponential moving averages."""
from __future__ import annotations

import itertools
import math
from copy import deepcopy

from ..autograd.grad_mode import no_grad
from ..nn.modules.module import Module
from ..tensor.api.bind import FUNCTIONS
from ..tensor.core.dtype import int64
from ._scheduler import LRScheduler, _format_param

__all__ = ["AveragedModel", "update_bn", "SWALR", "get_ema_multi_avg_fn", "get_swa_multi_avg_fn", "get_ema_avg_fn", "get_swa_avg_fn"]


def _check_decay(decay):
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def _all(one):
    """The form for lists of a function that averages one parameter."""
    def multi(averaged, current, num_averaged):
        with no_grad():
            for a, p in zip(averaged, current, strict=True):
                a.copy_(one(a, p, num_averaged))
    return multi


def get_ema_avg_fn(decay=0.999):
    """f(average, parameter, number averaged): the exponential moving average's next value."""
    _check_decay(decay)

    def ema_update(ema_param, current_param, num_averaged):
        with no_grad():
            return decay * ema_param + (1 - decay) * current_param
    return ema_update


def get_swa_avg_fn():
    """f(average, parameter, number averaged): the mean's next value."""
    def swa_update(averaged_param, current_param, num_averaged):
        with no_grad():
            return averaged_param + (current_param - averaged_param) / (num_averaged + 1)
    return swa_update


def get_ema_multi_avg_fn(decay=0.999):
    """As get_ema_avg_fn, for lists, in place."""
    _check_decay(decay)
    one = get_ema_avg_fn(decay)
    return _all(lambda a, p, n: a.lerp(p, 1 - decay) if a.is_floating_point() or a.is_complex() else one(a, p, n))


def get_swa_multi_avg_fn():
    """As get_swa_avg_fn, for lists, in place."""
    return _all(get_swa_avg_fn())


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of those that update_parameters is given.

    avg_fn averages one parameter, multi_avg_fn lists of them in place; default: the mean. use_buffers: average buffers too.
    """

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", FUNCTIONS["tensor"](0, dtype=int64, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def _averaged(self, module):
        return itertools.chain(module.parameters(), module.buffers()) if self.use_buffers else module.parameters()

    def update_parameters(self, model):
        """Take the model's present parameters into the average."""
        averaged = [p.detach() for p in self._averaged(self.module)]
        current = [p.detach().to(a.device) for a, p in zip(averaged, self._averaged(model))]
        if self.n_averaged == 0:
            for a, p in zip(averaged, current):
                a.copy_(p)
        elif not averaged and (self.multi_avg_fn is not None or self.avg_fn is None):
            raise RuntimeError("Expected !nested_tensorlist[0].empty() to be true, but got false.  (Could this error message be improved?  "
                               "If so, please report an enhancement request to PyTorch.)")
        elif self.multi_avg_fn is not None:
            alike = {}
            for a, p in zip(averaged, current):
                lists = alike.setdefault((a.device, a.dtype), ([], []))
                lists[0].append(a)
                lists[1].append(p)
            for (device, _), lists in alike.items():
                self.multi_avg_fn(*lists, self.n_averaged.to(device))
        else:
            one = self.avg_fn or get_swa_avg_fn()
            for a, p in zip(averaged, current):
                a.copy_(one(a, p, self.n_averaged.to(a.device)))
        if not self.use_buffers:
            for own, b in zip(self.module.buffers(), model.buffers(), strict=True):
                own.detach().copy_(b.detach().to(own.device))
        self.n_averaged += 1


def update_bn(loader, model, device=None):
    """Compute the running statistics of the model's batch norms anew, from one pass over the loader's (first) inputs."""
    from ..nn.modules.batchnorm import _BatchNorm
    norms = [m for m in model.modules() if isinstance(m, _BatchNorm)]
    if not norms:
        return
    momenta, training = [m.momentum for m in norms], model.training
    with no_grad():
        model.train()
        for m in norms:
            m.reset_running_stats()
            m.momentum = None                      # the mean over all batches
        for batch in loader:
            if isinstance(batch, (list, tuple)):
                batch = batch[0]
            model(batch if device is None else batch.to(device))
    for m, momentum in zip(norms, momenta):
        m.momentum = momentum
    model.train(training)


class SWALR(LRScheduler):
    """lr goes to swa_lr over anneal_epochs steps and stays there. anneal_strategy: "cos" or "linear"."""

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        for lr, group in zip(_format_param("swa_lr", optimizer, swa_lr), optimizer.param_groups):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def anneal_func(self, t):
        """How much of the way is gone at the part t of the time."""
        return (1 - math.cos(math.pi * t)) / 2 if self._anneal_strategy == "cos" else t

    def get_lr(self):
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        part = lambda k: self.anneal_func(max(0, min(1, k / max(1, self.anneal_epochs))))
        before, now = part(step - 1), part(step)
        groups = self.optimizer.param_groups
        first = [g["swa_lr"] if before == 1 else (g["lr"] - before * g["swa_lr"]) / (1 - before) for g in groups]
        return [g["swa_lr"] * now + lr * (1 - now) for g, lr in zip(groups, first)]
