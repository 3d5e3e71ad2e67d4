"""NumPy's BLAS works on one thread while a trace is interpreted; large products are cut in parts, see `pool`.

OpenBLAS's threads wait for each other by spinning, and for 25 milliseconds after they were needed. Beside XLA's threads, ours, or where
other processes want the cores, products of some millions of terms took twenty times as long on two threads as on one. What the user
does with NumPy is left as it is. A BLAS that cannot be told (MKL, Accelerate) is left alone too.
"""
from __future__ import annotations

import ctypes
import functools
import sys

import numpy as np

_NAMES = [(prefix, suffix) for prefix in ("scipy_", "") for suffix in ("64_", "")]


def _found():
    """(path of the OpenBLAS that NumPy's core is linked with, what its names begin and end with); None if it is another BLAS."""
    for name, module in list(sys.modules.items()):
        if name.startswith("numpy.") and name.endswith("._multiarray_umath") and getattr(module, "__spec__", None) is not None:
            try:
                library = ctypes.PyDLL(module.__spec__.origin)      # keeps Python's lock: the calls are short
            except (OSError, TypeError):
                continue
            for prefix, suffix in _NAMES:
                if hasattr(library, f"{prefix}openblas_get_num_threads{suffix}"):
                    return library, module.__spec__.origin, prefix, suffix
    return None


_place = _found()
_get, _put = [getattr(_place[0], f"{_place[2]}openblas_{what}_num_threads{_place[3]}") if _place else None for what in ("get", "set")]
threads = 1 if _get is None else _get()         # as many as there are processors, or OMP_NUM_THREADS says


def one_thread():
    """Go down to one thread; returns what to give to `restore`. Whoever finds one thread has nothing to restore: so several Python
    threads may do this at once."""
    if _get is None:
        return 1
    before = _get()
    if before > 1:
        _put(1)
    return before


def restore(before):
    if before > 1:
        _put(before)


integer = ctypes.c_int64 if _place and _place[3] else ctypes.c_int32         # as Fortran's routines of this library take them


@functools.cache
def routine(name, arguments):
    """A Fortran routine of BLAS or LAPACK, as "dgetrf", that NumPy's library has and NumPy does not offer; None where it has not. Its
    arguments are addresses: of arrays as integers (`address`), of integers by `number`."""
    if _place is None:
        return None
    function = getattr(ctypes.CDLL(_place[1]), f"{_place[2]}{name}_{_place[3]}", None)      # gives up Python's lock meanwhile
    if function is not None:
        function.restype, function.argtypes = None, (ctypes.c_void_p,) * arguments
    return function


def number(n):
    return ctypes.byref(integer(n))


def address(array):
    """Where the elements of an array that has some begin."""
    if array.flags.c_contiguous and array.flags.writeable:
        return ctypes.addressof(_byte(array))  # a third of what `array.ctypes` takes, which is made anew each time
    return array.ctypes.data


_byte = ctypes.c_char.from_buffer


_given = functools.lru_cache(16)(number)        # which a routine reads only
_swaps = routine("dlaswp", 7)                  # exchanges the rows of a matrix one after the other


def can_swap():
    return _swaps is not None


def swapped(size, places):
    """What exchanging the elements k and places[k] of 0 ... size-1 gives, for k = 0, 1 ... in turn."""
    # float64 columns are copied as they are, and may as well be integers
    order, places = np.arange(size), (places + 1).astype(integer)
    one = _given(1)
    _swaps(one, order.ctypes.data, _given(size), one, _given(places.size), places.ctypes.data, one)
    return order
