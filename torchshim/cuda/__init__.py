"""torch.cuda on JAX's GPUs: what is there, memory figures, streams and events, random state.

Without a GPU everything answers as PyTorch without CUDA: `is_available()` is False, counts and figures are 0, and what needs a device
raises. XLA orders its own work, so streams order nothing here: they exist, and waiting for one waits for all work.
"""
from __future__ import annotations

import collections
import time

import jax

from .. import device as _device
from .. import engine as _engine
from ..dropin import missing_attribute as _missing_attribute
from ..random import generator as _random
from ..tensor.core import streams as _streams
from ..tensor.core.device import accelerators as _accelerators, current_cuda as _current, set_current_cuda as _set_current

has_half = True
has_magma = False
OutOfMemoryError = type("OutOfMemoryError", (RuntimeError,), {"__module__": "torch", "__doc__": "A device's memory is used up."})
AcceleratorError = type("AcceleratorError", (RuntimeError,), {"__module__": "torch", "__doc__": "A device failed."})
_DISABLED = "Torch not compiled with CUDA enabled"


def _devices():
    return _accelerators("cuda")


def is_available():
    """Whether JAX has a GPU."""
    return bool(_devices())


def device_count():
    """Number of GPUs that JAX has."""
    return len(_devices())


def is_initialized():
    """Whether there is a GPU that can be used; JAX initialises it when it is first asked."""
    return is_available()


def init():
    """AssertionError without a GPU; else nothing: JAX has initialised it."""
    _lazy_init()


def _lazy_init():
    if not is_available():
        raise AssertionError(_DISABLED)


def _lazy_call(f, **kwargs):
    if is_available():
        f()


def _is_compiled():
    return is_available()


def _is_in_bad_fork():
    return False


def _index(device=None):
    """The number of a GPU given as torch takes it."""
    _lazy_init()
    if device is None:
        return _current()
    if isinstance(device, int):
        k = device
    else:
        d = _device(device)
        if d.type != "cuda":
            raise ValueError(f"Expected a cuda device, but got: {d}")
        k = _current() if d.index is None else d.index
    if not 0 <= k < device_count():
        raise AssertionError("Invalid device id")
    return k


def current_device():
    """The number of the GPU that "cuda" means."""
    _lazy_init()
    return _current()


def set_device(device):
    """Choose the GPU that "cuda" means; a negative number changes nothing."""
    if isinstance(device, int) and device < 0:
        return
    _set_current(_index(device))


class device:
    """A context in which "cuda" means this GPU."""

    def __init__(self, device):
        self.idx = -1 if device is None or not is_available() else _index(device)
        self.prev_idx = -1

    def __enter__(self):
        if self.idx >= 0:
            self.prev_idx = _set_current(self.idx)

    def __exit__(self, *exc):
        if self.prev_idx >= 0:
            _set_current(self.prev_idx)
        return False


class device_of(device):
    """A context in which "cuda" means the GPU of a tensor."""

    def __init__(self, obj):
        super().__init__(obj.get_device() if getattr(obj, "is_cuda", False) else None)


def get_device_name(device=None):
    """The GPU's name, as JAX tells it."""
    return _devices()[_index(device)].device_kind


def get_device_capability(device=None):
    """The GPU's compute capability (major, minor)."""
    major, _, minor = str(getattr(_devices()[_index(device)], "compute_capability", "0.0")).partition(".")
    return int(major), int(minor or 0)


class _CudaDeviceProperties:
    """name, major, minor, total_memory (bytes), multi_processor_count."""

    def __init__(self, k):
        d = _devices()[k]
        self.name = d.device_kind
        self.major, self.minor = get_device_capability(k)
        self.total_memory = (d.memory_stats() or {}).get("bytes_limit", 0)
        self.multi_processor_count = getattr(d, "core_count", 0)

    def __repr__(self):
        return (f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
                f"total_memory={self.total_memory // 2 ** 20}MB, multi_processor_count={self.multi_processor_count})")


def get_device_properties(device=None):
    """What is known of a GPU; see `_CudaDeviceProperties`."""
    return _CudaDeviceProperties(_index(device))


def can_device_access_peer(device, peer_device):
    """Whether two GPUs reach each other's memory: JAX does not tell, so False."""
    _index(device), _index(peer_device)
    return False


def get_arch_list():
    """No compiled kernels of torch's are here."""
    return []


def get_gencode_flags():
    return ""


def is_bf16_supported(including_emulation=True):
    """Whether a GPU computes in bfloat16; XLA always can."""
    return is_available()


def is_tf32_supported():
    """Whether the GPU has tensor-float units (compute capability 8)."""
    return is_available() and get_device_capability()[0] >= 8


