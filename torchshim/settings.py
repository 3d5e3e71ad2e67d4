"""Switches of the whole process: threads, the precision of float32 products, warnings, denormal numbers."""
import os

from .engine import context, pool as _pool, warn
from .engine.record import trie as _trie
from .ops import promotion as _promotion
from .tensor.core import settings as _shared

_PRECISIONS = ("highest", "high", "medium")
_threads = _interop_threads = None


def get_float32_matmul_precision():
    """How float32 matrix products may round: "highest" (float32), "high" (TensorFloat32 or the like) or "medium" (bfloat16)."""
    return _promotion.matmul_precision


def set_float32_matmul_precision(precision):
    """Let float32 matrix products round more, where the device is faster for it: JAX's precisions HIGHEST, HIGH and DEFAULT. CPUs always
    compute in float32."""
    if precision not in _PRECISIONS:
        warn(f"{precision} is not one of 'highest', 'high', or 'medium'; the currentsetFloat32MatmulPrecision call has no effect.")
        return
    _change("matmul_precision", precision)


def _change(name, value):
    """Set what decides what operators compute: what is recorded from now on are other traces."""
    context.trace.flush()
    setattr(_promotion, name, value)
    _trie.epoch = _promotion.settings()
    context.trace.flush()


def conv_may_round():
    """Whether float32 convolutions may use TensorFloat32, where the device has it."""
    return _promotion.conv_tf32


def let_conv_round(allowed):
    """Let float32 convolutions use TensorFloat32, or not."""
    if not isinstance(allowed, bool):
        raise RuntimeError(f"set_allow_tf32_cublas expects a bool, but got {type(allowed).__name__}")
    if allowed is not _promotion.conv_tf32:
        _change("conv_tf32", allowed)


def _processors():
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


def get_num_threads():
    """Threads for operators on the CPU: what set_num_threads was told, else the processors that this process may use, or fewer where
    MKL_NUM_THREADS or OMP_NUM_THREADS says so."""
    if _threads:
        return _threads
    told = [int(n) for n in (os.environ.get("MKL_NUM_THREADS", ""), os.environ.get("OMP_NUM_THREADS", "")) if n.isdecimal() and int(n)]
    return min([*told[:1], _processors()])


def set_num_threads(num, /):
    """No more threads for what is interpreted. XLA's pool is made when it starts (XLA_FLAGS) and does not change."""
    global _threads
    _threads = _positive("set_num_threads", num)
    _pool.limit(_threads)


def get_num_interop_threads():
    """What set_num_interop_threads was told, else the processors that this process may use."""
    return _interop_threads or _processors()


def set_num_interop_threads(num, /):
    """Remembered and reported; programs run one after the other."""
    global _interop_threads
    _interop_threads = _positive("set_num_interop_threads", num)


def _positive(name, num):
    if not isinstance(num, int) or isinstance(num, bool):
        raise RuntimeError(f"{name} expects an int, but got {type(num).__name__}")
    if num >= 2 ** 63:
        raise ValueError("Overflow when unpacking long long")
    if num < 1:
        raise RuntimeError(f"{name} expects a positive integer")
    return num


def set_flush_denormal(mode, /):
    """Whether denormal numbers could be set to count as zero: always False, they keep their values."""
    if not isinstance(mode, bool):
        raise TypeError(f"flush_denormal expects a bool, but got {type(mode).__name__}")
    return False


def is_warn_always_enabled():
    """Whether warnings that come once in a process come each time."""
    return _shared.warn_always


def set_warn_always(b, /):
    """Whether warnings that come once in a process come each time from now on."""
    _shared.warn_always = b


def compiled_with_cxx11_abi():
    """As in torch's builds."""
    return True
