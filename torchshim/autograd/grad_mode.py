"""Grad modes: no_grad, enable_grad, set_grad_enabled, inference_mode as contexts and decorators."""
from __future__ import annotations

import functools
import inspect
import warnings

from ..engine import context
from ..tensor.core.handle import TensorBase
from ..tensor.core.write import UNVERSIONED


class _Forward:
    """`context.grad` where no gradients are recorded but tangents are computed: nodes must be made, for autograd/forward_ad.py."""


FORWARD = _Forward()
off = False                # what `context.grad` is where gradients are off


class grad_mode:
    """Switch recording of the graph for a `with` block (the bare form that the library itself uses)."""
    __slots__ = ("on", "before")

    def __init__(self, on):
        self.on = on

    def __enter__(self):
        self.before, context.grad = context.grad, self.on or off

    def __exit__(self, *exc):
        context.grad = self.before


class _Decorating:
    """A context that also decorates functions and generator functions, entered anew for each call or step."""

    def clone(self):
        return type(self)()

    def __call__(self, f):
        if inspect.isclass(f):
            warnings.warn("Decorating classes is deprecated and will be disabled in future versions. You should only decorate functions or "
                          "methods. To preserve the current behavior of class decoration, you can directly decorate the `__init__` method "
                          "and nothing else.", FutureWarning, stacklevel=2)
            made, f = f, lambda *args, **kwargs: made(*args, **kwargs)
        if inspect.isgeneratorfunction(f):
            @functools.wraps(f)
            def generator(*args, **kwargs):
                with self.clone():
                    g = f(*args, **kwargs)
                    send, value = g.send, None
                try:
                    with self.clone():
                        out = next(g)
                    while True:
                        try:
                            value = yield out
                        except GeneratorExit:
                            with self.clone():
                                g.close()
                            raise
                        except BaseException as e:
                            with self.clone():
                                out = g.throw(e)
                        else:
                            with self.clone():
                                out = send(value)
                except StopIteration as e:
                    return e.value
            return generator

        @functools.wraps(f)
        def wrapped(*args, **kwargs):
            with self.clone():
                return f(*args, **kwargs)
        return wrapped


class no_grad(_Decorating):
    """Results need no gradient inside."""

    before = True

    def __new__(cls, orig_func=None):
        self = object.__new__(cls)
        return self if orig_func is None else self(orig_func)

    def __enter__(self):
        self.before, context.grad = context.grad, off

    def __exit__(self, *exc):
        context.grad = self.before


class enable_grad(no_grad):
    """Results need gradients again inside."""

    def __enter__(self):
        # in inference mode no graph is built, whatever is switched on
        self.before, context.grad = context.grad, not context.inference


class set_grad_enabled(_Decorating):
    """Switch gradients on or off: takes effect at once, and is undone at the end of a `with` block."""

    def __init__(self, mode):
        if mode.__class__ is not bool:
            from ..tensor.api.parameters import type_name
            raise TypeError(f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, not {type_name(mode)}")
        self.before, self.mode = context.grad, mode
        context.grad = mode or off

    def __call__(self, f):
        context.grad = self.before
        return super().__call__(f)

    def __enter__(self):
        context.grad = self.mode or off

    def __exit__(self, *exc):
        context.grad = self.before

    def clone(self):
        return type(self)(self.mode)

    def __repr__(self):
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"


def _set_inference(on):
    context.inference = on
    context.version = context.trace.version = UNVERSIONED if on else 0


class inference_mode(_Decorating):
    """no_grad, and the tensors made inside can never take part in a graph."""

    def __new__(cls, mode=True):
        if isinstance(mode, bool):
            return super().__new__(cls)
        self = super().__new__(cls)
        self.__init__()
        return self(mode)

    def __init__(self, mode=True):
        self.mode = mode if isinstance(mode, bool) else True

    def __enter__(self):
        self.before = context.grad, context.inference
        context.grad = not self.mode
        _set_inference(self.mode)

    def __exit__(self, *exc):
        context.grad = self.before[0]
        _set_inference(self.before[1])

    def clone(self):
        return type(self)(self.mode)


class set_multithreading_enabled(_Decorating):
    """Whether backward may use several threads; it runs in the calling one here, so nothing depends on it. Takes effect at once."""
    enabled = True

    def __init__(self, mode):
        self.before, self.mode = set_multithreading_enabled.enabled, mode
        set_multithreading_enabled.enabled = mode

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        set_multithreading_enabled.enabled = self.before

    def clone(self):
        return type(self)(self.mode)


def is_multithreading_enabled():
    """What set_multithreading_enabled said."""
    return set_multithreading_enabled.enabled


def is_grad_enabled():
    """Whether results need gradients now."""
    return context.grad is True


def is_inference_mode_enabled():
    """Whether inside inference_mode."""
    return context.inference


class _unsafe_preserve_version_counter:
    """A context after which tensors have the versions that they had before."""

    def __init__(self, tensors):
        self.tensors = (tensors,) if isinstance(tensors, TensorBase) else tuple(tensors)
        self.versions = [t._version for t in self.tensors]

    def __enter__(self):
        return None

    def __exit__(self, *exc):
        for t, n in zip(self.tensors, self.versions):
            extra = t._ts_extra
            if extra is not None and extra.version is not None:
                extra.version[0] = n
            else:
                t._ts_st.version = n
