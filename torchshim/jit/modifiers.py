"""What `export`, `ignore` and the like note on functions for TorchScript, and what annotations it tells apart."""
from __future__ import annotations

import enum
import types
import typing
import warnings
import weakref

from ..futures import Future
from .errors import ignored


class FunctionModifiers:
    """What TorchScript does with a function; in its attribute `_torchscript_modifier`."""
    UNUSED = "unused (ignored and replaced with raising of an exception)"
    IGNORE = "ignore (leave as a call to Python, cannot be torch.jit.save'd)"
    EXPORT = "export (compile this function even if nothing calls it)"
    DEFAULT = "default (compile if called from an exported function / forward)"
    COPY_TO_SCRIPT_WRAPPER = "if this method is not scripted, copy the python method onto the scripted model"
    _DROP = "_drop (function is fully ignored, declaration can be unscriptable)"


def _noting(modifier, doc):
    def note(fn):
        fn._torchscript_modifier = modifier
        return fn
    note.__doc__ = doc
    return note


export = _noting(FunctionModifiers.EXPORT, "The method itself, noted as one to compile.")
_drop = _noting(FunctionModifiers._DROP, "The function itself, noted as one that TorchScript does not look at.")
_copy_to_script_wrapper = _noting(FunctionModifiers.COPY_TO_SCRIPT_WRAPPER, "The method itself, noted as one that stays Python's.")


def unused(fn):
    """The function (or property) itself, noted as one that scripted code does not call."""
    for f in (fn.fget, fn.fset) if isinstance(fn, property) else (fn,):
        if f is not None:
            f._torchscript_modifier = FunctionModifiers.UNUSED
    return fn


def ignore(drop=False, **kwargs):
    """The function itself, of which it is known that it is Python's; with arguments, a decorator. drop: as `unused`."""
    if callable(drop):
        return _left_to_python(drop, FunctionModifiers.IGNORE)
    if not isinstance(drop, bool):
        raise RuntimeError(f"Argument to @torch.jit.ignore must be a bool or a function but got {drop}")
    if kwargs.pop("drop_on_export", False):
        warnings.warn("ignore(drop_on_export=True) has been deprecated. TorchScript will now drop the function call on compilation. Use "
                      "torch.jit.unused now. {}", FutureWarning, stacklevel=2)
        drop = True
    return lambda fn: _left_to_python(fn, FunctionModifiers.UNUSED if drop else FunctionModifiers.IGNORE)


def _left_to_python(fn, modifier):
    fn._torchscript_modifier = modifier
    code = getattr(fn, "__code__", None)
    if code is not None:
        ignored.add(code)
    return fn


def get_torchscript_modifier(fn):
    """What was noted on a function; None for what cannot be called."""
    if not callable(fn):
        return None
    return getattr(getattr(fn, "__func__", fn), "_torchscript_modifier", FunctionModifiers.DEFAULT)


def should_drop(fn):
    """Whether it is `unused`."""
    return get_torchscript_modifier(fn) in (FunctionModifiers.UNUSED, FunctionModifiers._DROP)


def is_ignored_fn(fn):
    """Whether it is `unused` or left to Python."""
    return should_drop(fn) or get_torchscript_modifier(fn) == FunctionModifiers.IGNORE


def refuse_without_self(cls):
    """TorchScript's error for a module whose class leaves a function without arguments to Python."""
    for x in (x for c in cls.__mro__ for x in vars(c).values()):
        if isinstance(x, types.FunctionType) and is_ignored_fn(x) and not should_drop(x) and not (x.__code__.co_argcount or x.__code__.co_flags & 4):
            raise RuntimeError("\nNon-static method does not have a self argument")


def module_has_exports(mod):
    """Whether a method is noted by `export`."""
    found = [getattr(mod, name) for name in dir(mod) if hasattr(mod, name)]
    return any([get_torchscript_modifier(x) == FunctionModifiers.EXPORT for x in found])


def _container(ann, kind):
    if ann is getattr(typing, kind.__name__.title()):
        _unnamed(kind.__name__.title())
    return getattr(ann, "__module__", None) in ("builtins", "typing") and typing.get_origin(ann) is kind


def _unnamed(kind):
    raise RuntimeError(f"Attempted to use {kind} without a contained type. Please add a contained type, e.g. "
                       f"{kind}[{'int, int' if kind.title() == 'Dict' else 'int'}]")


def refuse_unnamed(ann):
    """RuntimeError for a container of nobody knows what."""
    if ann in (list, dict, tuple):
        _unnamed(ann.__name__)
    if any([ann is x for x in (typing.List, typing.Dict, typing.Tuple, typing.Optional, typing.Union)]):
        _unnamed(ann._name)


def is_list(ann):
    """Whether an annotation is a list of something."""
    return _container(ann, list)


def is_tuple(ann):
    """Whether an annotation is a tuple of something."""
    return _container(ann, tuple)


def is_dict(ann):
    """Whether an annotation is a dict of something."""
    return _container(ann, dict)


def is_union(ann):
    """Whether an annotation names several types."""
    if ann is typing.Union:
        _unnamed("Union")
    return isinstance(ann, types.UnionType) or typing.get_origin(ann) is typing.Union


def is_optional(ann):
    """Whether an annotation is one type or None."""
    if ann is typing.Optional:
        _unnamed("Optional")
    args = typing.get_args(ann)
    return is_union(ann) and len(args) == 2 and type(None) in args


def is_future(ann):
    """Whether an annotation is the Future of something."""
    if ann is Future:
        _unnamed("Future")
    return typing.get_origin(ann) is Future


def is_final(ann):
    """Whether an annotation is Final."""
    return ann is typing.Final or typing.get_origin(ann) is typing.Final


def _qualified_name(obj, mangle_name=True):
    """The name of a class or function with its module's; mangle_name: as TorchScript writes it."""
    if hasattr(obj, "_jit_override_qualname"):
        return obj._jit_override_qualname
    name = getattr(obj, "__name__", None) or (obj.name if isinstance(obj, enum.Enum) else None)
    if not name:
        raise RuntimeError("Could not get name of python class object")
    name = "_lambda" if name == "<lambda>" else name
    module = obj.__module__
    if module is None:
        raise RuntimeError(f"Could not get qualified name for class '{name}': __module__ can't be None.")
    if module.split(".")[0] == "torchshim":
        module = "torch" + module[len("torchshim"):]
    if mangle_name:
        module = "__torch__" if module == "__main__" else "__torch__." + module
    if "." in name:
        raise RuntimeError(f"Could not get qualified name for class '{name}': '{name}' is not a valid identifier")
    return f"{module}.{name}"


boolean_dispatched = weakref.WeakKeyDictionary()       # what `boolean_dispatch` made, and of what


def boolean_dispatch(arg_name, arg_index, default, if_true, if_false, module_name, func_name):
    """A function that calls one of two, as its argument of that name (or at that place) says."""
    def fn(*args, **kwargs):
        chosen = kwargs[arg_name] if arg_name in kwargs else args[arg_index] if arg_index < len(args) else default
        return (if_true if chosen else if_false)(*args, **kwargs)

    if if_true.__doc__ is not None and if_false.__doc__ is not None:
        raise RuntimeError("only one function can have a docstring")
    fn.__doc__ = if_true.__doc__ = if_false.__doc__ = if_true.__doc__ or if_false.__doc__
    fn.__module__ = fn.__module__ if module_name is None else module_name
    fn.__name__ = fn.__name__ if func_name is None else func_name
    boolean_dispatched[fn] = dict(if_true=if_true, if_false=if_false, index=arg_index, default=default, arg_name=arg_name)
    return fn
