"""DataParallel: a module over several GPUs. XLA spreads one program by sharding, so that this wrapper only calls the module."""
from __future__ import annotations

from ..modules.module import Module
from .scatter_gather import gather, scatter_kwargs


class DataParallel(Module):
    """Calls `module`, as PyTorch's wrapper does where there is no more than one device. The module is `.module`, and its
    parameters' names begin with it. NotImplementedError for several `device_ids`."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        if device_ids is not None and len(device_ids) > 1:
            raise NotImplementedError("torchshim: DataParallel over several devices")
        self.module, self.dim = module, dim
        self.device_ids = []

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)

    def replicate(self, module, device_ids):
        """One replica of `module` for each device."""
        return replicate(module, device_ids)

    def scatter(self, inputs, kwargs, device_ids):
        """The arguments' parts for each device."""
        return scatter_kwargs(inputs, kwargs, device_ids, self.dim)

    def parallel_apply(self, replicas, inputs, kwargs):
        """What the replicas make of their inputs."""
        return parallel_apply(replicas, inputs, kwargs, self.device_ids[:len(replicas)])

    def gather(self, outputs, output_device):
        """The results as one."""
        return gather(outputs, output_device, self.dim)


def replicate(network, devices, detach=False):
    """Modules that compute with the parameters of `network`; NotImplementedError for more than one device."""
    if len(devices) > 1:
        raise NotImplementedError("torchshim: replicas of a module on several devices")
    replica = network._replicate_for_data_parallel()
    for name, p in network._parameters.items():
        replica.__dict__[name] = p.detach() if detach and p is not None else p
    for name, child in network._modules.items():
        replica._modules[name] = None if child is None else replicate(child, devices, detach)[0]
    return [replica]


def parallel_apply(modules, inputs, kwargs_tup=None, devices=None):
    """[module(*input, **kwargs)] for each module in turn."""
    if len(modules) != len(inputs):
        raise AssertionError(f"The number of modules {len(modules)} is not equal to the number of inputs {len(inputs)}")
    kwargs_tup = kwargs_tup or [{}] * len(modules)
    return [m(*(x if isinstance(x, (tuple, list)) else (x,)), **k) for m, x, k in zip(modules, inputs, kwargs_tup)]


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """`module(*inputs, **module_kwargs)`; see `DataParallel`."""
    if device_ids is not None and len(device_ids) > 1:
        raise NotImplementedError("torchshim: data_parallel over several devices")
    inputs = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    return module(*inputs, **(module_kwargs or {}))
