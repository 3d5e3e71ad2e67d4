"""torch.backends.cudnn: XLA uses cuDNN on NVIDIA's GPUs as it sees fit; the switches are kept."""
from ..tensor.core.device import accelerators as _accelerators
from .switches import Product as _Product, setter as _setter

enabled, benchmark, benchmark_limit, deterministic, allow_tf32, fp32_precision = True, False, 10, False, True, "none"
conv = _Product(fp32_precision="none")
rnn = _Product(fp32_precision="none")


def is_available():
    """Whether JAX has a GPU."""
    return bool(_accelerators("cuda"))


def version():
    """None: XLA does not tell the version it uses."""
    return None


def is_acceptable(tensor):
    """Whether cuDNN could take this tensor."""
    return is_available() and enabled and tensor.is_cuda


set_flags, flags = _setter(__name__, enabled="enabled", benchmark="benchmark", benchmark_limit="benchmark_limit", deterministic="deterministic",
                           allow_tf32="allow_tf32", fp32_precision="fp32_precision")
