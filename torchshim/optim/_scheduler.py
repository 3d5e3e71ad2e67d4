"""What schedulers are, and how they find out in which order they and the optimizer step."""
from __future__ import annotations

import functools
import types
import weakref
from contextlib import contextmanager

from ..engine import warn
from ..tensor.core.tensor import Tensor
from .optimizer import Optimizer

_ORDER = "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use `scheduler.step()` to "
    "step the scheduler. During the deprecation, if epoch is different from None, the closed form is used instead of the new chainable "
    "form, where available. Please open an issue if you are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose.")


def _copied(x):
    return x.clone() if isinstance(x, Tensor) else x


def _values(optimizer, key):
    """An option of all groups; tensors as they are now."""
    return [_copied(group[key]) for group in optimizer.param_groups]


def _set(group, key, x):
    """Change a group's option; a tensor stays the same tensor."""
    if isinstance(group[key], Tensor):
        group[key].fill_(x.squeeze() if isinstance(x, Tensor) and x.dim() else x)
    else:
        group[key] = x


def _format_param(name, optimizer, param):
    """A number for each group, of one for all or of a list."""
    n = len(optimizer.param_groups)
    if not isinstance(param, (list, tuple)):
        param = [param] * n
    elif len(param) != n:
        raise ValueError(f"{name} must have the same length as optimizer.param_groups. {name} has {len(param)} values, "
                         f"param_groups has {n}.")
    return [_copied(x) for x in param]


def _portable(f):
    """What a state dict keeps of a callable: nothing of a function, the attributes of an object."""
    return None if isinstance(f, types.FunctionType) else f.__dict__.copy()


def _check_optimizer(optimizer):
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def _watch_steps(optimizer):
    """Let the optimizer note that its step was called, to warn about the wrong order."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    func, owner = optimizer.step.__func__, weakref.ref(optimizer)

    @functools.wraps(func)
    def step(*args, **kwargs):
        optimizer = owner()
        optimizer._opt_called = True
        return func(optimizer, *args, **kwargs)
    step._wrapped_by_lr_sched = True
    optimizer.step = step


class LRScheduler:
    """Base class: `step()` sets every group's `lr` from `get_lr()`; `last_epoch` counts the steps."""
    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer, last_epoch=-1):
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", _copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                               f"last_epoch >= 0.\nThis typically happens when:\n1. You're trying to resume training from a "
                               f"checkpoint but haven't properly loaded the optimizer state\n2. You're using last_epoch >= 0 "
                               f"for a fresh training run (not recommended)")
        self.base_lrs = _values(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _watch_steps(optimizer)
        self._initial_step()

    def _initial_step(self):
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

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
        if self._step_count == 1:
            if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
                warn("Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, make sure "
                     f"to call `optimizer.step()` before `lr_scheduler.step()`. See more details at {_ORDER}", UserWarning)
            elif not getattr(self.optimizer, "_opt_called", False):
                warn("Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should "
                     "call them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will "
                     f"result in PyTorch skipping the first value of the learning rate schedule. See more details at {_ORDER}",
                     UserWarning)
        self._step_count += 1
        if epoch is not None:
            warn(EPOCH_DEPRECATION_WARNING, UserWarning)
        self._update_lr(epoch)

    def _update_lr(self, epoch=None):
        with self._asked_by_step():
            if epoch is None:
                self.last_epoch += 1
                values = self.get_lr()
            else:
                self.last_epoch = epoch
                values = self._get_closed_form_lr() if hasattr(self, "_get_closed_form_lr") else self.get_lr()
        self._take(values)

    def _take(self, values):
        for group, lr in zip(self.optimizer.param_groups, values, strict=True):
            _set(group, "lr", lr)
        self._last_lr = _values(self.optimizer, "lr")

    @contextmanager
    def _asked_by_step(self):
        self._get_lr_called_within_step = True
        try:
            yield
        finally:
            self._get_lr_called_within_step = False

    def _warn_outside_step(self):
        if not self._get_lr_called_within_step:
            warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.", UserWarning)

    def _times(self, factor):
        return [group["lr"] * factor for group in self.optimizer.param_groups]


class _LRScheduler(LRScheduler):
    """The old name of LRScheduler."""
