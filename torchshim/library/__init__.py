"""torch.library: operators of a program's own, written in Python. They are found under `torch.ops.<namespace>.<name>`."""
from __future__ import annotations

import weakref

from ..dropin import missing_attribute as _missing_attribute
from ..ops import refused_libraries
from .checks import OpCheckError, opcheck
from .operator import CustomOpDef, known as _known
from .schema import infer_schema, parse as _parse

__all__ = ["CustomOpDef", "Library", "OpCheckError", "custom_op", "define", "fallthrough_kernel", "get_ctx", "impl", "infer_schema",
           "opcheck",
           "register_autocast", "register_autograd", "register_fake", "register_kernel", "register_vmap", "triton_op", "wrap_triton"]
def custom_op(name, fn=None, /, *, mutates_args=(), device_types=None, schema=None, tags=None):
    """A decorator: a function as the operator `name` ("namespace::name"), a CustomOpDef.

    mutates_args: the names of arguments that it writes to; schema: its signature where the annotations don't say it; device_types: where it
    computes (default: everywhere). ValueError for a name without a namespace and for annotations that are missing.
    """
    if fn is None:
        return lambda f: custom_op(name, f, mutates_args=mutates_args, device_types=device_types, schema=schema)
    if name.count("::") != 1:
        raise ValueError(f"Expected qualname to be of the form 'namespace::name', but got {name}. The qualname passed to the "
                         f"torch.library API "
                         "must consist of a namespace and a name, e.g. aten::sin")
    return CustomOpDef(name, fn, schema, mutates_args, device_types)


def _op(qualname):
    if isinstance(qualname, CustomOpDef):
        return qualname
    if qualname not in _known:
        raise NotImplementedError(f"torchshim: torch.library for {qualname}, which no program has defined")
    return _known[qualname]


def define(qualname, schema, *, lib=None, tags=()):
    """Declare an operator, whose implementation follows. ValueError for a name without a namespace."""
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}")
    CustomOpDef(qualname, None, schema)


def impl(qualname, types, func=None, *, lib=None):
    """A decorator: the implementation of an operator on devices ("default": all)."""
    types = [None if t == "default" else t for t in ((types,) if isinstance(types, str) else types)]
    return _op(qualname).register_kernel(types, func)


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """A decorator: the implementation of an operator."""
    return _op(op).register_kernel(device_types, func)


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=False):
    """A decorator for an operator's function on meta tensors. RuntimeError for an operator that nobody defined, unless the library that
    would have done so has a compiled part that could not be loaded: it goes on without its operators then."""
    if func is None:
        return lambda f: register_fake(op, f)
    if isinstance(op, str) and op not in _known:
        if op.partition("::")[0] not in refused_libraries:
            raise RuntimeError(f"operator {op} does not exist")
        _waiting.setdefault(op, []).append((func, "Meta"))
        return func
    return _op(op).register_fake(func)


impl_abstract = register_fake


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """An operator's gradient; see `CustomOpDef.register_autograd`."""
    _op(op).register_autograd(backward, setup_context=setup_context)


def register_autocast(op, device_type, cast_inputs, /, *, lib=None):
    """The dtype of an operator's inputs under autocast; see `CustomOpDef.register_autocast`."""
    _op(op).register_autocast(device_type, cast_inputs)


def register_vmap(op, func=None, /, *, lib=None):
    """A decorator: an operator's rule for vmap; see `CustomOpDef.register_vmap`."""
    return (lambda f: register_vmap(op, f)) if func is None else _op(op).register_vmap(func)


def triton_op(name, fn=None, /, *, mutates_args, schema=None):
    """A decorator like `custom_op`, for functions that call Triton's kernels through `wrap_triton` in torch."""
    return custom_op(name, fn, mutates_args=mutates_args, schema=schema)


def wrap_triton(triton_kernel, /):
    """ModuleNotFoundError without Triton, as in torch; NotImplementedError with it."""
    import triton  # noqa: F401
    raise NotImplementedError("torchshim: Triton's kernels")


def get_ctx():
    """The context of a shape function that is running: none."""


def fallthrough_kernel():
    """Handed to `Library.impl`: nothing for this key."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


_defined = weakref.WeakValueDictionary()
_waiting: dict = {}                            # functions given before their operator is declared


class Library:
    """Operators of one namespace: `define` declares one by its schema, `impl` gives its function."""

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns in ("prim",) and kind in ("DEF", "FRAGMENT"):
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        if kind == "DEF":
            if ns in _defined:
                raise RuntimeError(f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; please put all of your "
                                   f"definitions "
                                   "in a single TORCH_LIBRARY block.")
            _defined[ns] = self
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def __repr__(self):
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema, alias_analysis="", *, tags=()):
        """Declare an operator; returns its name. RuntimeError for what is no schema, and for one that is there already."""
        space, named, _ = schema.partition("(")[0].rpartition("::")
        if named:
            if space.strip() != self.ns:
                raise RuntimeError(f"Explicitly provided namespace ({space.strip()}) in schema string does not match namespace of enclosing "
                                   f"TORCH_LIBRARY block ({self.ns}).  Move this definition to the (unique) TORCH_LIBRARY block corresponding "
                                   "to this namespace (and consider deleting the namespace from your schema string.)")
            schema = schema.partition("::")[2]
        made = _parse(schema)
        name = made.name.partition(".")[0]
        if f"{self.ns}::{made.name}" in _known:
            raise RuntimeError(f"Tried to register an operator ({self.ns}::{schema}) with the same name and overload name multiple times. "
                               f"Each "
                               "overload's schema should only be registered with a single call to def().")
        if name != made.name and f"{self.ns}::{name}" in _known:
            raise NotImplementedError(f"torchshim: a second overload of {self.ns}::{name}")
        CustomOpDef(f"{self.ns}::{name}", None, schema)
        for given in _waiting.pop(f"{self.ns}::{name}", ()):
            self.impl(name, *given)
        return f"{self.ns}::{name}" if named else name

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=False):
        """The function of an operator under a dispatch key: a device, Meta (for shapes), Autograd (runs above the others), Autocast
        and a device (while autocast is on there) or CompositeImplicitAutograd (what it calls is differentiated)."""
        if with_keyset:
            raise NotImplementedError("torchshim: Library.impl with with_keyset=True; there are no sets of dispatch keys")
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        if fn is fallthrough_kernel:
            return
        name = op_name if isinstance(op_name, str) else op_name.name() if hasattr(op_name, "name") else op_name._qualname
        name = (name if "::" in name else f"{self.ns}::{name}").partition(".")[0]
        if name not in _known and not name.startswith("aten::"):
            _waiting.setdefault(name, []).append((fn, key))
            return
        op = _op(name)
        if key == "CompositeImplicitAutograd":
            op._implicit = fn
        elif key == "Meta":
            op._fake = fn
        elif key.startswith("Autocast"):
            op._autocast[key.removeprefix("Autocast").lower()] = fn
        elif key.startswith("Autograd"):
            op._above = fn
        else:
            op.register_kernel(None if key == "CompositeExplicitAutograd" else key.lower(), fn)

    def fallback(self, fn, dispatch_key="", *, with_keyset=False):
        """NotImplementedError: there is no dispatcher to fall back from."""
        raise NotImplementedError("torchshim: Library.fallback")


def _missing(name):
    def missing(*args, **kwargs):
        raise NotImplementedError(f"torchshim: torch.library.{name}")
    missing.__name__ = missing.__qualname__ = name
    missing.__doc__ = "NotImplementedError."
    return missing


register_torch_dispatch = _missing("register_torch_dispatch")

__getattr__ = _missing_attribute(__name__)
