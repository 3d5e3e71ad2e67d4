"""Learning rates that change over time."""
from __future__ import annotations

import math
import weakref

from ..engine import warn
from ..tensor.core.tensor import Tensor
from .optimizer import Optimizer


class LRScheduler:
    """Base class: `step()` sets every group's `lr` from `get_lr()`; `last_epoch` counts the steps."""
    _get_lr_called_within_step = False

    def __init__(self, optimizer, last_epoch=-1):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        if last_epoch == -1:
            for group in optimizer.param_groups:
                lr = group["lr"]
                group.setdefault("initial_lr", lr.clone() if isinstance(lr, Tensor) else lr)
        else:
            for i, group in enumerate(optimizer.param_groups):
                if "initial_lr" not in group:
                    raise KeyError(f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                                   f"last_epoch >= 0.\nThis typically happens when:\n1. You're trying to resume training from a "
                                   f"checkpoint but haven't properly loaded the optimizer state\n2. You're using last_epoch >= 0 "
                                   f"for a fresh training run (not recommended)")
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._count_optimizer_steps()
        self._step_count = 0
        self._is_initial = True
        self.step()
        self._is_initial = False

    def _count_optimizer_steps(self):
        """Mark the optimizer when its step is called, to warn about the wrong order."""
        optimizer = self.optimizer
        if not hasattr(optimizer, "_opt_called"):
            optimizer._opt_called = False
            ref = weakref.ref(optimizer)

            def mark(opt, args, kwargs):
                ref()._opt_called = True
            optimizer.register_step_post_hook(mark)

    def state_dict(self):
        """Everything but the optimizer."""
        return {k: v for k, v in self.__dict__.items() if k != "optimizer"}

    def load_state_dict(self, state_dict):
        """Take over what state_dict() gave."""
        self.__dict__.update(state_dict)

    def get_last_lr(self):
        """The learning rates of the last step, by group."""
        return self._last_lr

    def get_lr(self):
        """The learning rates of this step, by group."""
        raise NotImplementedError

    def step(self, epoch=None):
        """Advance by one step (or to `epoch`, where a closed form exists)."""
        if self._step_count == 1 and not self.optimizer._opt_called:
            warn("Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should "
                 "call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will "
                 "result in PyTorch skipping the first value of the learning rate schedule. See more details at "
                 "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate", UserWarning)
        self._step_count += 1
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                values = self.get_lr()
            else:
                self.last_epoch = epoch
                values = self._get_closed_form_lr() if hasattr(self, "_get_closed_form_lr") else self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        for group, lr in zip(self.optimizer.param_groups, values):
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(lr)
            else:
                group["lr"] = lr
        self._last_lr = [g["lr"].clone() if isinstance(g["lr"], Tensor) else g["lr"] for g in self.optimizer.param_groups]

    def _warn_outside_step(self):
        if not self._get_lr_called_within_step:
            warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.", UserWarning)


_LRScheduler = LRScheduler


class StepLR(LRScheduler):
    """lr times gamma after every `step_size` steps."""

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_outside_step()
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return [g["lr"] for g in self.optimizer.param_groups]
        return [g["lr"] * self.gamma for g in self.optimizer.param_groups]

    def _get_closed_form_lr(self):
        return [b * self.gamma ** (self.last_epoch // self.step_size) for b in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the initial lr to eta_min over T_max steps (Loshchilov & Hutter, arXiv:1608.03983, without restarts)."""

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_outside_step()
        t, eta = self.last_epoch, self.eta_min
        groups = self.optimizer.param_groups
        if t == 0:
            return [g["lr"] for g in groups]
        if self._step_count == 1 and t > 0:
            return [eta + (b - eta) * (1 + math.cos(t * math.pi / self.T_max)) / 2 for b in self.base_lrs]
        if (t - 1 - self.T_max) % (2 * self.T_max) == 0:
            return [g["lr"] + (b - eta) * (1 - math.cos(math.pi / self.T_max)) / 2 for b, g in zip(self.base_lrs, groups)]
        return [(1 + math.cos(math.pi * t / self.T_max)) / (1 + math.cos(math.pi * (t - 1) / self.T_max)) * (g["lr"] - eta) + eta
                for g in groups]

    def _get_closed_form_lr(self):
        return [self.eta_min + (b - self.eta_min) * (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2 for b in self.base_lrs]
