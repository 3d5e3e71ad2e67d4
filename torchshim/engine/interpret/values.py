"""What is known of the values of a program while it is built."""
from __future__ import annotations

import numpy as np

from .rules import Spec

_ndarray, _asarray = np.ndarray, np.asarray


class Value:
    """What is known, while building, about one value of the program.

    It exists in up to three forms, each a slot: `slot`, a NumPy array of full shape; `raw`, perhaps
    a JAX array; `small`, a NumPy array of shape `small_shape` that broadcasts to the full shape, as NumPy
    does that: leading dimensions may be missing.
    `const` is the array in `slot` or `small` when that is known already. `number` is (the slot of a
    number, a function of it that gives what is in `slot` or `small`) where it is computed from that alone.
    """

    __slots__ = ("spec", "slot", "raw", "small", "small_shape", "const", "number")

    def __init__(self, spec, *, slot=None, raw=None, small=None, small_shape=None, const=None, number=None):
        self.spec, self.slot, self.raw = spec, slot, raw
        self.small, self.small_shape, self.const, self.number = small, small_shape, const, number


def spec_of(aval) -> Spec:
    if "Ref" in type(aval).__name__:
        raise NotImplementedError("interpret: mutable array references")
    return Spec(tuple(getattr(aval, "shape", ())), getattr(aval, "dtype", None))


def opened(jaxpr):
    """The open jaxpr in a closed one (newer JAX has a single class)."""
    return getattr(jaxpr, "jaxpr", jaxpr)


def to_numpy(x):
    return x if type(x) is _ndarray else _asarray(x)
