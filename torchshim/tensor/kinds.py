"""Tensors of another kind than dense ones: classes that answer for themselves, function by function.

A kind has a table of `Answers`: `handles("mul", "__mul__")` declares the answer to all public functions and methods of these names, `PLAIN`
names those that need no answer of their own, as they ask for nothing but shape, dtype and device. All others are refused by name.
Functions ask through `__torch_function__`, which a program without such tensors does not pay for.
"""
from __future__ import annotations

import functools
import types

from .api.bind import FUNCTIONS
from .core.tensor import Tensor

_PACKAGE = __name__.partition(".")[0] + "."
PLAIN = set("""shape size dim ndim ndimension numel nelement dtype device is_cpu is_cuda is_meta is_xpu is_mps is_quantized
    is_floating_point is_complex is_signed element_size itemsize get_device is_conj is_neg output_nr __hash__ __class__ is_tensor volatile
    is_inference is_nested has_names __reduce_ex__ linalg._lobpcg.lobpcg requires_grad requires_grad= requires_grad_ is_leaf grad_fn grad
    grad= grad/ retains_grad retain_grad register_hook register_post_accumulate_grad_hook backward autograd.grad grad_dtype __dir__
    __setstate__ """.split())


class Answers(dict):
    """{name: what answers to the functions of that name, with their arguments}."""

    def __init__(self):
        self.wrapping = set()

    def handles(self, *names):
        """A decorator: the answer to the functions of these names, with their arguments."""
        def put(f):
            for name in names:
                self[name] = f
            return f
        return put

    def wraps(self, f):
        """A decorator: the answer gets the function itself first."""
        self.wrapping.add(f)
        return f


@functools.cache
def _known():
    """{function or property of torch and Tensor: the name that torch has for it}; the bodies of some have others."""
    return {f: name for space in (FUNCTIONS, vars(Tensor)) for name, f in space.items() if isinstance(f, (types.FunctionType, property))}


def name_of(func):
    """The name of a function, or of the property that a getter or setter (then with "=") belongs to. Functions that are neither torch's own
    nor Tensor's have their module's name before it, as in linalg.norm."""
    owner = getattr(func, "__self__", None)
    if isinstance(owner, property):
        return _known().get(owner, "property") + {"__set__": "=", "__delete__": "/"}.get(func.__name__, "")
    module = "nn.functional" if ".nn.functional" in func.__module__ else func.__module__.removeprefix(_PACKAGE).removeprefix("torch.")
    return _known().get(func) or f"{module}.{func.__name__}"


def unasked(func):
    """A function as it is for tensors that nobody is asked about."""
    owner = getattr(func, "__self__", None)
    if isinstance(owner, property):
        part = {"__get__": owner.fget, "__set__": owner.fset, "__delete__": owner.fdel}[func.__name__]
        return getattr(part, "__wrapped__", part)
    return getattr(func, "__wrapped__", func)


class Kind(Tensor):
    """The base of kinds: `_answers` is the class's table, `_refusal(name, args)` the error where nobody answers."""
    __slots__ = ()
    _asks = False
    _answers = Answers()

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name, kwargs = name_of(func), kwargs or {}
        answer = cls._answers.get(name)
        if answer is not None:
            return answer(func, *args, **kwargs) if answer in cls._answers.wrapping else answer(*args, **kwargs)
        if name in PLAIN:
            return unasked(func)(*args, **kwargs)
        raise cls._refusal(name, args)


Kind.__name__ = Kind.__qualname__ = "Tensor"
Kind.__module__ = "torch"
