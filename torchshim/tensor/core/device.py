"""torch.device on JAX's devices."""
from __future__ import annotations

import re
import threading

import jax

from ...engine import default_device, device_name, is_host

_TYPES = ("cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy",
          "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone", "tpu")


_UNFIT = ("device() received an invalid combination of arguments - got (), but expected one of:\n * (torch.device device)\n"
          " * (str type, int index = -1)\n")


class device:
    """A device: `torch.device("cuda:0")`, `torch.device("cuda", 0)`, or a context in which new tensors are made there."""
    __module__ = "torchshim"
    __slots__ = ("type", "index")

    def __init__(self, type=None, index=None):
        if type is None:
            raise TypeError(_UNFIT)
        if isinstance(type, device):
            type, index = type.type, type.index
        elif isinstance(type, int):
            if not accelerators("cuda"):
                raise RuntimeError("Cannot access accelerator device when none is available.")
            type, index = "cuda", type
        elif not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str, not {type.__class__.__name__}")
        elif index is None:
            m = re.fullmatch(r"([a-zA-Z_]+)(?::(0|[1-9]\d*))?", type)
            if not type:
                raise RuntimeError("Device string must not be empty")
            if not m:
                raise RuntimeError(f"Invalid device string: '{type}'")
            type, index = m[1], int(m[2]) if m[2] else None
        if type not in _TYPES:
            raise RuntimeError(f"Expected one of {', '.join(t for t in _TYPES if t != 'tpu')} device type at start of device string: "
                               f"{type}")
        if index is not None and index < 0:
            raise RuntimeError("Device index must not be negative")
        self.type, self.index = type, index

    def __repr__(self):
        return f"device(type='{self.type}'" + (f", index={self.index})" if self.index is not None else ")")

    def __str__(self):
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other):
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self):
        return hash((self.type, self.index))

    def __reduce__(self):
        return device, (self.type,) if self.index is None else (self.type, self.index)

    def __enter__(self):
        _thread.devices.append(self)
        return self

    def __exit__(self, *exc):
        _thread.devices.pop()


class _Thread(threading.local):
    """Where this thread makes new tensors: what set_default_device said, then the open `with torch.device(...)`. And the number of the
    GPU that "cuda" means."""

    def __init__(self):
        self.devices = [None]
        self.cuda = 0


_thread = _Thread()


_device = device


def set_default_device(device):
    """Where new tensors are made."""
    _thread.devices[-1] = None if device is None else _device(device)


def get_default_device():
    """Where new tensors are made."""
    return _thread.devices[-1] or device("cpu")


def accelerators(kind):
    """JAX's devices of a torch device type, an empty list where it has none."""
    platform = {"cuda": "gpu", "xla": "tpu"}.get(kind, kind)
    try:
        return jax.devices(platform)
    except RuntimeError:
        return []


def current_accelerator():
    """`device("cuda")` where JAX has a GPU, `device("tpu")` where it has a TPU, else None."""
    return next((device(kind) for kind in ("cuda", "tpu") if accelerators(kind)), None)


def to_jax(d):
    """The JAX device behind a torch device, device string or None; "meta" stands for itself."""
    if d is None:
        d = _thread.devices[-1]
        if d is None:
            return default_device()
    elif not isinstance(d, device):
        d = device(d)
    if d.type == "cpu":
        return default_device()
    if d.type == "meta":
        return "meta"
    found = accelerators(d.type)
    if not found:
        if d.type == "cuda":
            raise AssertionError("Torch not compiled with CUDA enabled")
        raise RuntimeError(f"torchshim: JAX has no {d.type} device here")
    index = d.index if d.index is not None else _thread.cuda if d.type == "cuda" else 0
    if index >= len(found):
        raise RuntimeError(f"{d.type.upper()} error: invalid device ordinal")
    return found[index]


def current_cuda():
    """The number of the GPU that "cuda" means in this thread."""
    return _thread.cuda


def set_current_cuda(index):
    """Let "cuda" mean another GPU; returns the number it meant."""
    before, _thread.cuda = _thread.cuda, index
    return before


def same_device(a, b):
    """Refuse tensors of two JAX devices; "meta" is looked at elsewhere."""
    if a is not b and a != "meta" and b != "meta":
        first, second = (b, a) if is_host(a) else (a, b)
        raise RuntimeError("Expected all tensors to be on the same device, but found at least two devices, "
                           f"{device_name(first)} and {device_name(second)}!")


def from_jax(d):
    """The torch device of a JAX device."""
    return device(device_name(d))
