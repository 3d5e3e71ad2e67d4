"""torch.distributed.optim. State is not cut: every process has all of it, which gives the same parameters."""
from __future__ import annotations

from ._group import chosen
from ..dropin import missing_attribute as _missing_attribute
from ..engine import warn
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


class PostLocalSGDOptimizer(Optimizer):
    """An optimizer after whose steps `averager` averages the parameters over processes."""

    def __init__(self, optim, averager):
        self.optim, self.averager = optim, averager
        self.param_groups = optim.param_groups

    state = property(lambda self: self.optim.state)

    def __repr__(self):
        return repr(self.optim)

    def state_dict(self):
        """The optimizer's, and the averager's step."""
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict):
        """Take over what `state_dict` gave; a warning where it has no step."""
        self.optim.load_state_dict(state_dict)
        if "step" in state_dict:
            self.averager.step = state_dict["step"]
        else:
            warn("Loaded state dict does not contain a step counter for an averager. Setting step counter to 0.")
            self.averager.step = 0

    def step(self):
        """One update, and the average."""
        self.optim.step()
        self.averager.average_parameters(self.param_groups)

    def zero_grad(self, set_to_none=True):
        """The optimizer's."""
        self.optim.zero_grad(set_to_none=set_to_none)

    def add_param_group(self, param_group):
        """The optimizer's."""
        self.optim.add_param_group(param_group)


class DistributedOptimizer:
    """An optimizer of parameters that RRefs lead to; they are those of this process. `step` takes the gradients of a context of
    `torch.distributed.autograd`.
    """

    def __init__(self, optimizer_class, params_rref, *args, **kwargs):
        self._parameters = [r.local_value() for r in params_rref]
        self.optim = optimizer_class(self._parameters, *args, **kwargs)

    def step(self, context_id):
        """One update by the gradients of that context."""
        from .autograd import get_gradients
        found = get_gradients(context_id)
        before = [p.grad for p in self._parameters]
        try:
            for p in self._parameters:
                p.grad = found.get(p)
            self.optim.step()
        finally:
            for p, g in zip(self._parameters, before):
                p.grad = g


__getattr__ = _missing_attribute(__name__)
