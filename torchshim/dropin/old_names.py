"""Modules that have an older name: what is below it is what is below the newer one."""
import importlib.util
import sys
from importlib.machinery import ModuleSpec

from .finder import AliasLoader


class _Below:
    """The finder of what is below an older name, {older name: the newer one}."""

    def __init__(self):
        self.names = {}

    def find_spec(self, fullname, path=None, target=None):
        for old, new in self.names.items():
            if fullname.startswith(old + "."):
                real = importlib.util.find_spec(new + fullname[len(old):])
                return None if real is None else ModuleSpec(fullname, AliasLoader(real), origin=real.origin,
                                                            is_package=real.submodule_search_locations is not None)
        return None


_below = _Below()


def stands_for(old, home):
    """Let the module of an older name be the module `home`."""
    if _below not in sys.meta_path:
        sys.meta_path.insert(0, _below)
    _below.names[old] = home.__name__
    sys.modules[old] = home
