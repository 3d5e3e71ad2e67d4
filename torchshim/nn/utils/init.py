"""skip_init: a module whose parameters are not drawn."""
from __future__ import annotations

import inspect


def skip_init(module_cls, *args, **kwargs):
    """The module with uninitialised parameters, made without drawing random numbers."""
    from ..modules.module import Module
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    final = kwargs.pop("device", "cpu")
    return module_cls(*args, device="meta", **kwargs).to_empty(device=final)
