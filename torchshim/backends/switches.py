"""What the modules of torch.backends share: switches that are kept, and contexts that set them for a while."""
from __future__ import annotations

import contextlib
import sys

from .frozen import allow_nonbracketed_mutation


def setter(module, **names):
    """`set_flags` and `flags` for a module's switches: arguments by name, to the module's variables of that name."""
    here = sys.modules[module]

    def set_flags(**given):
        """Set switches that are not None; returns what they were."""
        unknown = given.keys() - names.keys()
        if unknown:
            raise TypeError(f"flags() got an unexpected keyword argument {sorted(unknown)[0]!r}")
        before = {k: getattr(here, names[k]) for k in given}
        with allow_nonbracketed_mutation():
            for k, v in given.items():
                if v is None:
                    continue
                setattr(here, names[k], v)
        return before

    @contextlib.contextmanager
    def flags(**given):
        """A context in which switches are set."""
        before = set_flags(**given)
        try:
            yield
        finally:
            set_flags(**before)
    return set_flags, flags


class Product:
    """Switches of matrix products and convolutions, kept and read back."""

    def __init__(self, **switches):
        self.__dict__.update(switches)

    def __setattr__(self, name, value):
        if name not in self.__dict__ and not hasattr(type(self), name):
            raise AttributeError(f"Unknown attribute {name}")
        object.__setattr__(self, name, value)


class Rounding(Product):
    """Switches of float32 products that may use TensorFloat32: `may()` tells whether, `let(allowed)` decides."""

    def __init__(self, may, let, **switches):
        super().__init__(_may=may, _let=let, _otherwise="none", **switches)

    @property
    def fp32_precision(self):
        """"tf32", "ieee", or "none" where nothing was said."""
        return "tf32" if self._may() else self._otherwise

    @fp32_precision.setter
    def fp32_precision(self, precision):
        if precision == "bf16":
            raise RuntimeError("backend 'cuda' does not support precision 'bf16'")
        if precision not in ("none", "ieee", "tf32"):
            raise RuntimeError(f"Unknown precision: {precision}")
        self._let(precision == "tf32")
        self._otherwise = "none" if precision == "tf32" else precision
