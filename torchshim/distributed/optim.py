"""torch.distributed.optim. State is not cut: every process has all of it, which gives the same parameters."""
from __future__ import annotations

from ._group import chosen
from ..dropin import missing_attribute as _missing_attribute
from ..optim.optimizer import Optimizer


class ZeroRedundancyOptimizer(Optimizer):
    """An optimizer of `optimizer_class` whose state is shared out over the processes of a group (ZeRO, stage 1).

    params: parameters or groups of them. defaults: what `optimizer_class` takes. Needs `init_process_group`, as in torch.
    """

    def __init__(self, params, optimizer_class, process_group=None, parameters_as_bucket_view=False, overlap_with_ddp=False, **defaults):
        chosen(process_group)
        if overlap_with_ddp:
            raise NotImplementedError("torchshim: ZeroRedundancyOptimizer(overlap_with_ddp=True)")
        self.optim = optimizer_class(params, **defaults)
        super().__init__(self.optim.param_groups, self.optim.defaults)
        self.param_groups, self.state = self.optim.param_groups, self.optim.state

    def add_param_group(self, param_group):
        """Add parameters with options of their own."""
        if hasattr(self, "param_groups") and self.param_groups is self.optim.param_groups:
            self.optim.add_param_group(param_group)
        else:
            super().add_param_group(param_group)

    def step(self, closure=None, **kwargs):
        """One update; returns the closure's loss."""
        return self.optim.step(**kwargs) if closure is None else self.optim.step(closure=closure, **kwargs)

    def consolidate_state_dict(self, to=0):
        """Collect the state of all processes at process `to`: it is there."""

    def state_dict(self):
        """The whole optimizer's."""
        return self.optim.state_dict()

    def load_state_dict(self, state_dict):
        """Take over what `state_dict` gave."""
        self.optim.load_state_dict(state_dict)
        self.param_groups, self.state = self.optim.param_groups, self.optim.state


__getattr__ = _missing_attribute(__name__)
