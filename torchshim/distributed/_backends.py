"""Which backends a process group may have: gloo everywhere, NCCL where there are GPUs, the fake one; the others are not built, as in
PyTorch's own package."""
from __future__ import annotations

import warnings

from ..tensor.core.device import accelerators, current_accelerator, device as _device
from ._names import Backend, BackendConfig

_NOT_BUILT = {
    "nccl": "Distributed package doesn't have NCCL built in",
    "mpi": "Distributed package doesn't have MPI built in. MPI is only included if you build PyTorch from source on a host that has MPI "
           "installed.",
    "xccl": "Distributed package doesn't have XCCL built in"}


def is_available(name):
    """Whether groups can be made with a backend; `name` in small letters."""
    return name in ("gloo", "fake", "undefined") or name == "nccl" and bool(accelerators("cuda"))


def announced(backend):
    """The Backend of a name or None, with torch's warning where it looks up NCCL's timeout in vain."""
    backend = Backend("undefined" if backend is None else backend)
    if backend == "nccl" and not is_available(backend):
        warnings.warn("Attempted to get default timeout for nccl backend, but NCCL support is not compiled", stacklevel=3)
    return backend


def required(backend):
    """The BackendConfig. RuntimeError or AssertionError for a backend that is not built, or that nobody knows."""
    known = backend in Backend.backend_capability or backend == "undefined"
    if not known and ":" not in backend:
        warnings.warn(f"Device capability of {backend} unknown, assuming `cpu` and `cuda`. You can specify it in `device:backend` format in "
                      "`init_process_group` call.", stacklevel=3)
        raise AssertionError(f"Unknown backend type {backend}")
    config = BackendConfig(backend)
    for each in config.device_backend_map.values():
        if is_available(each):
            continue
        if each in _NOT_BUILT:
            raise RuntimeError(_NOT_BUILT[each])
        raise AssertionError(f"Unknown c10d backend type {each.upper()}")
    return config


def check_device(device):
    """Refuse a group bound to a device that is no accelerator of this machine."""
    accelerator = current_accelerator()
    if isinstance(device, int):
        if accelerator is None:
            raise ValueError("device_id is an int, but no accelerator support is found from the current compilation. Please use a different "
                             "compiled version that supports your accelerator.")
        device = _device(accelerator.type, device)
    if device.type == "cpu":
        raise ValueError("init_process_group device_id parameter must be an accelerator with an index")
    if accelerator is None or device.type != accelerator.type:
        raise ValueError(f"device_id {device} does not match the current compilation's accelerator support: {accelerator}. Please use a "
                         "different compiled version that supports your accelerator.")
    if device.index is None:
        raise ValueError("Please use a device_id with index.")
    count = len(accelerators(device.type))
    if device.index >= count:
        raise ValueError(f"device_id {device} is out of range. Please use a device index less than the number of accelerators available: "
                         f"{count}.")
