"""torch.Generator and the default generator."""
from __future__ import annotations

import contextlib

import numpy as np

from ..autograd.levels import innermost_vmap
from ..engine import context, is_host
from ..tensor.core.device import accelerators, device as torch_device, from_jax, to_jax
from ..tensor.core.overriding import settle
from ..tensor.core.tensor import Tensor, tensor_from
from .streams import Stream


_WITH_GENERATOR = ("cpu", "cuda", "mps", "xpu", "xla", "mtia", "hpu", "privateuseone")


class Generator:
    """A source of random numbers: PyTorch's CPU stream, bit for bit.

    For other devices such a stream is drawn on the host.
    """
    __module__ = "torchshim._C"
    device: torch_device

    def __init__(self, device="cpu"):
        self.device = torch_device(device)
        if self.device.type not in _WITH_GENERATOR:
            raise RuntimeError(f"{self.device.type.upper()} device type not an accelerator.")
        if self.device.type == "cuda":
            if not accelerators("cuda"):
                raise RuntimeError("Cannot get CUDA generator without ATen_cuda library. PyTorch splits its backend into two shared "
                                   "libraries: a CPU library and a CUDA library; this error has occurred because you are trying to use "
                                   "some CUDA functionality, but the CUDA library has not been loaded by the dynamic linker for some "
                                   "reason. ")
            self.device = from_jax(to_jax(self.device))
        self.stream = Stream()

    def manual_seed(self, seed):
        """Restart from a seed in [-2**63, 2**64); returns the generator."""
        settle()
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
        # (torch's form, so that each reads the other's)
        return Generator, (self.device,), (self.initial_seed(), None, self.get_state())

    def __setstate__(self, state):
        seed, _, words = state                 # (the offset in the middle is CUDA's)
        self.manual_seed(seed)
        self.set_state(words)

    def __repr__(self):
        return f"<torch._C.Generator object at {id(self):#x}>"


default_generator = Generator()
_of: dict = {}                         # the default generators of other JAX devices, made when they are asked for
_seed = default_generator.seed()       # what those that are not made yet begin with


def generator_of(device):
    """The default generator of a JAX device. Each has its own: what is drawn on one does not move another's numbers."""
    if device == "meta" or is_host(device):
        return default_generator
    g = _of.get(device)
    if g is None:
        g = _of[device] = Generator(from_jax(device)).manual_seed(_seed)
    return g


def states():
    """What the default generators would draw next, to be put back with `restore`."""
    return default_generator.stream.get_state(), {d: g.stream.get_state() for d, g in _of.items()}, _seed


def restore(known, devices=None):
    """Let the default generators of the CPU and of these JAX devices (None: all) draw what `states()` stood for."""
    state, others, seed = known
    default_generator.stream.set_state(state)
    for d, g in _of.items():
        if devices is None or d in devices:
            g.stream.set_state(others[d]) if d in others else g.manual_seed(seed)


def check_randomness():
    """Refuse random numbers where vmap says that they are an error."""
    level = innermost_vmap() if "transform" in context.modes else None
    if level is not None:
        refuse_random(level)


def refuse_random(level):
    """The same in one vmap."""
    if level.randomness == "old":
        raise RuntimeError("vmap: We do not yet support calling random operations inside of vmap. Please perform random operations outside "
                           "of vmap as a workaround")
    if level.randomness == "error":
        raise RuntimeError(RANDOM)


RANDOM = ("vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness flags on "
          "vmap or perform the randomness operation out of vmap")


def stream(generator, device):
    """The stream behind a generator argument, for numbers on a JAX device."""
    check_randomness()
    if generator is None:
        return generator_of(device).stream
    if not isinstance(generator, Generator):
        raise TypeError(f"argument 'generator' must be torch.Generator, not {type(generator).__name__}")
    if device != "meta" and generator.device.type != from_jax(device).type:
        raise RuntimeError(f"Expected a '{from_jax(device).type}' device type for generator but found '{generator.device.type}'")
    return generator.stream


def manual_seed(seed):
    """Seed the default generators of all devices; returns the CPU's."""
    settle()
    default_generator.stream.manual_seed(int(seed))
    seed_accelerators(int(seed))
    return default_generator


def seed_accelerators(seed):
    """Seed the default generators of all devices but the CPU."""
    global _seed
    _seed = seed
    for g in _of.values():
        g.manual_seed(seed)


def seed():
    """Seed the default generators from the operating system; returns the seed."""
    settle()
    seed = default_generator.seed()
    seed_accelerators(seed)
    return seed


def initial_seed():
    """The default generator's seed."""
    return default_generator.initial_seed()


def get_rng_state():
    """The default generator's state as a tensor of bytes."""
    settle()
    return default_generator.get_state()


def set_rng_state(new_state):
    """Continue the default generator from a state."""
    settle()
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True, _caller="fork_rng", _devices_kw="devices", device_type="cuda"):
    """Inside, random numbers may be drawn freely: the states of the default generators are restored at the end.

    devices: the accelerators whose states are (numbers or names; default: all); the CPU's is in any case.
    """
    if not enabled:
        yield
        return
    if devices is not None:
        devices = [to_jax(torch_device(device_type, d) if isinstance(d, int) else d) for d in devices]
    before = states()
    try:
        yield
    finally:
        restore(before, devices)
