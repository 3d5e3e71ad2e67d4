"""torch.export.decomp_utils: tables of what operators are made of."""
from __future__ import annotations

import collections

from ..library.namespaces import OpOverload

__all__ = ["CustomDecompTable"]


class CustomDecompTable(collections.UserDict):
    """{overload: a function to run for it}, of default_decompositions() unless it says otherwise."""

    def __init__(self):
        super().__init__()
        from .decomposing import DEFAULT
        self.data.update(DEFAULT())

    def keys(self):
        """The overloads."""
        return self.data.keys()

    def materialize(self):
        """As a dict."""
        return dict(self.data)

    def copy(self):
        """Another one with the same entries."""
        made = CustomDecompTable()
        made.data = dict(self.data)
        return made

    def __setitem__(self, op, f):
        if not isinstance(op, OpOverload):
            raise ValueError(f"Unexpected key {op}: a decomposition is of an OpOverload")
        self.data[op] = f
