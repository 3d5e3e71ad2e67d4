"""Padding modules."""
from __future__ import annotations

import types

from .. import functional as F
from .module import Module


def _spread(n, padding):
    """One width for all sides, or a tuple as it is."""
    return (padding,) * (2 * n) if isinstance(padding, int) else tuple(padding)


class _Pad(Module):
    __constants__ = ["padding"]
    _n = 1
    _mode = "constant"

    def __init__(self, padding):
        super().__init__()
        self.padding = _spread(self._n, padding)

    def forward(self, input):
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self):
        return f"{self.padding}"


class _ReflectionPadNd(_Pad):
    """Padding by what is mirrored."""


class _ReplicationPadNd(_Pad):
    """Padding by the values at the ends."""


class _CircularPadNd(_Pad):
    def forward(self, input):
        n = input.dim()
        if n not in (self._n + 1, self._n + 2):
            raise ValueError(f"expected {self._n + 1}D or {self._n + 2}D input (got {n}D input)")
        return super().forward(input)


class _ConstantPadNd(_Pad):
    __constants__ = ["padding", "value"]

    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(_ConstantPadNd):
    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


def _make(name, base, n, mode, doc):
    cls = type(name, (base,), {"_n": n, "_mode": mode, "__doc__": doc, "__module__": __name__})
    first = base.__init__
    cls.__init__ = types.FunctionType(first.__code__, first.__globals__, "__init__", first.__defaults__, first.__closure__)
    cls.__init__.__qualname__ = f"{name}.__init__"         # whom a missing argument is told of
    return cls


ConstantPad1d = _make("ConstantPad1d", _ConstantPadNd, 1, "constant", "A constant around the last dimension.")
ConstantPad2d = _make("ConstantPad2d", _ConstantPadNd, 2, "constant", "A constant around the last two dimensions.")
ConstantPad3d = _make("ConstantPad3d", _ConstantPadNd, 3, "constant", "A constant around the last three dimensions.")
ZeroPad1d = _make("ZeroPad1d", _ZeroPad, 1, "constant", "Zeros around the last dimension.")
ZeroPad2d = _make("ZeroPad2d", _ZeroPad, 2, "constant", "Zeros around the last two dimensions.")
ZeroPad3d = _make("ZeroPad3d", _ZeroPad, 3, "constant", "Zeros around the last three dimensions.")
ReflectionPad1d = _make("ReflectionPad1d", _ReflectionPadNd, 1, "reflect", "The last dimension mirrored at its ends.")
ReflectionPad2d = _make("ReflectionPad2d", _ReflectionPadNd, 2, "reflect", "The last two dimensions mirrored at their ends.")
ReflectionPad3d = _make("ReflectionPad3d", _ReflectionPadNd, 3, "reflect", "The last three dimensions mirrored at their ends.")
ReplicationPad1d = _make("ReplicationPad1d", _ReplicationPadNd, 1, "replicate", "The values at the ends of the last dimension.")
ReplicationPad2d = _make("ReplicationPad2d", _ReplicationPadNd, 2, "replicate", "The values at the ends of the last two dimensions.")
ReplicationPad3d = _make("ReplicationPad3d", _ReplicationPadNd, 3, "replicate", "The values at the ends of the last three dimensions.")
CircularPad1d = _make("CircularPad1d", _CircularPadNd, 1, "circular", "The last dimension wrapped around.")
CircularPad2d = _make("CircularPad2d", _CircularPadNd, 2, "circular", "The last two dimensions wrapped around.")
CircularPad3d = _make("CircularPad3d", _CircularPadNd, 3, "circular", "The last three dimensions wrapped around.")
