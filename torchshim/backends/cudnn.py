"""torch.backends.cudnn: XLA uses cuDNN on NVIDIA's GPUs as it sees fit. `allow_tf32` decides how float32 convolutions round there; the
other switches are kept. Recurrent layers round as matrix products do."""
import sys as _sys

from .. import settings as _settings
from ..tensor.core.device import accelerators as _accelerators
from .frozen import Switches as _Switches
from .switches import Product as _Product, Rounding as _Rounding, setter as _setter

enabled, benchmark, benchmark_limit, deterministic, fp32_precision = True, False, 10, False, "none"
conv = _Rounding(_settings.conv_may_round, _settings.let_conv_round)
rnn = _Product(fp32_precision="tf32")
_SWITCHES = ("enabled", "benchmark", "deterministic", "fp32_precision", "allow_tf32")


class _Module(_Switches):
    allow_tf32 = property(lambda self: _settings.conv_may_round(), lambda self, allowed: _settings.let_conv_round(allowed),
                          doc="Whether float32 convolutions may use TensorFloat32, where the GPU has it.")


_sys.modules[__name__].__class__ = _Module


def is_available():
    """Whether JAX has a GPU."""
    return bool(_accelerators("cuda"))


def version():
    """None: XLA does not tell the version it uses."""
    return None


def is_acceptable(tensor):
    """Whether cuDNN could take this tensor."""
    return is_available() and enabled and tensor.is_cuda


set_flags, flags = _setter(__name__, enabled="enabled", benchmark="benchmark", benchmark_limit="benchmark_limit",
                           deterministic="deterministic",
                           allow_tf32="allow_tf32", fp32_precision="fp32_precision")
