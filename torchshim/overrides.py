"""torch.overrides: functions that leave their work to arguments with `__torch_function__`.

`handle_torch_function` and the tests beside it follow torch's protocol, for functions that use them. torchshim's own functions do not ask
their arguments: modes, which would see every call, raise NotImplementedError.
"""
from __future__ import annotations

import contextlib
import functools

from . import Tensor

__all__ = ["BaseTorchFunctionMode", "TorchFunctionMode", "get_ignored_functions", "handle_torch_function", "has_torch_function",
           "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like", "is_tensor_method_or_property", "resolve_name",
           "wrap_torch_function"]


def _overrides(x):
    method = getattr(type(x), "__torch_function__", None)
    return method is not None and method is not getattr(Tensor, "__torch_function__", None)


def has_torch_function(relevant_args):
    """Whether an argument has a `__torch_function__` of its own."""
    return any([_overrides(x) for x in relevant_args])


def has_torch_function_variadic(*relevant_args):
    """The same for arguments one by one."""
    return has_torch_function(relevant_args)


def has_torch_function_unary(x):
    """The same for one argument."""
    return _overrides(x)


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """The result of the first argument's `__torch_function__` that is not NotImplemented; subclasses go before their bases.

    TypeError if there is none.
    """
    chosen = []
    for x in relevant_args:
        if _overrides(x) and type(x) not in [type(y) for y in chosen]:
            at = next((k for k, y in enumerate(chosen) if isinstance(x, type(y))), len(chosen))
            chosen.insert(at, x)
    types = tuple([type(x) for x in chosen])
    for x in chosen:
        result = x.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    raise TypeError(f"no implementation found for '{public_api.__module__}.{public_api.__name__}' on types that implement "
                    f"__torch_function__: {[type(x) for x in chosen]}")


def wrap_torch_function(dispatcher):
    """A decorator for functions that ask the arguments `dispatcher(*args, **kwargs)` first."""
    def decorate(func):
        @functools.wraps(func)
        def asked(*args, **kwargs):
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(asked, relevant, *args, **kwargs)
            return func(*args, **kwargs)
        return asked
    return decorate


def is_tensor_like(inp):
    """Whether something is a tensor or says how functions treat it."""
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")


def is_tensor_method_or_property(func):
    """Whether a function is a method or property of Tensor."""
    return getattr(Tensor, getattr(func, "__name__", ""), None) is func or getattr(func, "__name__", "") == "__get__"


def resolve_name(f):
    """The public name of a function."""
    module = getattr(f, "__module__", None)
    return f"{module.replace('torchshim', 'torch', 1)}.{f.__qualname__}" if module else None


def get_ignored_functions():
    """The functions that never ask their arguments: an empty set here, as none does (see the module)."""
    return set()


class TorchFunctionMode:
    """A mode that sees every call; entering it raises NotImplementedError."""

    def __enter__(self):
        raise NotImplementedError("torchshim: TorchFunctionMode; calls do not ask for modes (see jax.make_jaxpr and torchshim.explain)")

    def __exit__(self, *exc):
        return False

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __enter__(self):
        return self


enable_reentrant_dispatch = contextlib.nullcontext
