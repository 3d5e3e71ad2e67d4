"""torch.ops.profiler: ranges that a program begins and ends by calls, as a traced graph does."""
from __future__ import annotations

import itertools

from ..overrides import handle_torch_function, has_torch_function_unary
from ..autograd.profiler import record_function

_open, _numbers = {}, itertools.count(1)


def _record_function_enter(name, args=None):
    """Begin a range; the tensor that stands for it is given to `_record_function_exit`."""
    from ..tensor.api.creation import tensor
    number = next(_numbers)
    _open[number] = record_function(name, args)
    record_function.__enter__(_open[number])
    return tensor(number)


def _record_function_enter_new(name, args=None):
    """Begin a range; gives the range itself."""
    return record_function(name, args).__enter__()


def _record_function_exit(handle):
    """End a range. RuntimeError for what stands for none."""
    if has_torch_function_unary(handle):       # a tracer's value: the call becomes a step
        from ..ops import profiler as ops
        return handle_torch_function(ops._record_function_exit, (handle,), handle)
    begun = handle if isinstance(handle, record_function) else _open.pop(handle.item(), None)
    if begun is None:
        raise RuntimeError("Expected temporary cpp type wrapper")
    begun.__exit__(None, None, None)


KERNELS = {f.__name__: f for f in (_record_function_enter, _record_function_enter_new, _record_function_exit)}
