"""Names of torch.cuda that programs use rarely: memory pools, figures of the driver, errors, old storages."""
from __future__ import annotations

import collections
import contextlib

from . import _lazy_init, _refused, is_available

_OF_DRIVER = "nvidia-ml-py does not seem to be installed or it can't be imported."
_DUMMY = "Tried to instantiate dummy base class {}"

MemPool = _refused.kind("torch.cuda", "MemPool", ("snapshot", "use_count"), _DUMMY.format("MemPool"))
MemPool.id = property(_refused.function("torch.cuda", "MemPool.id"))
CUDAPluggableAllocator = _refused.kind("torch.cuda", "CUDAPluggableAllocator")
caching_allocator_alloc, get_stream_from_external, current_solver_handle = [
    _refused.function("torch.cuda", n) for n in ("caching_allocator_alloc", "get_stream_from_external", "current_solver_handle")]
caching_allocator_delete, change_current_allocator, get_allocator_backend = [
    _refused.function("torch.cuda", n) for n in ("caching_allocator_delete", "change_current_allocator", "get_allocator_backend")]


def caching_allocator_enable(value=True):
    """NotImplementedError for False where there is a GPU: XLA's memory is kept for the next use by its own rules."""
    if is_available() and not value:
        raise NotImplementedError("torchshim: torch.cuda.caching_allocator_enable(False); see XLA_PYTHON_CLIENT_ALLOCATOR")


@contextlib.contextmanager
def caching_allocator_disabled():
    """A context in which memory that is freed is given back at once; see `caching_allocator_enable`."""
    caching_allocator_enable(False)
    yield


@contextlib.contextmanager
def use_mem_pool(pool, device=None):
    """A context in which memory is taken from a MemPool, of which there can be none."""
    MemPool()
    yield


def get_per_process_memory_fraction(device=None):
    """NotImplementedError; XLA_PYTHON_CLIENT_MEM_FRACTION tells JAX how much memory to take."""
    _lazy_init()
    raise NotImplementedError("torchshim: torch.cuda.get_per_process_memory_fraction; see XLA_PYTHON_CLIENT_MEM_FRACTION")


def _of_driver(name):
    def refuse(device=None):
        if is_available():
            raise NotImplementedError(f"torchshim: torch.cuda.{name}; see nvidia-smi")
        raise ModuleNotFoundError(_OF_DRIVER)
    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = ("What NVIDIA's driver measures is not asked: ModuleNotFoundError without a GPU, as in PyTorch, else "
                      "NotImplementedError.")
    return refuse


clock_rate, device_memory_used, memory_usage, power_draw, temperature = map(
    _of_driver, ("clock_rate", "device_memory_used", "memory_usage", "power_draw", "temperature"))


def host_memory_stats():
    """{}: no host memory is pinned."""
    return collections.OrderedDict()


def host_memory_stats_as_nested_dict():
    """{}: no host memory is pinned."""
    return {}


def reset_peak_host_memory_stats():
    """Nothing to reset."""


reset_accumulated_host_memory_stats = reset_peak_host_memory_stats


class cudaStatus:
    """Numbers of the CUDA runtime."""
    SUCCESS = 0
    ERROR_NOT_READY = 34


class CudaError(RuntimeError):
    """An error of the CUDA runtime, by its number."""

    def __init__(self, code):
        super().__init__(f"CUDA error ({code})")


class DeferredCudaCallError(Exception):
    """An error of a call that waited for CUDA."""


def check_error(res):
    """CudaError unless the number means success."""
    if int(res) != cudaStatus.SUCCESS:
        raise CudaError(int(res))


def _storage(name):
    def refuse(cls, *args, **kwargs):
        if not is_available():
            _lazy_init()
        raise NotImplementedError(f"torchshim: torch.cuda.{name}; torch.{name}(…).cuda() makes one of a storage of the host")
    return type(name, (), {"__new__": refuse, "__module__": "torch.cuda", "dtype": property(lambda self: None),
                           "__doc__": f"torch.{name} on a GPU; making one refuses."})


STORAGES = {n: _storage(n) for n in """BFloat16Storage BoolStorage ByteStorage CharStorage ComplexDoubleStorage ComplexFloatStorage
    DoubleStorage FloatStorage HalfStorage IntStorage LongStorage ShortStorage""".split()}
globals().update(STORAGES)
