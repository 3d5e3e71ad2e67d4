"""DataParallel: a module over several GPUs. XLA spreads one program by sharding, so that this wrapper only calls the module."""
from __future__ import annotations

from ..modules.module import Module


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


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """`module(*inputs, **module_kwargs)`; see `DataParallel`."""
    if device_ids is not None and len(device_ids) > 1:
        raise NotImplementedError("torchshim: data_parallel over several devices")
    inputs = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    return module(*inputs, **(module_kwargs or {}))
