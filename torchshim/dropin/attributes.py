"""What a torchshim module answers when asked for an attribute it does not have."""

import functools
import importlib
import json
import pathlib
import sys
import types
from collections.abc import Callable, Iterable, Mapping

from torchshim.dropin.names import to_torch
from torchshim.dropin.versions import TORCHSHIM_VERSION


class NameNotImplementedError(AttributeError, NotImplementedError):
    """PyTorch has this name and torchshim does not.

    Code that probes (`hasattr`, `from … import` with a fallback) sees the `AttributeError` it expects.
    """


@functools.cache
def lacking() -> dict[str, frozenset[str]]:
    """The names that PyTorch's modules have and torchshim's do not, as `python -m compat.lacking` found them: {module: names}."""
    names = json.loads((pathlib.Path(__file__).parent / "lacking.json").read_text(encoding="utf-8"))
    return {module: frozenset(listed.split()) for module, listed in names.items()}


def missing_attribute(
    module_name: str, lazy: Iterable[str] = (), elsewhere: Mapping[str, str] = types.MappingProxyType({})
) -> Callable[[str], object]:
    """A module-level ``__getattr__`` for ``module_name``.

    Use it as ``__getattr__ = missing_attribute(__name__)``. Submodules named in ``lazy`` are
    imported when first asked for, and so are those that ``elsewhere`` names for attributes that
    it has from them ({attribute: submodule}). Anything else raises `AttributeError` in PyTorch's words; a name that
    PyTorch has raises `NameNotImplementedError`, which adds that this version of torchshim lacks it.
    """
    public_name = to_torch(module_name)
    lazy = frozenset(lazy)

    def __getattr__(name: str):
        if name in lazy:
            return importlib.import_module(f"{module_name}.{name}")
        if name in elsewhere:
            found = getattr(importlib.import_module(f"{module_name}.{elsewhere[name]}"), name)
            setattr(sys.modules[module_name], name, found)
            return found
        message, error = f"module {public_name!r} has no attribute {name!r}", AttributeError
        # Dunders are probed for by inspect, copy, pickle and doctest: nobody is missing a feature.
        if not name.startswith("__") and name in lacking().get(public_name, ()):
            message, error = f"{message}: torchshim {TORCHSHIM_VERSION} lacks it", NameNotImplementedError
        # name and obj give the traceback its "Did you mean".
        raise error(message, name=name, obj=sys.modules.get(module_name))

    return __getattr__
