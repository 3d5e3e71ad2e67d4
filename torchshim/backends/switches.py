"""What the modules of torch.backends share: switches that are kept, and contexts that set them for a while."""
from __future__ import annotations

import contextlib
import sys


def setter(module, **names):
    """`set_flags` and `flags` for a module's switches: arguments by name, to the module's variables of that name."""
    here = sys.modules[module]

    def set_flags(**given):
        """Set switches; returns what they were."""
        unknown = given.keys() - names.keys()
        if unknown:
            raise TypeError(f"flags() got an unexpected keyword argument {sorted(unknown)[0]!r}")
        before = {k: getattr(here, names[k]) for k in given}
        for k, v in given.items():
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
    """Switches of matrix products and convolutions. XLA's products here keep full float32 precision, whatever is allowed."""

    def __init__(self, **switches):
        self.__dict__.update(switches)

    def __setattr__(self, name, value):
        if name not in self.__dict__:
            raise AttributeError(f"Unknown attribute {name}")
        self.__dict__[name] = value
