"""Pickles as PyTorch writes and reads them: torchshim's objects under their torch names, storages apart."""
from __future__ import annotations

import importlib
import pickle
import types

from ..dropin.names import is_torch, is_torchshim, to_torch, to_torchshim
from ..tensor.core.tensor import _TensorMeta
from ..tensor.api.storages import NAMED, TypedStorage, UntypedStorage


def storage_name(storage):
    """(the name of a storage's class in pickles, number of elements)."""
    if isinstance(storage, TypedStorage):
        for name, cls in NAMED.items():
            if cls.dtype is storage.dtype:
                return cls, storage.size()
        storage = storage.untyped()
    return UntypedStorage, storage.nbytes()


def pickler(file, protocol, persistent_id, module):
    """A Pickler of `module` that asks `persistent_id`. The standard one writes torchshim's names as torch's."""
    base = Translating if module is pickle else module.Pickler

    class Chosen(base):
        pass
    Chosen.persistent_id = lambda self, obj: persistent_id(obj)
    return Chosen(file, protocol)


class Translating(pickle._Pickler):
    """The standard library's Python pickler, which alone lets a subclass say what a class or function is called."""

    def save_global(self, obj, name=None):
        module, found = torch_name(obj, name)
        if module is None:
            _findable(obj, name)
            return super().save_global(obj, name)
        if self.proto >= 4:
            self.save(module)
            self.save(found)
            self.write(pickle.STACK_GLOBAL)
        else:
            self.write(pickle.GLOBAL + f"{module}\n{found}\n".encode())
        self.memoize(obj)

    def save_type(self, obj):
        if obj in (type(None), type(NotImplemented), type(...)):
            return super().save_type(obj)
        return self.save_global(obj)

    dispatch = dict(pickle._Pickler.dispatch)
    dispatch[type] = dispatch[_TensorMeta] = save_type
    dispatch[types.FunctionType] = save_global


def _findable(obj, name=None):
    """Raise what the C pickler, which PyTorch uses, says of a class or function that can't be found under its name."""
    name = name or getattr(obj, "__qualname__", None) or obj.__name__
    if "<locals>" in name.split("."):
        raise AttributeError(f"Can't pickle local object {name!r}")
    module = pickle.whichmodule(obj, name)
    try:
        found = importlib.import_module(module)
    except ImportError:
        raise pickle.PicklingError(f"Can't pickle {obj!r}: import of module {module!r} failed") from None
    try:
        for part in name.split("."):
            found = getattr(found, part)
    except AttributeError:
        raise pickle.PicklingError(f"Can't pickle {obj!r}: attribute lookup {name} on {module} failed") from None
    if found is not obj:
        raise pickle.PicklingError(f"Can't pickle {obj!r}: it's not the same object as {module}.{name}")


def torch_name(obj, name=None):
    """(module, name) by which torch's pickles call one of ours; (None, None) for anything else.

    PicklingError when it can't be found again under that name."""
    module = getattr(obj, "__module__", None)
    if not isinstance(module, str) or not (is_torchshim(module) or is_torch(module)):
        return None, None
    real, module = (to_torchshim(module), module) if is_torch(module) else (module, to_torch(module))
    name = name or getattr(obj, "__qualname__", None) or obj.__name__
    for place, where in _places(real, module):
        found = where
        try:
            for part in name.split("."):
                found = getattr(found, part)
        except AttributeError:
            continue
        if found is obj:
            return place, name
    raise pickle.PicklingError(f"Can't pickle {obj!r}: it's not found as {module}.{name}")


def _places(real, module):
    """Where a name may be found: its module, and torch itself, where what lies in private parts is public."""
    if is_torchshim(module):
        yield "torch", importlib.import_module("torchshim")
        return
    try:
        yield module, importlib.import_module(real)
    except ModuleNotFoundError:
        pass
    yield "torch", importlib.import_module("torchshim")


def find_torch(module, name):
    """The object that a pickle of torch calls `module.name`. AttributeError or ModuleNotFoundError when torchshim lacks it."""
    found = importlib.import_module(to_torchshim(module))
    for part in name.split("."):
        found = getattr(found, part)
    return found
