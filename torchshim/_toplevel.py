"""Functions of `torch.` itself that programs use rarely: checks, and the classes of sizes that may be symbols."""
from __future__ import annotations

from . import Tensor, device as _device
from .engine import warn
from .tensor.api.signatures import guarded as _guarded

has_lapack = has_spectral = True              # NumPy's and XLA's
has_mkl = has_openmp = False


def is_vulkan_available():
    """False."""
    return False


def is_distributed(input):
    """False: no tensor is of the kind that torch once meant."""
    return input.is_distributed()


is_distributed = _guarded(is_distributed, "is_distributed", False)


def _assert(condition, message):
    """AssertionError with the message unless the condition is true; a condition that wants to be asked (a Proxy of fx) is."""
    if not isinstance(condition, (bool, Tensor)) and hasattr(type(condition), "__torch_function__"):
        from .overrides import handle_torch_function
        return handle_torch_function(_assert, (condition,), condition, message)
    assert condition, message


def _checked(error, cond, message):
    if isinstance(cond, SymBool):
        cond.check(message)
        return
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


def _check_with(error_type, cond, message):
    """The same with an error of one's own."""
    _checked(error_type, cond, message)


def _check_tensor_all_with(error_type, cond, message=None):
    """The same for all elements of a tensor of bools."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype.name != "bool":
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _checked(error_type, bool(cond.all().item()), message)


def _check_tensor_all(cond, message=None):
    """RuntimeError unless all elements of a tensor of bools are true."""
    _check_tensor_all_with(RuntimeError, cond, message)


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
    """RuntimeError unless i >= 0 and, where it is given, i <= max."""
    warn("_check_is_size will be removed in a future PyTorch release along with guard_size_oblivious.     Use _check(i >= 0) instead.",
         FutureWarning)
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def sym_constrain_range(size, *, min=None, max=None):
    """RuntimeError unless min <= size <= max: sizes are numbers here."""
    low, high = -2 ** 63 if min is None else min, 2 ** 63 - 1 if max is None else max
    if not low <= size <= high:
        raise RuntimeError(f"Invalid value range for {size} between [{low}, {high}].")


def sym_constrain_range_for_size(size, *, min=None, max=None):
    """The same for what is no less than 0."""
    sym_constrain_range(size, min=0 if min is None else min, max=max)


def cudnn_is_acceptable(input):
    """Whether cuDNN would be asked: it is not."""
    return False


def init_num_threads():
    """Nothing: XLA chooses its threads."""


def _assert_async(input, msg="Expected Tensor with single nonzero value, but got zero"):
    """RuntimeError unless the only element is true."""
    if not bool(input):
        raise RuntimeError(msg)


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


def _cast_to(name):
    def cast(input, non_blocking=False):
        return getattr(input, name.lower())()
    cast.__name__ = cast.__qualname__ = f"_cast_{name}"
    cast.__doc__ = f"input.{name.lower()}(), as programs of torch's first years spell it."
    return cast


_cast_Byte, _cast_Char, _cast_Double, _cast_Float, _cast_Half, _cast_Int, _cast_Long, _cast_Short = map(
    _cast_to, ("Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short"))


def _as_tensor_fullprec(t):
    """as_tensor, with Python's numbers as they are there: in 64 bits."""
    from . import as_tensor, float64, int64
    kind = {float: float64, int: int64}.get(type(t))
    return as_tensor(t) if kind is None else as_tensor(t, dtype=kind)


def _shape_as_tensor(t):
    """The sizes, as a tensor of int64."""
    from . import tensor
    return tensor(tuple(t.shape))


def is_storage(obj, /):
    """Whether obj is a storage."""
    from . import TypedStorage, UntypedStorage
    return isinstance(obj, (TypedStorage, UntypedStorage))


_ASKED = {"has_mps": ("mps", "is_built"), "has_cuda": ("cuda", "is_built"), "has_cudnn": ("cudnn", "is_available"),
          "has_mkldnn": ("mkldnn", "is_available")}


def __getattr__(name):
    """The old names of what torch.backends answers, and of what does nothing."""
    if name == "set_vital":
        warn(f"'{name}' is deprecated, please do not call")
        return lambda *args: None
    if name not in _ASKED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    from . import backends
    part, question = _ASKED[name]
    warn(f"'{name}' is deprecated, please use 'torch.backends.{part}.{question}()'")
    return getattr(getattr(backends, part), question)()
