"""What a torchshim module answers when asked for an attribute it does not have."""

import importlib
import sys
from collections.abc import Callable, Iterable

from torchshim.dropin.names import to_torch
from torchshim.dropin.versions import TORCHSHIM_VERSION


def missing_attribute(module_name: str, lazy: Iterable[str] = ()) -> Callable[[str], object]:
    """A module-level ``__getattr__`` for ``module_name``.

    Use it as ``__getattr__ = missing_attribute(__name__)``. Submodules named in ``lazy`` are
    imported when first asked for. Anything else raises `AttributeError` in PyTorch's words, with
    the addition that this version of torchshim lacks it.
    """
    public_name = to_torch(module_name)
    lazy = frozenset(lazy)

    def __getattr__(name: str):
        if name in lazy:
            return importlib.import_module(f"{module_name}.{name}")
        message = f"module {public_name!r} has no attribute {name!r}"
        # Dunders are probed for by inspect, copy, pickle and doctest: nobody is missing a feature.
        if not (name.startswith("__") and name.endswith("__")):
            message += f": torchshim {TORCHSHIM_VERSION} lacks it"
        # name and obj give the traceback its "Did you mean".
        raise AttributeError(message, name=name, obj=sys.modules.get(module_name))

    return __getattr__
