"""Arrays whose memory begins with a line of the processor's, in contexts that ask for it.

glibc gives memory that begins 16 bytes after such a line three times out of four. NumPy's loops over vectors of 64 bytes then read and write
two lines for each: the product of two arrays of 100,000 takes twice as long. NumPy lets whoever likes give it memory, by functions of C's
library here; it keeps them in a context variable, so that what the user does with NumPy is left as it is. An allocator that is not there
(other systems') leaves everything as it was.
"""
from __future__ import annotations

import ctypes
import sys
import sysconfig

LINE = 64
_SET_HANDLER = 304         # PyDataMem_SetHandler, in the table of NumPy's functions for C
_CAPSULE = b"mem_handler"
_RAW = 0                   # the domain of Python's memory that is C's own


class _Functions(ctypes.Structure):
    """Those of one allocator, of Python's or NumPy's: each gets `context` first."""
    _fields_ = [(name, ctypes.c_void_p) for name in ("context", "malloc", "calloc", "realloc", "free")]


class _Handler(ctypes.Structure):
    """NumPy's PyDataMem_Handler."""
    _fields_ = [("name", ctypes.c_char * 127), ("version", ctypes.c_uint8), ("functions", _Functions)]


def _made():
    """A function that gives arrays of the present context their memory so; None where that cannot be done."""
    if sys.implementation.name != "cpython" or sys.platform != "linux" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None
    python, own = ctypes.pythonapi, _Functions()
    try:
        from numpy._core import _multiarray_umath as core
        aligned = ctypes.cast(ctypes.CDLL(None).aligned_alloc, ctypes.c_void_p)
        python.PyMem_GetAllocator(_RAW, ctypes.byref(own))         # void, of an int and an address
        if own.context:                        # not those of C's library, but some that look for errors
            return None
        inside = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", python))
        table = ctypes.cast(inside(core._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    except (AttributeError, ImportError, OSError):
        return None
    # aligned_alloc(LINE, size) is called as NumPy calls malloc(context, size); Python's own take no notice of the context
    handler = _Handler(b"torchshim", 1, _Functions(LINE, aligned, own.calloc, own.realloc, own.free))
    python.Py_IncRef(ctypes.py_object(handler))            # the last arrays of a process are freed after everything else
    capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(("PyCapsule_New", python))(
        ctypes.addressof(handler), _CAPSULE, None)
    python.Py_IncRef(ctypes.py_object(_CAPSULE))           # likewise: the capsule points to its name
    put = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[_SET_HANDLER])
    return lambda: put(capsule)


_begin = _made()


def begin():
    """From now on, arrays that are made in the present context begin with a line of memory."""
    if _begin is not None:
        _begin()
