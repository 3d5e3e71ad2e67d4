"""Storages that several processes share: their memory lies in a file without a name, which all of them map.

Such a storage is one that NumPy can see (see host.py): each write goes to the memory at once, each read takes what is there.
From that read to the write a process has the memory for itself: what another adds meanwhile would be lost, and computing takes long.
"""
from __future__ import annotations

import contextlib
import mmap
import os
import weakref

import numpy as np

from ...engine import array_of, borrowed, context, meta_of, present, value_of, writers
from .device import to_jax
from .dispatch import wrap
from .host import hosted

_shared = weakref.WeakKeyDictionary()          # {storage: (its File, the array on it)}
_known = weakref.WeakValueDictionary()         # {(device, inode): storage}: what arrives twice is the same memory again


class File:
    """Owns a file descriptor."""

    def __init__(self, fd):
        self.fd = fd
        weakref.finalize(self, os.close, fd)


def _mapped(fd, shape, dtype):
    size = int(np.prod(shape, dtype=np.int64))
    return np.frombuffer(mmap.mmap(fd, max(size * dtype.itemsize, 1)), dtype, size).reshape(shape)


def _keep(st, fd, array):
    _shared[st] = File(fd), array
    about = os.fstat(fd)
    _known[about.st_dev, about.st_ino] = st
    writers.share(_alone)


@contextlib.contextmanager
def _alone(tensors):
    """A block in which no other process writes to those of `tensors` that are shared. What was recorded is computed before."""
    files = {t._ts_st: _shared[t._ts_st][0].fd for t in tensors if t._ts_st in _shared}
    if not files:
        yield
        return
    import fcntl                               # here: it is there where such files are
    context.trace.flush(raise_failure=False)
    fds = [fd for _, fd in sorted([(os.fstat(fd).st_ino, fd) for fd in files.values()])]       # all processes in the same order
    held = []
    try:
        for fd in fds:
            fcntl.lockf(fd, fcntl.LOCK_EX)
            held.append(fd)
        yield
    finally:
        for fd in held:
            fcntl.lockf(fd, fcntl.LOCK_UN)


def is_shared(t):
    """Whether a tensor's memory is shared; that of accelerators counts as such."""
    return t.device.type != "cpu" or t._ts_st in _shared


def share(t):
    """Move a CPU tensor's memory to where other processes can map it. NotImplementedError where the system has no such files."""
    st = t._ts_st
    if is_shared(t):
        return
    if not hasattr(os, "memfd_create"):
        raise NotImplementedError("torchshim: sharing memory on a system without memfd_create")
    value = present(st.value)
    m, a = value.meta, np.asarray(array_of(value))
    fd = os.memfd_create("torchshim")
    os.ftruncate(fd, max(a.nbytes, 1))
    array = _mapped(fd, a.shape, a.dtype)
    array[...] = a
    st.value = value                           # if NumPy saw the old memory, it no longer does
    hosted(st, borrowed(array, meta_of(m.shape, m.dtype, m.device)))
    _keep(st, fd, array)


def shared_file(t):
    """(file descriptor, shape, dtype) of a shared tensor's storage."""
    file, array = _shared[t._ts_st]
    return file.fd, array.shape, array.dtype


def received(fd, shape, dtype):
    """A tensor of all of a shared storage, from another process's file descriptor, which is taken over."""
    about = os.fstat(fd)
    st = _known.get((about.st_dev, about.st_ino))
    if st is not None:
        os.close(fd)
    else:
        array = _mapped(fd, shape, dtype)
        m = meta_of(shape, dtype, to_jax("cpu"))
        st = wrap(value_of(array, m))._ts_st
        hosted(st, borrowed(array, m))
        _keep(st, fd, array)
    t = wrap(st.value)
    t._ts_st = st
    return t
