"""Values: arrays that exist, or that a trace will make when somebody looks."""
from __future__ import annotations

from .. import half
from ..device import default_device
from .memory import present
from .meta import COMPLEX_HALF, HELD, meta_of


class Immediate(Exception):
    """An operand holds a tracer, has no data or lives elsewhere: the operator is not recorded.

    Who catches it leaves the `except` block before going on: errors of JAX's own that are kept in cycles would keep this one as what they
    were raised in, and with it the values in its frames.
    """


class Value:
    """An immutable array that exists (`array`) or will (`trace`, `slot`).

    An array that is an input of a trace has its `trace` and `slot` too. Several threads may share it: each takes it over for its
    own trace, so `slot` counts only together with `trace`, which is set last.
    """
    __slots__ = ("trace", "slot", "meta", "array", "extra", "__weakref__")

    def __repr__(self):
        return f"<Value {self.meta} {'pending' if self.array is None else 'ready'}>"


def value_of(array, meta):
    """A Value around an array (NumPy, JAX or a tracer)."""
    v = Value()
    v.trace = v.slot = v.extra = None
    v.meta, v.array = meta, array
    return v


class _Traced:
    def __repr__(self):
        return "traced"


TRACED = _Traced()         # `extra` of a Value whose array is a tracer, or stands for a batch's (compile/batch.py)


class NeedsNumbers(RuntimeError):
    """Somebody asks an example of a batch (see compile/batch.py) for its numbers. Its words are torch's where the example escaped."""

    def __init__(self):
        super().__init__("Cannot access data pointer of Tensor that doesn't have storage")


class NeedsTracer(Exception):
    """Somebody wants to compute with such an example in JAX."""


def lost(v):
    """The error of a look at a Value that was not computed. Its `extra` is what its error says, or makes it."""
    error = v.extra
    return error() if callable(error) else RuntimeError(error or "the value was lost: the computation that should have made it failed")


def array_of(v):
    """The Value's array, computed if need be."""
    if v.array is None:
        if v.trace is None:
            if v.meta.device == "meta":
                raise NotImplementedError("Cannot copy out of meta tensor; no data!")
            return present_or_lost(v).array
        v.trace.finish(v)
    return v.array


def present_or_lost(v):
    """What a Value without array or trace stands for: memory that others may write, or an operator that failed."""
    now = present(v)
    if now.array is None:
        raise lost(v)
    return now


def literal(data, device=None):
    """A Value around host data (a NumPy array, not copied)."""
    if data.dtype == COMPLEX_HALF:
        half.announce()
        return value_of(data.view(HELD), meta_of(data.shape, COMPLEX_HALF, device or default_device()))
    return value_of(data, meta_of(data.shape, data.dtype, device or default_device()))