def synchronize(device=None):
    """Compute everything recorded so far and wait for it."""
    _index(device)
    _engine.flush()
    for d in _devices():
        jax.device_put(0, d).block_until_ready()


def ipc_collect():
    """Nothing to collect."""


def empty_cache():
    """Let go of memory that nothing uses: XLA's allocator does so by itself, this only drops Python's garbage."""
    if is_available():
        import gc
        gc.collect()


# -- memory ------------------------------------------------------------------------------------------------------------------
def memory_stats(device=None):
    """XLA's allocator's figures under torch's names, in bytes; an empty dict without a GPU."""
    if not is_available():
        return collections.OrderedDict()
    s = _devices()[_index(device)].memory_stats() or {}
    now, peak, pool = s.get("bytes_in_use", 0), s.get("peak_bytes_in_use", 0), s.get("pool_bytes",
                                                                                     s.get("bytes_reserved", s.get("bytes_in_use", 0)))
    return collections.OrderedDict({
        "allocated_bytes.all.current": now, "allocated_bytes.all.peak": peak, "reserved_bytes.all.current": pool,
        "reserved_bytes.all.peak": s.get("peak_pool_bytes", max(pool, peak)), "num_alloc_retries": 0, "num_ooms": 0})


def memory_stats_as_nested_dict(device=None):
    """The same, nested by the parts of the names."""
    out = {}
    for k, v in memory_stats(device).items():
        *path, leaf = k.split(".")
        d = out
        for p in path:
            d = d.setdefault(p, {})
        d[leaf] = v
    return out


def memory_allocated(device=None):
    """Bytes that arrays take on the GPU; 0 without one."""
    return memory_stats(device).get("allocated_bytes.all.current", 0)


def max_memory_allocated(device=None):
    """The most that it was, since the process began: XLA does not reset it."""
    return memory_stats(device).get("allocated_bytes.all.peak", 0)


def memory_reserved(device=None):
    """Bytes that XLA's allocator holds."""
    return memory_stats(device).get("reserved_bytes.all.current", 0)


def max_memory_reserved(device=None):
    """The most that it held."""
    return memory_stats(device).get("reserved_bytes.all.peak", 0)


memory_cached, max_memory_cached = memory_reserved, max_memory_reserved


def reset_peak_memory_stats(device=None):
    """XLA's peak figures can't be reset: they go on counting from the process's start."""
    if is_available():
        _index(device)


reset_accumulated_memory_stats = reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def mem_get_info(device=None):
    """(free, total) bytes of the GPU."""
    s = _devices()[_index(device)].memory_stats() or {}
    total = s.get("bytes_limit", 0)
    return total - s.get("bytes_in_use", 0), total


def memory_summary(device=None, abbreviated=False):
    """The figures of `memory_stats` as text."""
    return "\n".join(f"{k}: {v}" for k, v in memory_stats(device).items())


def memory_snapshot(mempool_id=None, include_traces=True):
    """XLA tells nothing of single blocks."""
    return []


def list_gpu_processes(device=None):
    """XLA tells nothing of other processes."""
    return "torchshim does not see other processes"


def set_per_process_memory_fraction(fraction, device=None):
    """XLA takes its share when it starts: set XLA_PYTHON_CLIENT_MEM_FRACTION before that."""
    raise NotImplementedError("torchshim: set XLA_PYTHON_CLIENT_MEM_FRACTION in the environment instead")


# -- streams and events ------------------------------------------------------------------------------------------------------
class Stream(_streams.Stream):
    """A queue of work. XLA orders work by what it needs, so this one orders nothing; `synchronize` waits for everything."""
    __module__ = "torchshim.cuda.streams"
    cuda_stream = native_handle = 0

    def __new__(cls, device=None, priority=0, **kwargs):
        if not is_available():
            raise RuntimeError(f"torch.cuda.{cls.__name__} requires CUDA support")
        self = object.__new__(cls)
        self.device, self.priority = _device("cuda", _index(device)), priority
        return self

    def record_event(self, event=None):
        """An Event after what was recorded so far."""
        event = event or Event()
        event.record(self)
        return event

    def __repr__(self):
        return f"<torch.cuda.Stream device=cuda:{self.device_index} cuda_stream=0x0>"


ExternalStream = Stream


class Event(_streams.Event):
    """A moment: `record` waits for the work so far, `elapsed_time` gives milliseconds between two of them."""
    __module__ = "torchshim.cuda.streams"

    def __new__(cls, enable_timing=False, blocking=False, interprocess=False, external=False):
        if not is_available():
            raise RuntimeError("Tried to instantiate dummy base class Event")
        return _streams.Event.__new__(cls, _device("cuda", _index(None)), enable_timing=enable_timing)

    def __repr__(self):
        return f"<torch.cuda.Event {'initialized' if self._at else 'uninitialized'}>"


