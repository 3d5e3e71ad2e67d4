"""NumPy without its floating-point warnings, for a twentieth of what `np.errstate` costs: NumPy keeps its error state in a context
variable, so that a function which runs in a context where the warnings are off needs no other preparation."""
from __future__ import annotations

import contextvars
import threading

import numpy as np


# Elements of NumPy's buffers: a column that meets rows no shorter than half of it is read where it lies. In larger ones NumPy spreads it
# first, which takes twice as long as the arithmetic.
_BUFFER = 256


def quiet_context():
    """A contextvars.Context without warnings; one thread at a time may be in it, once."""
    context = contextvars.Context()
    context.run(np.seterr, all="ignore")
    context.run(np.setbufsize, _BUFFER)
    return context


class _Thread(threading.local):
    def __init__(self):
        self.run, self.inside = quiet_context().run, False


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
