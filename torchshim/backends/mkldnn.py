"""torch.backends.mkldnn (oneDNN): the switches are kept; XLA chooses its kernels."""
import sys as _sys

from .frozen import Switches as _Switches
from .mkl import verbose                       # noqa: F401  (torch has it here too)
from .switches import Product as _Product, setter as _setter

VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2
enabled, deterministic, allow_tf32, fp32_precision = True, False, True, "none"
matmul, conv, rnn = (_Product(fp32_precision="none") for _ in range(3))
_SWITCHES = ("enabled", "deterministic", "allow_tf32", "fp32_precision")
_sys.modules[__name__].__class__ = _Switches


def is_available():
    """False: torchshim does not call oneDNN."""
    return False


def is_acl_available():
    """False."""
    return False


set_flags, flags = _setter(__name__, enabled="enabled", deterministic="deterministic", allow_tf32="allow_tf32",
                           fp32_precision="fp32_precision")
