"""Weak references to tensors, and dicts whose keys are looked up by identity and go with their objects."""
from __future__ import annotations

import weakref
from collections.abc import MutableMapping
from weakref import ref as WeakRef

from .. import Tensor
from ..dropin import missing_attribute as _missing_attribute


class WeakIdRef(weakref.ref):
    """A weak reference that is equal to another of the very same object."""
    __slots__ = ("_id",)

    def __init__(self, key, callback=None):
        self._id = id(key)
        super().__init__(key, callback)

    def __call__(self):
        return super().__call__()

    def __hash__(self):
        return self._id

    def __eq__(self, other):
        a, b = self(), other()
        return a is b if a is not None and b is not None else self is other


class WeakIdKeyDictionary(MutableMapping):
    """{object: value} by identity; an entry goes with its object."""

    def __init__(self, dict=None, ref_type=WeakIdRef):
        self.ref_type, self.data = ref_type, {}
        self._gone = lambda key, held=weakref.ref(self): held() is not None and held().data.pop(key, None)
        if dict is not None:
            self.update(dict)

    def _ref(self, key):
        return self.ref_type(key, self._gone)

    def __getitem__(self, key):
        return self.data[self.ref_type(key)]

    def __setitem__(self, key, value):
        self.data[self._ref(key)] = value

    def __delitem__(self, key):
        del self.data[self.ref_type(key)]

    def __len__(self):
        return len(self.data)

    def __iter__(self):
        for key in list(self.data):
            found = key()
            if found is not None:
                yield found

    def __contains__(self, key):
        try:
            return self.ref_type(key) in self.data
        except TypeError:
            return False

    def __repr__(self):
        return f"<{type(self).__name__} at {id(self):#x}>"

    def keyrefs(self):
        """The references themselves."""
        return list(self.data)

    def copy(self):
        """A dict of the same entries."""
        return type(self)(self)

    __copy__ = copy


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor: called, it gives the tensor or None."""

    def __init__(self, tensor):
        if not isinstance(tensor, Tensor):
            raise AssertionError(f"Expected tensor, got {type(tensor)}")
        self.ref = WeakRef(tensor)

    def __call__(self):
        return self.ref()


__getattr__ = _missing_attribute(__name__)
