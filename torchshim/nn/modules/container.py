"""Sequential, lists and dicts of modules and parameters."""
from __future__ import annotations

import itertools
import operator
from collections import OrderedDict, abc

from ...engine import warn
from ...tensor.core.tensor import Tensor
from ..parameter import Parameter
from .module import Module, _addindent, typename

__all__ = ["Container", "Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict"]


def _at(n, index):
    """A position from an index that may be negative; IndexError outside."""
    index = operator.index(index)
    if not -n <= index < n:
        raise IndexError(f"index {index} is out of range")
    return index % n


class Container(Module):
    """Modules by name, as keywords; Module itself does all that, and torch has deprecated this one."""

    def __init__(self, **kwargs):
        super().__init__()
        warn("`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. Subclass that instead.",
             FutureWarning)
        for name, module in kwargs.items():
            self.add_module(name, module)


class _Numbered(Module):
    """What Sequential and ModuleList share: children named 0, 1, 2, … (`_key` gives the name at an index)"""

    def __getitem__(self, index):
        if isinstance(index, slice):
            items = list(self._modules.items())[index]
            return type(self)(OrderedDict(items)) if isinstance(self, Sequential) else type(self)([m for _, m in items])
        return self._modules[self._key(index)]

    def __setitem__(self, index, module):
        setattr(self, self._key(index), module)

    def _renumber(self, modules):
        self._modules.clear()
        self._modules.update((str(i), m) for i, m in enumerate(modules))

    def _insert(self, index, module):
        """Move what is behind up by one name; where the names are others, one is missing: as in torch a KeyError."""
        for i in range(len(self._modules), index, -1):
            self._modules[str(i)] = self._modules[str(i - 1)]
        self._modules[str(index)] = module

    def __delitem__(self, index):
        keys = list(self._modules)[index] if isinstance(index, slice) else [self._key(index)]
        for key in keys:
            delattr(self, key)
        self._renumber(list(self._modules.values()))

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __dir__(self):
        return [k for k in super().__dir__() if not k.isdigit()]

    def pop(self, key):
        """Remove and return the module at an index."""
        m = self[key]
        del self[key]
        return m

    def append(self, module):
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self


