"""Tensors in queues and arguments: their memory is shared, not copied."""
from __future__ import annotations

import os
import weakref
from multiprocessing.context import get_spawning_popen
from multiprocessing.reduction import DupFd, ForkingPickler

from .. import Tensor
from ..nn.parameter import Parameter
from ..tensor.core.shared import received, share, shared_file


def _rebuild(kind, handle, shape, dtype, size, stride, offset, requires_grad):
    t = received(handle.detach(), shape, dtype)
    if (tuple(t.shape), t.stride(), 0) != (size, stride, offset):
        t = t.as_strided(size, stride, offset).detach()
    return Parameter(t, requires_grad) if kind is Parameter else t.requires_grad_(requires_grad)


def refuse_history(t):
    """RuntimeError for a tensor with a history, which stays in its process."""
    if t.requires_grad and not t.is_leaf:
        raise RuntimeError("Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing "
                           "process boundaries.  If you just want to transfer the data, call detach() on the tensor before serializing "
                           "(e.g., putting it on the queue).")


def reduce_tensor(t):
    """How multiprocessing pickles a tensor. RuntimeError for one with a history."""
    refuse_history(t)
    if t.device.type != "cpu" or t.is_conj() or t.is_neg() or not t.numel():
        return t.__reduce_ex__(2)              # a copy
    share(t)
    fd, shape, dtype = shared_file(t)
    popen = get_spawning_popen()
    if popen is not None:                      # a process that starts takes each descriptor once
        fd = os.dup(fd)
        weakref.finalize(popen, os.close, fd)
    return _rebuild, (type(t), DupFd(fd), shape, dtype, tuple(t.shape), t.stride(), t.storage_offset(), t.requires_grad)


def init_reductions():
    """Let multiprocessing send tensors and parameters so."""
    ForkingPickler.register(Tensor, reduce_tensor)
    ForkingPickler.register(Parameter, reduce_tensor)