def current_stream(device=None):
    """The only stream there is."""
    _lazy_init()
    return Stream(device)


default_stream = current_stream


def set_stream(stream):
    """All streams are one."""


class StreamContext:
    """A context for a stream; None changes nothing."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        return self.stream

    def __exit__(self, *exc):
        return False


def stream(stream):
    """A context for a stream: it changes nothing."""
    return StreamContext(stream)


def is_current_stream_capturing():
    """Nothing is captured."""
    return False


def _no_graphs(*args, **kwargs):
    raise NotImplementedError("torchshim: CUDA graphs; what repeats becomes one XLA program by itself")


graph_pool_handle = make_graphed_callables = _no_graphs


class CUDAGraph:
    """NotImplementedError when made, and so from its methods."""
    __module__ = "torchshim.cuda.graphs"
    __new__ = _no_graphs
    replay = pool = capture_begin = capture_end = debug_dump = enable_debug_mode = get_graph_data = instantiate = reset = _no_graphs
    raw_cuda_graph = raw_cuda_graph_exec = _no_graphs


class graph:
    """NotImplementedError when made."""
    __module__ = "torchshim.cuda.graphs"
    default_capture_stream = None
    __new__ = _no_graphs


# -- random state --------------------------------------------------------------------------------------------------------------
def _generator(device=None):
    return _random.generator_of(_devices()[_index(device)])


def manual_seed(seed):
    """Seed the stream of the GPU that "cuda" means, once there is one."""
    if is_available():
        _generator().manual_seed(int(seed))


def manual_seed_all(seed):
    """Seed the streams of all GPUs."""
    _random.seed_accelerators(int(seed))


def seed():
    """Seed the current GPU's stream from the operating system."""
    if is_available():
        _generator().seed()


def seed_all():
    """Seed the streams of all GPUs, alike, from the operating system."""
    if is_available():
        manual_seed_all(_generator().seed())


def initial_seed():
    """The seed of the current GPU's stream."""
    _lazy_init()
    return _generator().initial_seed()


def get_rng_state(device="cuda"):
    """The state of a GPU's stream: numbers for it are drawn on the host, from a stream like the CPU's."""
    _lazy_init()
    return _generator(device).get_state()


def set_rng_state(new_state, device="cuda"):
    """Put a state back."""
    _lazy_init()
    _generator(device).set_state(new_state)


def get_rng_state_all():
    """One state for each GPU; an empty list without any."""
    return [get_rng_state(k) for k in range(device_count())]


def set_rng_state_all(new_states):
    """Put the states back, one for each GPU."""
    for k, state in enumerate(new_states):
        set_rng_state(state, k)


def current_blas_handle():
    raise NotImplementedError("torchshim: there are no cuBLAS handles")


def cudart():
    """The CUDA runtime's functions are not there."""
    _lazy_init()
    raise NotImplementedError("torchshim: torch.cuda.cudart")


def utilization(device=None):
    raise NotImplementedError("torchshim: torch.cuda.utilization")


def get_sync_debug_mode():
    return 0


def set_sync_debug_mode(debug_mode):
    """Accepted: nothing waits without being asked to."""


_MODULES = frozenset("amp comm gds graphs green_contexts jiterator memory nccl nvtx profiler random sparse streams tunable".split())
_RARE = frozenset("""MemPool CUDAPluggableAllocator caching_allocator_alloc caching_allocator_delete caching_allocator_disabled
    caching_allocator_enable change_current_allocator get_allocator_backend get_stream_from_external current_solver_handle use_mem_pool
    get_per_process_memory_fraction clock_rate device_memory_used memory_usage power_draw temperature host_memory_stats
    host_memory_stats_as_nested_dict reset_peak_host_memory_stats reset_accumulated_host_memory_stats cudaStatus CudaError
    DeferredCudaCallError check_error BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage ComplexFloatStorage
    DoubleStorage FloatStorage HalfStorage IntStorage LongStorage ShortStorage""".split())


def __getattr__(name):
    if name == "default_generators":
        return tuple([_generator(k) for k in range(device_count())])
    if name == "_initialized":
        return is_initialized()
    import importlib
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name == "GreenContext":
        return importlib.import_module(f"{__name__}.green_contexts").GreenContext
    if name in _RARE:
        return getattr(importlib.import_module(f"{__name__}._rare"), name)
    from ..tensor.api.convert import CUDA_TENSORS
    return CUDA_TENSORS[name] if name in CUDA_TENSORS else _missing_attribute(__name__)(name)
