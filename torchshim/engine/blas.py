"""NumPy's BLAS works on one thread while a trace is interpreted, but for products that are worth more.

OpenBLAS's threads wait for each other by spinning. Beside XLA's threads, or where other processes want the cores, products of some
millions of terms took twenty times as long on two threads as on one, and on an idle machine no less. What the user does with NumPy
is left as it is. A BLAS that cannot be told (MKL, Accelerate) is left alone too.
"""
from __future__ import annotations

import ctypes
import sys

WORTH = 1 << 26            # terms of a product from which on it gets all threads
_NAMES = [(prefix + "openblas_get_num_threads" + suffix, prefix + "openblas_set_num_threads" + suffix)
          for prefix in ("scipy_", "") for suffix in ("64_", "")]


def _found():
    """OpenBLAS's two functions in the library that NumPy's core is linked with; (None, None) if it is another BLAS."""
    for name, module in list(sys.modules.items()):
        if name.startswith("numpy.") and name.endswith("._multiarray_umath") and getattr(module, "__spec__", None) is not None:
            try:
                library = ctypes.PyDLL(module.__spec__.origin)      # keeps Python's lock: the calls are short
            except (OSError, TypeError):
                continue
            for get, put in _NAMES:
                try:
                    return getattr(library, get), getattr(library, put)
                except AttributeError:
                    continue
    return None, None


_get, _put = _found()
_threads = 1 if _get is None else _get()


def one_thread():
    """Go down to one thread; returns what to give to `restore`. Whoever finds one thread has nothing to restore: so several Python
    threads may do this at once."""
    if _get is None:
        return 1
    threads = _get()
    if threads > 1:
        _put(1)
    return threads


def restore(threads):
    if threads > 1:
        _put(threads)


def threaded(fn, threads=_threads):
    """`fn` with all threads."""
    if threads == 1:
        return fn

    def run(*args):
        _put(threads)
        try:
            return fn(*args)
        finally:
            _put(1)
    return run
