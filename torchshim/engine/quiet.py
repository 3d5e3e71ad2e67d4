"""NumPy without its floating-point warnings, for a twentieth of what `np.errstate` costs: NumPy keeps its error state in a context
variable, so that a function which runs in a context where the warnings are off needs no other preparation."""
from __future__ import annotations

import contextvars
import threading
from operator import attrgetter

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


def _entering(run):
    """A function that calls one in a context of the present thread's; run: which, as an attribute of `_Thread`."""
    of = attrgetter(run)

    def entered(f, *args):
        thread = _thread
        if thread.inside:                      # a finalizer that computes while something is computed
            return f(*args)
        thread.inside = True
        try:
            return of(thread)(f, *args)
        finally:
            thread.inside = False
    return entered


# f(*args) without NumPy's warnings; the same of what makes arrays of many elements
quiet, quiet_aligned = _entering("run"), _entering("run_aligned")
