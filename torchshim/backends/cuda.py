"""torch.backends.cuda: switches of NVIDIA's libraries. What TensorFloat32 may be used for decides what is computed; others are kept."""
import contextlib as _contextlib
import warnings as _warnings
from enum import Enum as _Enum

from .. import settings as _settings
from ..nn.functional.attention import allowed as _sdp
from ..tensor.core.device import accelerators as _accelerators
from .switches import Rounding as _Rounding


class SDPBackend(_Enum):
    """The kernels of attention, by torch's numbers."""
    __module__ = "torchshim.nn.attention"      # where torch has it, and pickles look for it
    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __int__(self):
        return self.value

    __index__ = __int__


class _Matmul(_Rounding):
    @property
    def allow_tf32(self):
        """Whether float32 products may use TensorFloat32: what torch.set_float32_matmul_precision says in other words."""
        return _settings.get_float32_matmul_precision() != "highest"

    @allow_tf32.setter
    def allow_tf32(self, allowed):
        if not isinstance(allowed, bool):
            raise RuntimeError(f"set_allow_tf32_cublas expects a bool, but got {type(allowed).__name__}")
        self.fp32_precision = "tf32" if allowed else "ieee"


def _let_matmul_round(allowed):
    if allowed is not matmul.allow_tf32:
        _settings.set_float32_matmul_precision("high" if allowed else "highest")


matmul = _Matmul(lambda: matmul.allow_tf32, _let_matmul_round, allow_fp16_reduced_precision_reduction=True,
                 allow_bf16_reduced_precision_reduction=True, allow_fp16_accumulation=False)
_preferred = {"linalg": "default", "blas": "default", "rocm_fa": "default"}


def is_built():
    """Whether JAX has a GPU."""
    return bool(_accelerators("cuda"))


class cuFFTPlanCache:
    """XLA keeps its own plans: nothing is cached here."""
    size, max_size = 0, 0

    def __init__(self, device_index=None):
        self.device_index = device_index

    def clear(self):
        """Nothing to clear."""


cufft_plan_cache = cuFFTPlanCache()


class cuFFTPlanCacheAttrContextProp:
    """A property of a plan cache: read by one function, written by another, if any."""

    def __init__(self, getter, setter):
        self.getter, self.setter = getter, setter

    def __get__(self, obj, objtype):
        return self.getter(obj)

    def __set__(self, obj, val):
        if isinstance(self.setter, str):
            raise RuntimeError(self.setter)
        self.setter(obj, val)


class cuFFTPlanCacheManager:
    """A plan cache for each GPU, all of them empty."""

    def __getitem__(self, device):
        return cuFFTPlanCache(device)

    def __getattr__(self, name):
        return getattr(cuFFTPlanCache(), name)


class cuBLASModule:
    """Switches of matrix products; see `matmul`."""

    def __getattr__(self, name):
        return getattr(matmul, name)

    def __setattr__(self, name, value):
        setattr(matmul, name, value)


class SDPAParams:
    """The arguments of attention, of which one asks whether a kernel takes them."""

    def __init__(self, query, key, value, attn_mask, dropout, is_causal, enable_gqa):
        self.query, self.key, self.value, self.attn_mask = query, key, value, attn_mask
        self.dropout, self.is_causal, self.enable_gqa = dropout, is_causal, enable_gqa


def is_ck_sdpa_available():
    """False."""
    return False


def preferred_rocm_fa_library(backend=None):
    """Kept and returned; XLA chooses."""
    _preferred["rocm_fa"] = backend or _preferred["rocm_fa"]
    return _preferred["rocm_fa"]


def cublas_workspace_size():
    """NotImplementedError: XLA keeps its own memory."""
    raise NotImplementedError("torchshim: torch.backends.cuda.cublas_workspace_size; XLA keeps its own memory")


def cublaslt_workspace_size():
    """NotImplementedError: XLA keeps its own memory."""
    raise NotImplementedError("torchshim: torch.backends.cuda.cublaslt_workspace_size; XLA keeps its own memory")


def blas_workspace_size(size=None):
    """NotImplementedError: XLA keeps its own memory."""
    raise NotImplementedError("torchshim: torch.backends.cuda.blas_workspace_size; XLA keeps its own memory")


def preferred_linalg_library(backend=None):
    """Kept and returned; XLA chooses."""
    _preferred["linalg"] = backend or _preferred["linalg"]
    return _preferred["linalg"]


def preferred_blas_library(backend=None):
    """Kept and returned; XLA chooses."""
    _preferred["blas"] = backend or _preferred["blas"]
    return _preferred["blas"]


def flash_sdp_enabled():
    """Whether flash attention is allowed. There is one attention here: XLA's."""
    return _sdp["flash"]


def enable_flash_sdp(enabled):
    """Kept."""
    _sdp["flash"] = enabled


def mem_efficient_sdp_enabled():
    """Whether memory-efficient attention is allowed."""
    return _sdp["mem_efficient"]


def enable_mem_efficient_sdp(enabled):
    """Kept."""
    _sdp["mem_efficient"] = enabled


def math_sdp_enabled():
    """Whether plain attention is allowed."""
    return _sdp["math"]


def enable_math_sdp(enabled):
    """Kept."""
    _sdp["math"] = enabled


def cudnn_sdp_enabled():
    """Whether cuDNN's attention is allowed."""
    return _sdp["cudnn"]


def enable_cudnn_sdp(enabled):
    """Kept."""
    _sdp["cudnn"] = enabled


def fp16_bf16_reduction_math_sdp_allowed():
    """Whether plain attention may reduce in half precision; it never does."""
    return _sdp["math_reduced"]


def allow_fp16_bf16_reduction_math_sdp(enabled):
    """Kept."""
    _sdp["math_reduced"] = enabled


def is_flash_attention_available():
    """False: there is one attention here, XLA's."""
    return False


def can_use_flash_attention(params, debug=False):
    """False."""
    return False


can_use_efficient_attention = can_use_cudnn_attention = can_use_flash_attention


def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """A context that says which attentions are allowed: there is one here, and where torch's would refuse it does."""
    _warnings.warn("`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager will be removed. Please see "
                   "`torch.nn.attention.sdpa_kernel()` for the new context manager, with updated signature.", FutureWarning, stacklevel=2)
    return _allowing(enable_flash, enable_math, enable_mem_efficient, enable_cudnn)


@_contextlib.contextmanager
def _allowing(enable_flash, enable_math, enable_mem_efficient, enable_cudnn):
    before = dict(_sdp)
    _sdp.update(flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield {}
    finally:
        _sdp.update(before)
