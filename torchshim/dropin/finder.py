"""The meta-path finder that makes ``torch.x`` the very module ``torchshim.x``.

A torchshim module has one name in its ``__spec__`` and one entry of its own in ``sys.modules``; the
drop-in adds a second entry. The finder does so from both sides: an import of ``torch.x`` imports
``torchshim.x``, and an import of ``torchshim.x``, by whomever, brings ``torch.x`` with it.
"""

import functools
import importlib
import importlib.util
import sys
from importlib.machinery import ModuleSpec

from torchshim.dropin.names import is_private, is_torch, is_torchshim, to_torchshim


class TorchFinder:
    """Answers for ``torch`` and below, and watches the import of chosen other modules.

    ``on_start(name, module)`` runs before a torchshim module executes and ``on_done(name, module)``
    after; ``module`` is None after a failure. ``watched`` maps further module names to a function
    called with the module once it has executed.
    """

    def __init__(self, on_start, on_done, watched):
        self._on_start = on_start
        self._on_done = on_done
        self._watched = watched

    def find_spec(self, fullname, path=None, target=None):
        if is_torch(fullname):
            return self._alias_spec(fullname)
        if is_torchshim(fullname):
            return self._watch(fullname, path, target, self._on_start, self._on_done)
        if fullname in self._watched:
            callback = self._watched[fullname]
            return self._watch(
                fullname,
                path,
                target,
                lambda name, module: None,
                lambda name, module: module is not None and callback(module),
            )
        return None

    def find_distributions(self, context=None):
        """The protocol of ``importlib.metadata``: the distribution named torch."""
        options = vars(context) if context is not None else {}
        if "path" in options:  # a search of certain directories: not there
            return []
        name = options.get("name")
        if name is not None and name.lower() != "torch":
            return []
        from torchshim.dropin.metadata import TorchDistribution

        return [TorchDistribution()]

    def _alias_spec(self, fullname):
        if is_private(fullname):
            # Returning None would let the path finder load a second copy through torch.__path__.
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        real_name = to_torchshim(fullname)
        real = importlib.util.find_spec(real_name)
        if real is None:
            return None
        locations = real.submodule_search_locations
        spec = ModuleSpec(
            fullname, AliasLoader(real), origin=real.origin, is_package=locations is not None
        )
        if locations is not None:
            spec.submodule_search_locations = list(locations)
        spec.has_location = real.has_location
        return spec

    def _watch(self, fullname, path, target, on_start, on_done):
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                break
        else:
            return None
        # A namespace package has no loader and nothing to execute, a frozen module's is a class for all of them.
        if spec.loader is not None and not isinstance(spec.loader, type):
            spec.loader = _watched(spec.loader, on_start, on_done)
        return spec


class AliasLoader:
    """Loads ``torch.x`` by importing ``torchshim.x`` and handing over that same module."""

    def __init__(self, real: ModuleSpec):
        self._real = real

    def create_module(self, spec):
        module = importlib.import_module(self._real.name)
        # The import system is about to put the alias's spec on the module.
        self._own_spec = getattr(module, "__spec__", None)
        return module

    def exec_module(self, module):
        module.__spec__ = self._own_spec

    # What runpy, pkgutil and inspect ask of a spec's loader.
    def get_code(self, fullname):
        return self._real.loader.get_code(self._real.name)

    def get_source(self, fullname):
        return self._real.loader.get_source(self._real.name)

    def is_package(self, fullname):
        return self._real.submodule_search_locations is not None

    def get_filename(self, fullname):
        return self._real.origin


class _Watching:
    """What a watched module's loader does before its own work: it executes the module once, and reports that.

    A thread that looks for ``torch.x`` while another one imports ``torchshim.x`` finds that the alias has
    appeared meanwhile, and the import system then hands it the module's own spec to load. Without the
    guard it would make a second module of it.
    """

    _executed = None

    def create_module(self, spec):
        if self._executed is not None:
            return importlib.import_module(spec.name)  # waits where another thread still executes it
        return super().create_module(spec)

    def exec_module(self, module):
        if module is self._executed:
            return
        self._executed = module
        name = module.__spec__.name
        self.on_start(name, module)
        try:
            super().exec_module(module)
        except BaseException:
            self._executed = None
            self.on_done(name, None)
            raise
        # A module may have put another object in its place.
        self.on_done(name, sys.modules.get(name, module))


@functools.cache
def _watching(loader_class):
    return type(loader_class.__name__, (_Watching, loader_class), {"__module__": loader_class.__module__})


def _watched(loader, on_start, on_done):
    """The loader itself, with `_Watching` before its class."""
    loader.__class__ = _watching(type(loader))
    loader.on_start, loader.on_done = on_start, on_done
    return loader
