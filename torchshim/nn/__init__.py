"""torch.nn: modules, their parameters, initialisers and functions.

`import torchshim` needs the functions; the modules come with the first of them that is asked for.
"""
import importlib as _importlib

from ..dropin import missing_attribute as _missing_attribute
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
from . import functional, parameter

_missing = _missing_attribute(__name__, lazy=("_reduction", "attention", "backends", "cpp", "intrinsic", "parallel", "qat", "quantizable",
                                              "quantized"))


def _everything():
    names = {n: x for n, x in vars(_importlib.import_module(__name__ + "._namespace")).items() if n[0] != "_"}
    globals().update(names)
    return names


def __getattr__(name):
    if name in ("common_types", "grad", "init", "modules", "utils"):   # while _namespace, which asks for them, is still to come
        return _importlib.import_module(f"{__name__}.{name}")
    if name[0] != "_" or name == "__all__":
        names = _everything()
        if name == "__all__":                  # `from torch.nn import *`
            return [n for n in globals() if n[0] != "_"]
        if name in names:
            return names[name]
    return _missing(name)


def __dir__():
    _everything()
    return sorted(globals())
