"""Small helpers of the module classes that other libraries use too."""
from __future__ import annotations

import itertools
import types
from collections import abc


def _ntuple(n, name="parse"):
    def parse(x):
        """A tuple as it is, a single value n times."""
        return tuple(x) if isinstance(x, abc.Iterable) else tuple(itertools.repeat(x, n))
    parse.__name__ = name
    return parse


_single, _pair, _triple, _quadruple = (_ntuple(n, name) for n, name in ((1, "_single"), (2, "_pair"), (3, "_triple"), (4, "_quadruple")))


def _reverse_repeat_tuple(t, n):
    """The elements from the last to the first, each n times: padding as functional.pad wants it."""
    return tuple(x for x in reversed(t) for _ in range(n))


def own_init(cls):
    """Let a class call an inherited `__init__` its own, so that wrong arguments are refused in its name."""
    shared = cls.__init__
    init = types.FunctionType(shared.__code__, shared.__globals__, "__init__", shared.__defaults__, shared.__closure__)
    init.__kwdefaults__, init.__doc__, init.__annotations__ = shared.__kwdefaults__, shared.__doc__, shared.__annotations__
    init.__module__, init.__qualname__ = cls.__module__, f"{cls.__name__}.__init__"
    cls.__init__ = init


def consume_prefix_in_state_dict_if_present(state_dict, prefix):
    """Strip a prefix ("module.") from the names of a state dict, in place."""
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix):]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is not None:
        for key in list(metadata):
            if key and (key == prefix.replace(".", "") or key.startswith(prefix)):
                metadata[key[len(prefix):]] = metadata.pop(key)