class Sequential(_Numbered):
    """Modules called one after the other. args: modules, or one OrderedDict of them by name."""

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, m in args[0].items():
                self.add_module(name, m)
        else:
            for i, m in enumerate(args):
                self.add_module(str(i), m)

    def _get_item_by_idx(self, iterator, idx):
        """What an iterator over the children, or their names, gives at an index."""
        return next(itertools.islice(iterator, _at(len(self), idx), None))

    def _key(self, index):
        return self._get_item_by_idx(self._modules, index)

    def forward(self, input):
        for m in self._modules.values():
            input = m(input)
        return input

    def insert(self, index, module):
        """Put a module before `index`."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        n = len(self)
        if not -n <= index <= n:
            raise IndexError(f"Index out of range: {index}")
        self._insert(index if index >= 0 else index + n, module)
        return self

    def extend(self, sequential):
        """Add all modules of an iterable."""
        for m in sequential:
            self.append(m)
        return self

    def __add__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        return Sequential(*self, *other)

    def __iadd__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")
        for m in list(other):
            self.append(m)
        return self

    def _times(self, n):
        if not isinstance(n, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(n)}")
        if n <= 0:
            raise ValueError(f"Non-positive multiplication factor {n} for {type(self)}")
        return list(self) * n

    def __mul__(self, n):
        return Sequential(*self._times(n))

    __rmul__ = __mul__

    def __imul__(self, n):
        for m in self._times(n)[len(self):]:
            self.append(m)
        return self


class ModuleList(_Numbered):
    """A list of modules whose parameters are registered."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _get_abs_string_index(self, idx):
        """The name of the child at an index; libraries' lists that are looked into in their own way ask for it."""
        return str(_at(len(self), idx))

    def _key(self, index):
        return self._get_abs_string_index(index)

    def insert(self, index, module):
        """Put a module before `index`."""
        self._insert(index, module)

    def extend(self, modules):
        """Add all modules of an iterable."""
        if not isinstance(modules, abc.Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for m in list(modules):
            self.append(m)
        return self

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        return ModuleList([*self, *other])

    def __repr__(self):
        """Equal neighbours are shown once, with their count."""
        if not len(self):
            return self._get_name() + "()"
        runs = []
        for i, text in enumerate(repr(m) for m in self):
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        lines = [_addindent(f"({a}): {text}" if a == b else f"({a}-{b}): {b - a + 1} x {text}", 2) for a, b, text in runs]
        return self._get_name() + "(\n  " + "\n  ".join(lines) + "\n)"


def _pairs(kind, values):
    """(key, value) of a mapping or of an iterable of pairs."""
    if not isinstance(values, abc.Iterable):
        raise TypeError(f"{kind}.update should be called with an iterable of key/value pairs, but got {type(values).__name__}")
    if isinstance(values, (abc.Mapping, ModuleDict, ParameterDict)):
        yield from values.items()
        return
    for i, pair in enumerate(values):
        if not isinstance(pair, abc.Iterable):
            raise TypeError(f"{kind} update sequence element #{i} should be Iterable; is{type(pair).__name__}")
        if len(pair) != 2:
            raise ValueError(f"{kind} update sequence element #{i} has length {len(pair)}; 2 is required")
        yield pair[0], pair[1]


class ModuleDict(Module):
    """A dict of modules whose parameters are registered."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        """Remove all modules."""
        self._modules.clear()

    def pop(self, key):
        """Remove and return a module."""
        return self._modules.pop(key)

    def keys(self):
        """The names."""
        return self._modules.keys()

    def items(self):
        """(name, module) pairs."""
        return self._modules.items()

    def values(self):
        """The modules."""
        return self._modules.values()

    def update(self, modules):
        """Take over all entries of a mapping or of (name, module) pairs."""
        for key, m in _pairs("ModuleDict", modules):
            self[key] = m


class ParameterList(Module):
    """A list of parameters; tensors become parameters, other objects are kept as they are."""

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    _get_abs_string_index = ModuleList._get_abs_string_index

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)([self[i] for i in range(*index.indices(len(self)))])
        return getattr(self, self._get_abs_string_index(index))

    def __setitem__(self, index, value):
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, self._get_abs_string_index(index), value)

    def __len__(self):
        return self._size

    def __iter__(self):
        return iter(self[i] for i in range(len(self)))

    def __iadd__(self, values):
        return self.extend(values)

    def __dir__(self):
        return [k for k in super().__dir__() if not k.isdigit()]

    def append(self, value):
        """Add one at the end."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values):
        """Add all of an iterable."""
        if not isinstance(values, abc.Iterable) or isinstance(values, Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for v in list(values):
            self.append(v)
        return self

    def extra_repr(self):
        return "\n".join(f"  ({k}): {_shown(p, _by_dtype)}" for k, p in enumerate(self))

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterList should not be called.")


def _by_dtype(p):
    return str(p.dtype)


def _shown(p, kind):
    if not isinstance(p, Tensor):
        return f"Object of type: {type(p).__name__}"
    where = f" ({p.device})" if p.device.type == "cuda" else ""
    return f"{'Parameter' if isinstance(p, Parameter) else 'Tensor'} containing: [{kind(p)} of size {'x'.join(map(str, p.shape))}{where}]"


def _by_typename(p):
    return typename(p.data)


class ParameterDict(Module):
    """A dict of parameters; tensors become parameters, other objects are kept as they are."""

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    @staticmethod
    def _key_to_attr(key):
        if not isinstance(key, str):
            raise TypeError("Index given to ParameterDict cannot be used as a key as it is not a string (type is "
                            f"'{type(key).__name__}'). Open an issue on github if you need non-string keys.")
        return key

    def __getitem__(self, key):
        return getattr(self, self._key_to_attr(key))

    def __setitem__(self, key, value):
        name = self._key_to_attr(key)
        self._keys[key] = None
        if isinstance(value, Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, name, value)

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, self._key_to_attr(key))

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __reversed__(self):
        return reversed(self._keys)

    def __contains__(self, key):
        return key in self._keys

    def copy(self):
        """Another ParameterDict with the same entries."""
        return ParameterDict(OrderedDict((k, self[k]) for k in self._keys))

    def setdefault(self, key, default=None):
        """The entry, put there as `default` if it was missing."""
        if key not in self:
            self[key] = default
        return self[key]

    def clear(self):
        """Remove all entries."""
        for k in list(self._keys):
            del self[k]

    def pop(self, key):
        """Remove and return an entry."""
        v = self[key]
        del self[key]
        return v

    def popitem(self):
        """Remove and return the last (name, entry)."""
        k = list(self._keys)[-1]
        return k, self.pop(k)

    def get(self, key, default=None):
        """The entry, or `default`."""
        return self[key] if key in self else default

    def fromkeys(self, keys, default=None):
        """A ParameterDict with `default` under every key."""
        return ParameterDict((k, default) for k in keys)

    def keys(self):
        """The names."""
        return self._keys.keys()

    def items(self):
        """(name, entry) pairs."""
        return ((k, self[k]) for k in self._keys)

    def values(self):
        """The entries."""
        return (self[k] for k in self._keys)

    def update(self, parameters):
        """Take over all entries of a mapping (one that is not ordered in the order of its names) or of (name, entry) pairs."""
        if isinstance(parameters, abc.Mapping) and not isinstance(parameters, OrderedDict):
            parameters = OrderedDict(sorted(parameters.items()))
        for k, v in _pairs("ParameterDict", parameters):
            self[k] = v

    def extra_repr(self):
        return "\n".join(f"  ({k}): {_shown(p, _by_typename)}" for k, p in self.items())

    def __call__(self, input):
        raise RuntimeError("ParameterDict should not be called.")

    def __or__(self, other):
        both = self.copy()
        both.update(other)
        return both

    def __ror__(self, other):
        both = other.copy()
        both.update(self.items())
        return both

    def __ior__(self, other):
        self.update(other)
        return self
