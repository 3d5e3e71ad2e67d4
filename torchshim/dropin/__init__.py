"""`import torch` answered by torchshim: the import hook, package metadata and the script runner.

Nothing here imports JAX or the rest of torchshim at import time; what is aliased under ``torch.*``
is whatever torchshim module the program asks for.
"""

from torchshim.dropin.attributes import missing_attribute
from torchshim.dropin.install import install, is_installed, uninstall
from torchshim.dropin.versions import (
    TORCH_COMPAT,
    TORCH_VERSION,
    TORCHSHIM_VERSION,
    TorchVersion,
)

__all__ = [
    "TORCHSHIM_VERSION",
    "TORCH_COMPAT",
    "TORCH_VERSION",
    "TorchVersion",
    "install",
    "is_installed",
    "missing_attribute",
    "uninstall",
]
