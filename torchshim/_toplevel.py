"""Functions of `torch.` itself that programs use rarely: checks, numbers of threads, sizes that may be symbols."""
from __future__ import annotations

import math
import os

from . import Tensor, device as _device

_settings = {"threads": None, "interop": None, "precision": "highest"}


has_lapack = has_spectral = True              # NumPy's and XLA's
has_mkl = has_openmp = False


def is_vulkan_available():
    """False."""
    return False


def is_distributed(input, /):
    """False: no tensor is of the kind that torch once meant."""
    return input.is_distributed()


def typename(obj, /):
    """The name of an object's type: that of its dtype's old class for a tensor (torch.FloatTensor), with its module for all but builtins."""
    if isinstance(obj, Tensor):
        return obj.type()
    module, name = getattr(obj, "__module__", "") or "", getattr(obj, "__qualname__", "") or ""
    if not name:
        module, name = type(obj).__module__ or "", type(obj).__qualname__
    if module in ("", "builtins"):
        return name
    return f"{module.replace('torchshim', 'torch', 1)}.{name}"


def _assert(condition, message):
    """AssertionError with the message unless the condition is true."""
    assert condition, message


def _checked(error, cond, message):
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is not None and not callable(message):
        raise TypeError("message must be a callable")
    text = str(message()) if message is not None else (
        "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an enhancement request to "
        "PyTorch.)")
    raise error(text)


def _check(cond, message=None):
    """RuntimeError unless cond is True; `message()` makes the text."""
    _checked(RuntimeError, cond, message)


def _check_index(cond, message=None):
    """The same with IndexError."""
    _checked(IndexError, cond, message)


def _check_value(cond, message=None):
    """The same with ValueError."""
    _checked(ValueError, cond, message)


def _check_type(cond, message=None):
    """The same with TypeError."""
    _checked(TypeError, cond, message)


def _check_not_implemented(cond, message=None):
    """The same with NotImplementedError."""
    _checked(NotImplementedError, cond, message)


def _check_is_size(i, message=None, *, max=None):
    """RuntimeError unless i >= 0."""
    _check(i >= 0, message)


def _assert_async(input, msg="Expected Tensor with single nonzero value, but got zero"):
    """RuntimeError unless the only element is true."""
    if not bool(input):
        raise RuntimeError(msg)


def get_num_threads():
    """The number that was set, else that of the processors. XLA chooses its own."""
    return _settings["threads"] or (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())


def _positive(name, n):
    if not isinstance(n, int):
        raise TypeError(f"{name} expects an int, but got {type(n).__name__}")
    if n <= 0:
        raise RuntimeError(f"{name} expects a positive integer")
    return n


def set_num_threads(int, /):
    """Kept and read back; XLA takes its number from the process's processors. RuntimeError unless it is positive."""
    _settings["threads"] = _positive("set_num_threads", int)


def get_num_interop_threads():
    """The number that was set, else that of `get_num_threads`."""
    return _settings["interop"] or get_num_threads()


def set_num_interop_threads(int, /):
    """Kept and read back. RuntimeError unless it is positive."""
    _settings["interop"] = _positive("set_num_interop_threads", int)


def get_float32_matmul_precision():
    """What was set: "highest" unless something else was."""
    return _settings["precision"]


def set_float32_matmul_precision(precision):
    """Kept and read back: products of float32 keep their full precision, which every choice allows."""
    if precision in ("highest", "high", "medium"):
        _settings["precision"] = precision


def get_device_module(device=None):
    """torch.cpu, torch.cuda ..., by a device or its type."""
    import importlib

    from . import cuda
    kind = _device(device).type if device is not None else "cuda" if cuda.is_available() else "cpu"
    return importlib.import_module(f"{__package__}.{kind}")


class SymInt:
    """A size that may be a symbol: sizes are numbers here, and none is of this class."""


class SymFloat:
    """The same for floats."""


class SymBool:
    """The same for truths."""


def sym_int(a):
    """An int, rounded towards zero."""
    return math.trunc(a)


def sym_float(a):
    """A float."""
    return float(a)


def sym_max(a, b):
    """The larger one."""
    return max(a, b)


def sym_min(a, b):
    """The smaller one."""
    return min(a, b)


def sym_not(a):
    """not a."""
    return not a


def sym_ite(b, t, f):
    """t if b else f."""
    return t if b else f


def sym_sum(args):
    """Their sum."""
    return sum(args)


def _shape_as_tensor(t):
    """The sizes, as a tensor of int64."""
    from . import tensor
    return tensor(tuple(t.shape))


def compiled_with_cxx11_abi():
    """True: there is no C++ of another kind here."""
    return True


def is_storage(obj, /):
    """Whether obj is a storage."""
    from . import TypedStorage, UntypedStorage
    return isinstance(obj, (TypedStorage, UntypedStorage))


def cond(pred, true_fn, false_fn, operands=()):
    """true_fn(*operands) if pred, else false_fn(*operands); only that branch runs.

    pred: a number, or a tensor of one element, for which the branches must be callable and the operands tensors, which may be nested:
    RuntimeError for anything else.
    """
    if not isinstance(pred, (bool, int, float)):
        from .utils._pytree import tree_leaves
        if not isinstance(pred, Tensor):
            raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
        if pred.numel() != 1:
            raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
        if not callable(true_fn) or not callable(false_fn):
            raise RuntimeError("Expect both branches to be callable.")
        if not isinstance(operands, (tuple, list)) or not all(isinstance(x, Tensor) for x in tree_leaves(operands)):
            raise RuntimeError("Expect operands to be a tuple of possibly nested dict/list/tuple that only consists of tensor leaves, but got "
                               f"{operands}.")
    return true_fn(*operands) if pred else false_fn(*operands)
