"""torch.library: operators of a program's own, written in Python. They are found under `torch.ops.<namespace>.<name>`."""
from __future__ import annotations

import types

from .. import autograd, ops as _ops
from ..dropin import missing_attribute as _missing_attribute

__all__ = ["CustomOpDef", "Library", "custom_op", "define", "impl", "register_autograd", "register_fake", "register_kernel"]
_known = {}


def _place(qualname, op):
    space, name = qualname.split("::")
    home = getattr(_ops, space)
    if isinstance(home, types.ModuleType):
        raise NotImplementedError(f"torchshim: operators in the namespace {space!r}, which is a part of torchshim")
    setattr(home, name, op)
    _known[qualname] = op


class CustomOpDef:
    """An operator: callable; `register_autograd` gives it a gradient."""

    def __init__(self, qualname, fn=None):
        self._qualname, self._kernel, self._backward, self._setup = qualname, fn, None, None
        self._function = None
        _place(qualname, self)

    default = property(lambda self: self, doc="The only overload.")

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"

    def register_kernel(self, device_types, fn=None, /):
        """A decorator: the function that computes. One for all devices: XLA compiles what it calls."""
        if fn is None:
            return lambda f: self.register_kernel(device_types, f)
        self._kernel = fn
        return fn

    def register_fake(self, fn, /):
        """A decorator for the shape function; shapes are found by running the operator, so it is not called."""
        return fn

    def register_vmap(self, func=None):
        """NotImplementedError: vmap goes through what the operator calls."""
        raise NotImplementedError("torchshim: register_vmap; vmap goes through what the operator calls")

    def register_torch_dispatch(self, torch_dispatch_class, fn=None, /):
        """NotImplementedError."""
        raise NotImplementedError("torchshim: register_torch_dispatch; there is no __torch_dispatch__")

    def register_autograd(self, backward, /, *, setup_context=None):
        """The gradient: backward(ctx, *grads), and setup_context(ctx, inputs, output), which saves for it."""
        op = self

        class Custom(autograd.Function):
            @staticmethod
            def forward(ctx, *args):
                output = op._kernel(*args)
                if setup_context is not None:
                    setup_context(ctx=ctx, inputs=args, output=output)
                return output

        Custom.backward = staticmethod(backward)
        Custom.__name__ = Custom.__qualname__ = f"GeneratedBackwardFor_{self._qualname.replace('::', '_')}_default"
        self._function = Custom

    def __call__(self, *args, **kwargs):
        if self._kernel is None:
            raise NotImplementedError(f"{self._qualname}: no implementation is registered")
        if self._function is None:
            return self._kernel(*args, **kwargs)
        if kwargs:
            import inspect
            bound = inspect.signature(self._kernel).bind(*args, **kwargs)
            bound.apply_defaults()
            args = tuple(bound.arguments.values())
        return self._function.apply(*args)


def custom_op(name, fn=None, /, *, mutates_args=(), device_types=None, schema=None, tags=None):
    """A decorator: a function as the operator `name` ("namespace::name"), a CustomOpDef. ValueError for a name without a namespace."""
    if fn is None:
        return lambda f: custom_op(name, f, mutates_args=mutates_args)
    if name.count("::") != 1:
        raise ValueError(f"Expected qualname to be of the form 'namespace::name', but got {name}. The qualname passed to the torch.library API "
                         "must consist of a namespace and a name, e.g. aten::sin")
    return CustomOpDef(name, fn)


def _op(qualname):
    if isinstance(qualname, CustomOpDef):
        return qualname
    if qualname not in _known:
        raise NotImplementedError(f"torchshim: torch.library for {qualname}, which no program has defined")
    return _known[qualname]


def define(qualname, schema, *, lib=None, tags=()):
    """Declare an operator, whose implementation follows."""
    CustomOpDef(qualname)


def impl(qualname, types, func=None, *, lib=None):
    """A decorator: the implementation of an operator."""
    return _op(qualname).register_kernel(types, func)


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """A decorator: the implementation of an operator."""
    return _op(op).register_kernel(device_types, func)


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=False):
    """A decorator for an operator's shape function, which is not needed here."""
    return (lambda f: f) if func is None else func


impl_abstract = register_fake


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """An operator's gradient; see `CustomOpDef.register_autograd`."""
    _op(op).register_autograd(backward, setup_context=setup_context)


class Library:
    """Operators of one namespace: `define` declares one by its schema, `impl` gives its function."""

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError("Unsupported kind: ", kind)
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema, alias_analysis="", *, tags=()):
        """Declare an operator; returns its name."""
        name = schema.partition("(")[0].strip().partition(".")[0]
        CustomOpDef(f"{self.ns}::{name}")
        return name

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=False):
        """The function of an operator. One that is only for shapes or gradients of the dispatcher's is not needed."""
        key = dispatch_key or self.dispatch_key
        if key in ("Meta", "Autograd", "AutogradCPU", "AutogradCUDA"):
            return
        name = op_name if isinstance(op_name, str) else op_name._qualname
        _op(name if "::" in name else f"{self.ns}::{name}")._kernel = fn


def _missing(name):
    def missing(*args, **kwargs):
        raise NotImplementedError(f"torchshim: torch.library.{name}")
    missing.__name__ = missing.__qualname__ = name
    missing.__doc__ = "NotImplementedError."
    return missing


get_ctx, opcheck, infer_schema, triton_op, wrap_triton = map(_missing, ("get_ctx", "opcheck", "infer_schema", "triton_op", "wrap_triton"))
register_vmap, register_torch_dispatch = map(_missing, ("register_vmap", "register_torch_dispatch"))

__getattr__ = _missing_attribute(__name__)
