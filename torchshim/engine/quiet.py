"""NumPy without its floating-point warnings, for a twentieth of what `np.errstate` costs: NumPy keeps its error state in a context
variable, so that a function which runs in a context where the warnings are off needs no other preparation."""
from __future__ import annotations

import contextvars
import threading

import numpy as np

from . import lines

# Elements of NumPy's buffers: a column that meets rows no shorter than half of it is read where it lies. In larger ones NumPy spreads it
# first, which takes twice as long as the arithmetic.
_BUFFER = 256


LARGE = 1 << 12            # elements of an array that is worth to be aligned: of fewer it costs more than it gains


def quiet_context(aligned=False):
    """A contextvars.Context without warnings; one thread at a time may be in it, once. aligned: see `lines`."""
    context = contextvars.Context()
    context.run(np.seterr, all="ignore")
    context.run(np.setbufsize, _BUFFER)
    if aligned:
        context.run(lines.begin)
    return context


class _Thread(threading.local):
    def __init__(self):
        self.run, self.run_aligned, self.inside = quiet_context().run, quiet_context(True).run, False


_thread = _Thread()


def quiet(f, *args):
    """f(*args) without NumPy's warnings."""
    thread = _thread
    if thread.inside:                          # a finalizer that computes while something is computed
        return f(*args)
    thread.inside = True
    try:
        return thread.run(f, *args)
    finally:
        thread.inside = False


def quiet_aligned(f, *args):
    """The same of what makes arrays of many elements."""
    thread = _thread
    if thread.inside:
        return f(*args)
    thread.inside = True
    try:
        return thread.run_aligned(f, *args)
    finally:
        thread.inside = False
