"""The package functorch, which torch installs beside itself: torch.func under its older names, each of which warns, and modules as
functions.

It is found as `functorch` where torchshim is installed as torch.
"""
from __future__ import annotations

import functools
import warnings

from .. import func as _func
from ..dropin import missing_attribute as _missing_attribute
from ..fx.experimental.proxy_tensor import make_fx
from ..version import __version__
from . import stateless as _stateless
from .stateless import FunctionalModule, FunctionalModuleWithBuffers

__all__ = ["FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "functionalize", "grad",
           "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "make_functional", "make_functional_with_buffers", "make_fx",
           "vjp", "vmap"]


def _older(function, now):
    """The function under its name here, which warns and names what it is called today."""
    name = function.__name__

    @functools.wraps(function)
    def older(*args, **kwargs):
        warnings.warn("We've integrated functorch into PyTorch. As the final step of the integration, "
                      f"`functorch.{name}` is deprecated as of PyTorch 2.0 and will be deleted in a future version of PyTorch >= 2.3. "
                      f"Please use `{now}` instead; see the PyTorch 2.0 release notes and/or the `torch.func` migration guide for more "
                      "details https://pytorch.org/docs/main/func.migrating.html", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)
    return older


vmap = _older(_func.vmap, "torch.vmap")
grad, grad_and_value, vjp, jvp, jacrev, jacfwd, hessian, functionalize = [
    _older(getattr(_func, name), f"torch.func.{name}")
    for name in ("grad", "grad_and_value", "vjp", "jvp", "jacrev", "jacfwd", "hessian", "functionalize")]
make_functional = _older(_stateless.make_functional, "torch.func.functional_call")
make_functional_with_buffers = _older(_stateless.make_functional_with_buffers, "torch.func.functional_call")
combine_state_for_ensemble = _older(_stateless.combine_state_for_ensemble, "torch.func.stack_module_state")

__getattr__ = _missing_attribute(__name__, lazy=("compile", "experimental"))
