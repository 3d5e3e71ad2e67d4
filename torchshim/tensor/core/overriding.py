"""The protocol of `__torch_function__`: who is asked, in which order, and when nobody is.

Plain calls know nothing of it. The public functions begin to look at their arguments' classes when the first class of tensors is defined
that wants to be asked, when a mode is entered, or when an operator first meets a foreign object; see `torchshim.overrides`.
"""
from __future__ import annotations

import contextlib
import functools

from ...engine import context, warn
from ...engine.site import is_ours
from .device import device
from .dtype import dtype
from .handle import TensorBase

_PLAIN = {int, float, bool, complex, str, bytes, slice, range, dict, type(None), type(...), dtype, device}      # never ask


begin_dispatch = None           # what lets calls be dispatched; set by tensor.py, as that lies above
dispatch = None                 # what public functions ask once somebody wants to see operators, see torchshim/_dispatch
DECLINED = object()             # what that gives where Python is to ask the other operand
_dispatching: dict = {}         # {class: whether it has a __torch_dispatch__}


def disabled_torch_dispatch_impl(cls, func, types, args=(), kwargs=None):
    """The `__torch_dispatch__` of classes that do not want to see operators."""
    return func(*args, **(kwargs or {}))


def dispatches(cls):
    """Whether instances of a class of tensors see the operators that meet them."""
    known = _dispatching.get(cls)
    if known is None:
        found = getattr(cls, "__torch_dispatch__", disabled_torch_dispatch_impl)
        known = _dispatching[cls] = found is not None and getattr(found, "__func__", found) is not disabled_torch_dispatch_impl
    return known


def disabled_torch_function_impl(func, types, args=(), kwargs=None):
    """The `__torch_function__` of classes that do not want to be asked: the function's own result."""
    with DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def never_asks(cls):
    """Let calls with instances of exactly this class be as fast as those without."""
    _PLAIN.add(cls)
    return cls


def overrides(x):
    """Whether an object's class has a `__torch_function__` of its own."""
    cls = type(x)
    return cls not in _PLAIN and getattr(cls, "__torch_function__", disabled_torch_function_impl) is not disabled_torch_function_impl


class Switches:
    """What a thread has switched: `off` is "subclasses" or "all", `stack` the modes that it is in."""
    __slots__ = ("off", "stack")

    def __init__(self):
        self.off, self.stack = None, []

    def __bool__(self):
        return self.off is not None or bool(self.stack)


def switches():
    """Those of this thread."""
    found = context.modes.get("torch function")
    if found is None:
        found = context.modes["torch function"] = Switches()
    return found


class _Disable:
    off = ""

    def __enter__(self):
        s = switches()
        self._before = s.off
        s.off = s.off if s.off == "all" else self.off

    def __exit__(self, *exc):
        switches().off = self._before
        return False


class DisableTorchFunctionSubclass(_Disable):
    """A context in which arguments are not asked; modes are."""
    off = "subclasses"


class DisableTorchFunction(_Disable):
    """A context in which neither arguments nor modes are asked."""
    off = "all"


def plainly():
    """A block that runs as it is written where a function is captured (torch.compile with a backend): what was noted down is computed first,
    and nothing of the block is noted down."""
    capture = context.modes.get("capture")
    return contextlib.nullcontext() if capture is None else capture.apart()


def aside(f):
    """A function that is called as it is where a function is captured, as `plainly` says."""
    @functools.wraps(f)
    def called(*args, **kwargs):
        if "capture" not in context.modes:
            return f(*args, **kwargs)
        with plainly():
            return f(*args, **kwargs)
    return called


def called_by_user(frame, name):
    """Whether the user's code called the method of this name that `frame` called: directly, or through the form of it that asks first."""
    while is_ours(frame) and (frame.f_code.co_name == name or frame.f_code.co_filename.endswith("overrides.py")):
        frame = frame.f_back
    return not is_ours(frame)


def settle():
    """Compute what a captured function has asked for so far, where somebody looks at it or changes what it depends on."""
    capture = context.modes.get("capture")
    if capture is not None:
        capture.settle_now()


def asked(args, kwargs=None):
    """The arguments to ask, one of each class, subclasses before their bases; elements of lists and tuples count as arguments."""
    found = []
    for x in args if not kwargs else (*args, *kwargs.values()):
        cls = x.__class__
        if cls in _PLAIN:
            continue
        if cls is list or cls is tuple:
            for y in x:
                if y.__class__ not in _PLAIN and overrides(y):
                    _insert(found, y)
        elif overrides(x):
            _insert(found, x)
    return found


def _insert(found, x):
    cls = type(x)
    if all([type(y) is not cls for y in found]):
        found.insert(next((k for k, y in enumerate(found) if issubclass(cls, type(y))), len(found)), x)


def ask(func, found, args, kwargs):
    """The first answer of a mode, then of the arguments `found`, that is not NotImplemented; NotImplemented if there is none."""
    s = context.modes.get("torch function")
    types = tuple([type(x) for x in found])
    if s is not None and s.stack and s.off != "all":
        mode, s.stack = s.stack[-1], s.stack[:-1]
        try:
            result = mode.__torch_function__(func, types, args, kwargs)
        finally:
            s.stack = [*s.stack, mode]
        if result is not NotImplemented:
            return result
    for x in found:
        method = x.__torch_function__
        if getattr(method, "__self__", None) is x:
            warn("Defining your `__torch_function__` as a plain method is deprecated and will be an error in future, please define it as a "
                 "classmethod.")
        result = method(func, types, args, kwargs)
        if result is not NotImplemented:
            return result
    return NotImplemented


def refused(name, found):
    """The error where all that were asked returned NotImplemented."""
    listed = "\n".join([f"  - tensor subclass {type(x)}" for x in found])
    return TypeError(f"Multiple dispatch failed for '{name}'; all __torch_function__ handlers returned NotImplemented:\n\n"
                     f"{listed}\n\nFor more information, try re-running with TORCH_LOGS=not_implemented")


def operator_answer(op, name, args, kwargs):
    """What a mode or an argument gives, in a tuple, for a call of an operator of torch.ops; None if nobody wants to be asked."""
    s = context.modes.get("torch function")
    if s is not None and s.off == "all":
        return None
    found = asked(args, kwargs) if s is None or s.off is None else []
    found = [x for x in found if not isinstance(x, TensorBase) or getattr(x, "_asks", True)]
    if not found and (s is None or not s.stack):
        return None
    result = ask(op, found, args, kwargs)
    if result is NotImplemented:
        if not found:
            return None
        raise refused("torch.ops" + name.replace("::", "."), found)
    return (result,)


def of_class(t, cls):
    """Give a new tensor object its class."""
    if dispatch is None and dispatches(cls):
        begin_dispatch()
    if cls.__basicsize__ == TensorBase.__basicsize__:
        t.__class__ = cls
        return t
    y = object.__new__(cls)                    # it has slots of its own: Python lays it out otherwise
    for name in ("_ts_st", "_ts_view", "_ts_edge", "_ts_extra"):
        setattr(y, name, getattr(t, name))
    y.__dict__.update(t.__dict__)
    return y


def convert(x, cls):
    """What a function returned, with its tensors as ones of `cls`."""
    if isinstance(x, TensorBase):
        return x if isinstance(x, cls) else x.as_subclass(cls)
    if isinstance(x, (tuple, list)) and any([isinstance(y, (TensorBase, tuple, list)) for y in x]):
        return type(x)([convert(y, cls) for y in x])
    return x
