"""torch.device on JAX's devices."""
from __future__ import annotations

import functools
import re
import threading

import jax

from ...engine import default_device, device_name, is_host

_TYPES = ("cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia", "xla", "lazy",
          "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone", "tpu")


def refusal(args, kwargs):
    """torch's TypeError for what no device is made of, else None."""
    from ..api.signatures import refusal as refused
    return refused("device", args, kwargs)


class device:
    """A device: `torch.device("cuda:0")`, `torch.device("cuda", 0)`, or a context in which new tensors are made there."""
    __module__ = "torchshim"
    __slots__ = ("type", "index")

    def __init__(self, *args, **kwargs):
        kind, index = args if len(args) == 2 else (*args, None) if len(args) == 1 else (None, None)
        if kwargs:
            kind, index = kwargs.get("type", kwargs.get("device", kind)), kwargs.get("index", index)
        if kwargs or kind.__class__ is not str or index.__class__ not in (int, type(None)):
            error = refusal(args, {k: x for k, x in kwargs.items() if k != "index" or x is not None})
            if error is not None:
                raise error
        if isinstance(kind, device):
            kind, index = kind.type, kind.index
        elif not isinstance(kind, str):
            if not accelerators("cuda"):
                raise RuntimeError("Cannot access accelerator device when none is available.")
            kind, index = "cuda", kind
        elif index is None:
            m = re.fullmatch(r"([a-zA-Z_]+)(?::(0|[1-9]\d*))?", kind)
            if not kind:
                raise RuntimeError("Device string must not be empty")
            if not m:
                raise RuntimeError(f"Invalid device string: '{kind}'")
            kind, index = m[1], m[2]
        elif ":" in kind:
            raise RuntimeError(f"type (string) must not include an index because index was passed explicitly: {kind}")
        if kind not in _TYPES:
            raise RuntimeError(f"Expected one of {', '.join(t for t in _TYPES if t != 'tpu')} device type at start of device string: "
                               f"{kind}")
        self.type, self.index = kind, None if index is None else int(index)
        if index is not None and self.index < 0:
            raise RuntimeError("Device index must not be negative")

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
    return _named(device_name(d))


_named = functools.cache(device)
