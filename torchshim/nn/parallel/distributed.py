"""DistributedDataParallel: a module of which each process has a copy, with the gradients' means over all processes."""
from __future__ import annotations

import contextlib

from ... import distributed as dist
from ...autograd.grad_mode import is_grad_enabled, no_grad
from ...distributed._buckets import Reducer
from ...distributed._names import more
from ..modules.module import Module
from .scatter_gather import gather, scatter_kwargs


class DistributedDataParallel(Module):
    """Calls `module`, whose parameters' names begin with "module.". Its parameters and buffers are those of the group's first process;
    the gradients of a backward are their means over the group. broadcast_buffers: each call takes the first process's buffers.

    ValueError without a process group (`init_process_group`), RuntimeError for a module without parameters that want gradients, or whose
    parameters differ in number or shape between processes. Options that only change how messages are packed are accepted.
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0, broadcast_buffers=True, init_sync=True, process_group=None,
                 bucket_cap_mb=None, find_unused_parameters=False, check_reduction=False, gradient_as_bucket_view=False, static_graph=False,
                 delay_all_reduce_named_params=None, param_to_hook_all_reduce=None, mixed_precision=None, device_mesh=None,
                 skip_all_reduce_unused_params=False, bucket_cap_mb_list=None, batched_grad_copy=None, forward_sync_buffers=None):
        super().__init__()
        if process_group is not None and device_mesh is not None:
            raise RuntimeError("Cannot specify both process_group and device_mesh arguments.")
        if device_mesh is not None:
            process_group = device_mesh.get_group(0)
        self.process_group = dist._group.chosen(process_group)
        ignored = set(getattr(module, "_ddp_params_and_buffers_to_ignore", ()))
        named = {p: name for name, p in reversed(list(module.named_parameters())) if p.requires_grad and name not in ignored}
        wanted = list(named)[::-1]
        if not any(p.requires_grad for p in module.parameters()):
            raise RuntimeError("DistributedDataParallel is not needed when a module doesn't have any parameters that require a gradient.")
        self.module, self.dim, self.device_ids, self.output_device = module, dim, device_ids, output_device
        self.broadcast_buffers, self.find_unused_parameters = broadcast_buffers, find_unused_parameters
        self.gradient_as_bucket_view, self.static_graph = gradient_as_bucket_view, static_graph
        self.require_backward_grad_sync = self.require_forward_param_sync = True
        self.parameters_to_ignore = ignored
        self.modules_buffers = [b for name, b in module.named_buffers() if name not in ignored]
        self._ts_reducer, self._ts_settings = None, (wanted, bucket_cap_mb, find_unused_parameters or static_graph)
        if self.process_group.size() > 1:
            if mixed_precision is not None:
                raise more("DistributedDataParallel(mixed_precision=...)")
            if init_sync:
                self._same_shapes(wanted)
                self._from_first([p for name, p in module.named_parameters() if name not in ignored] + self.modules_buffers)
            self._begin()

    broadcast_buffers = True

    def _begin(self):
        wanted, cap, unused = self._ts_settings
        self._ts_reducer = Reducer(wanted, self.process_group, cap, unused)

    def __getstate__(self):
        dist._group.chosen()                   # as in PyTorch, copies and pickles need the group
        return {k: v for k, v in self.__dict__.items() if k not in ("process_group", "_ts_reducer")}

    def __setstate__(self, state):
        super().__setstate__(state)
        self.__dict__["process_group"], self.__dict__["_ts_reducer"] = dist._group.chosen(), None
        if self.process_group.size() > 1:
            self._begin()

    def _same_shapes(self, parameters):
        shapes = [None] * self.process_group.size()
        dist.all_gather_object(shapes, [tuple(p.shape) for p in parameters], group=self.process_group)
        mine = self.process_group.rank()
        for k, theirs in enumerate(shapes):
            if len(theirs) != len(shapes[mine]):
                raise RuntimeError(f"DDP expects same model across all ranks, but Rank {mine} has {len(shapes[mine])} params, while "
                                   f"rank {k} has inconsistent {len(theirs)} params.")
            for n, (a, b) in enumerate(zip(shapes[mine], theirs)):
                if a != b:
                    raise RuntimeError(f"[{mine}]: params[{n}] in this process with sizes {list(a)} appears not to match sizes of the same "
                                       f"param in process {k}.")

    def _from_first(self, tensors):
        for t in tensors:
            dist.broadcast(t.detach(), group=self.process_group, group_src=0)

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
        """Whether the next call takes the buffers of the first process."""
        return self.require_forward_param_sync and self.broadcast_buffers and len(self.modules_buffers) > 0

    def forward(self, *inputs, **kwargs):
        if self._ts_reducer is None:
            return self.module(*inputs, **kwargs)
        if self.process_group.size() > 1 and self.will_sync_module_buffers():
            with no_grad():
                self._from_first(self.modules_buffers)
        averaged = is_grad_enabled() and self.require_backward_grad_sync
        if averaged:
            self._ts_reducer.arm()
        made = self.module(*inputs, **kwargs)
        if not averaged and is_grad_enabled():
            self._ts_reducer.disarm()
        self.require_forward_param_sync = averaged
        return made

    @contextlib.contextmanager
    def no_sync(self):
        """Inside, gradients are not averaged: they accumulate until a call outside has its backward."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def join(self, divide_by_initial_world_size=True, enable=True, throw_on_early_termination=False):
        """A context for uneven inputs, with one process, which is always even. NotImplementedError for more."""
        if enable and self.process_group.size() > 1:
            raise more("DistributedDataParallel.join")
        return contextlib.nullcontext(self)

    def register_comm_hook(self, state, hook):
        """Let the gradients of a backward pass through hook(state, bucket), which gives a Future of them, in place of their averaging.

        TypeError for what is not callable, RuntimeError where a hook was registered, as in PyTorch.
        """
        if not callable(hook):
            raise TypeError("Communication hook must be callable.")
        if self._ts_reducer is None:
            self._begin()
        if self._ts_reducer.hook is not None:
            raise RuntimeError("register_comm_hook or register_builtin_comm_hook can only be called once.")
        self._ts_reducer.hook, self._ts_reducer.state = hook, state
