"""When processes average their parameters."""
import warnings
from abc import ABC, abstractmethod

from .... import distributed as dist
from .utils import average_parameters_or_parameter_groups

__all__ = ["ModelAverager", "PeriodicModelAverager"]


class ModelAverager(ABC):
    """Base class; `step` counts the calls."""

    def __init__(self, process_group=None):
        self.process_group, self.step = dist._group.chosen(process_group), 0

    @abstractmethod
    def average_parameters(self, params):
        """Average parameters, or an optimizer's groups of them, when it is time."""
        raise NotImplementedError


class PeriodicModelAverager(ModelAverager):
    """Averages every `period`-th call from call `warmup_steps` on. ValueError for a period below 1 or a negative warm-up."""

    def __init__(self, period, warmup_steps=0, process_group=None):
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        if period == 1:
            warnings.warn("When period is 1, no need to use model averaging because the communication cost of all-reducing parameters will "
                          "be no less than the cost of all-reducing gradients by DistributedDataParallel in the backward pass. Therefore, "
                          "only DistributedDataParallel should be used for this case.", stacklevel=2)
        self.warmup_steps, self.period = warmup_steps, period

    def average_parameters(self, params):
        """Average them when it is time."""
        if self.step >= self.warmup_steps and (self.step - self.warmup_steps) % self.period == 0:
            average_parameters_or_parameter_groups(params, self.process_group)
        self.step += 1
