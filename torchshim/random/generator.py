"""torch.Generator and the default generator."""
from __future__ import annotations

import contextlib

import numpy as np

from ..autograd.levels import innermost_vmap
from ..engine import context
from ..tensor.core.device import device as torch_device
from ..tensor.core.tensor import Tensor, tensor_from
from .streams import Stream


_WITH_GENERATOR = ("cpu", "cuda", "mps", "xpu", "xla", "mtia", "hpu", "privateuseone")


class Generator:
    """A source of random numbers: PyTorch's CPU stream, bit for bit.

    On other devices the same stream is drawn on the host.
    """
    __module__ = "torchshim"

    def __init__(self, device="cpu"):
        self.device = torch_device(device)
        if self.device.type not in _WITH_GENERATOR:
            raise RuntimeError(f"{self.device.type.upper()} device type not an accelerator.")
        self.stream = Stream()

    def manual_seed(self, seed):
        """Restart from a seed in [-2**63, 2**64); returns the generator."""
        if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
            raise RuntimeError(f"manual_seed expected a long, but got {type(seed).__name__}")
        self.stream.manual_seed(seed)
        return self

    def seed(self):
        """Restart from a seed of the operating system's, which is returned."""
        return self.stream.seed()

    def initial_seed(self):
        """The seed last given."""
        return self.stream.initial_seed()

    def get_state(self):
        """The state as a tensor of 5,056 bytes."""
        return tensor_from(np.frombuffer(self.stream.get_state(), np.uint8).copy())

    def set_state(self, new_state):
        """Continue from a state that get_state gave."""
        if not isinstance(new_state, Tensor) or new_state.dtype.name != "uint8":
            raise TypeError("RNG state must be a torch.ByteTensor")
        self.stream.set_state(new_state.numpy().tobytes())
        return self

    def clone_state(self):
        """An independent generator in the same state."""
        g = Generator(self.device)
        g.stream = self.stream.clone()
        return g

    def graphsafe_get_state(self):
        """An independent generator in the same state."""
        return self.clone_state()

    def get_offset(self):
        raise RuntimeError("CPU Generator does not use offset")

    def set_offset(self, offset):
        raise RuntimeError("CPU Generator does not use offset")

    def __reduce__(self):
        return _rebuild, (str(self.device), self.stream.get_state())

    def __repr__(self):
        return f"<torch._C.Generator object at {id(self):#x}>"


def _rebuild(device, state):
    g = Generator(device)
    g.stream.set_state(state)
    return g


default_generator = Generator()
default_generator.seed()


def stream(generator=None):
    """The stream behind a generator argument."""
    level = innermost_vmap() if "transform" in context.modes else None
    if level is not None and level.randomness == "error":
        raise RuntimeError("vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
                           "randomness flags on vmap or perform the randomness operation out of vmap")
    if generator is None:
        return default_generator.stream
    if not isinstance(generator, Generator):
        raise TypeError(f"argument 'generator' must be torch.Generator, not {type(generator).__name__}")
    return generator.stream


def manual_seed(seed):
    """Seed the default generator; returns it."""
    default_generator.stream.manual_seed(int(seed))
    return default_generator


def seed():
    """Seed the default generator from the operating system; returns the seed."""
    return default_generator.seed()


def initial_seed():
    """The default generator's seed."""
    return default_generator.initial_seed()


def get_rng_state():
    """The default generator's state as a tensor of bytes."""
    return default_generator.get_state()


def set_rng_state(new_state):
    """Continue the default generator from a state."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True, _caller="fork_rng", _devices_kw="devices", device_type="cuda"):
    """Inside, random numbers may be drawn freely: the default generator's state is restored at the end."""
    if not enabled:
        yield
        return
    before = default_generator.stream.get_state()
    try:
        yield
    finally:
        default_generator.stream.set_state(before)
