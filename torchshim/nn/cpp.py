"""torch.nn.cpp: modules of PyTorch's C++ frontend, of which there are none here."""
from __future__ import annotations

from .modules.module import Module


class OrderedDictWrapper:
    """A dictionary that an attribute of a C++ module holds."""

    def __init__(self, cpp_module, attr):
        self.cpp_module, self.attr = cpp_module, attr

    @property
    def cpp_dict(self):
        """The dictionary."""
        return getattr(self.cpp_module, self.attr)

    def items(self):
        """Its pairs."""
        return self.cpp_dict.items()

    def keys(self):
        """Its keys."""
        return self.cpp_dict.keys()

    def values(self):
        """Its values."""
        return self.cpp_dict.values()

    def __iter__(self):
        return iter(self.cpp_dict)

    def __len__(self):
        return len(self.cpp_dict)

    def __contains__(self, key):
        return key in self.cpp_dict

    def __getitem__(self, key):
        return self.cpp_dict[key]


class ModuleWrapper(Module):
    """A C++ module as one of Python: NotImplementedError."""

    def __init__(self, cpp_module):
        raise NotImplementedError("torchshim: torch.nn.cpp.ModuleWrapper; there are no modules of C++")
