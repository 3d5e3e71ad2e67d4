"""DistributedDataParallel over one process: gradients have nobody to be averaged with."""
from __future__ import annotations

import contextlib

from ... import distributed as dist
from ...autograd.grad_mode import no_grad
from ..modules.module import Module
from .scatter_gather import gather, scatter_kwargs


class DistributedDataParallel(Module):
    """Calls `module`, whose parameters' names begin with "module.". ValueError without a process group (`init_process_group`),
    RuntimeError for a module without parameters that want gradients, as in PyTorch. Options for more processes are accepted."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0, broadcast_buffers=True, init_sync=True, process_group=None,
                 bucket_cap_mb=None, find_unused_parameters=False, check_reduction=False, gradient_as_bucket_view=False, static_graph=False,
                 delay_all_reduce_named_params=None, param_to_hook_all_reduce=None, mixed_precision=None, device_mesh=None,
                 skip_all_reduce_unused_params=False, bucket_cap_mb_list=None, batched_grad_copy=None, forward_sync_buffers=None):
        super().__init__()
        self.process_group = dist._group(process_group)
        if not any(p.requires_grad for p in module.parameters()):
            raise RuntimeError("DistributedDataParallel is not needed when a module doesn't have any parameters that require a gradient.")
        self.module, self.dim, self.device_ids, self.output_device = module, dim, device_ids, output_device
        self.broadcast_buffers, self.find_unused_parameters = broadcast_buffers, find_unused_parameters
        self.gradient_as_bucket_view, self.static_graph = gradient_as_bucket_view, static_graph
        self.require_backward_grad_sync = True

    broadcast_buffers = True

    def scatter(self, inputs, kwargs, device_ids):
        """The arguments' parts for each device."""
        return scatter_kwargs(inputs, kwargs, device_ids, self.dim)

    def to_kwargs(self, inputs, kwargs, device_id):
        """The arguments, as for one device: ((inputs,), (kwargs,))."""
        return (inputs,), (kwargs,)

    def gather(self, outputs, output_device):
        """The results as one."""
        return gather(outputs, output_device, self.dim)

    def will_sync_module_buffers(self):
        """Whether the next call sends buffers to other processes, of which there are none."""
        return False

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)

    @contextlib.contextmanager
    def no_sync(self):
        """Inside, gradients are not averaged; with one process they never are."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def join(self, divide_by_initial_world_size=True, enable=True, throw_on_early_termination=False):
        """A context for uneven inputs: one process is always even."""
        return contextlib.nullcontext(self)

    def register_comm_hook(self, state, hook):
        """Let each gradient that is complete pass through hook(state, bucket), which gives a Future of it. A bucket holds one parameter's.

        TypeError for what is not callable, RuntimeError where a hook was registered, as in PyTorch.
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self.__dict__.get("_hooked"):
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self.__dict__["_hooked"] = True
        wanted = [p for p in self.module.parameters() if p.requires_grad]

        def passed(p, k):
            if not self.require_backward_grad_sync:
                return
            bucket = dist.GradBucket(k, k == len(wanted) - 1, [p])
            made = hook(state, bucket).wait()
            with no_grad():
                p.grad.copy_((made[0] if isinstance(made, (list, tuple)) else made).view(p.grad.shape))
        for k, p in enumerate(wanted):
            p.register_post_accumulate_grad_hook(lambda p, k=k: passed(p, k))
