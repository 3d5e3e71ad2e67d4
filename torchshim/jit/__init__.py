"""torch.jit. There is no TorchScript compiler: what `script` and `trace` give back runs the Python code that they got, which is recorded and
compiled like everything else; modules come in a RecursiveScriptModule and functions in a ScriptFunction, as in torch.

Answers are the same, and errors are told as TorchScript tells them: see errors.py. Archives that PyTorch's `torch.jit.save` wrote are read
and computed. What only TorchScript has (its graphs) raises NotImplementedError when it is asked for.
"""
from __future__ import annotations

import builtins
import functools
import pickle
import types
import typing
import warnings
from contextlib import contextmanager
from typing import Final

from .._C import JITException as Error    # noqa: F401
from ..dropin import missing_attribute as _missing_attribute
from ..futures import Future
from ..nn import Module
from .annotations import BroadcastingListCls as _       # the module gets its name back from the one of __future__
from ..nn.modules.module import NoTorchScript
from ._script import TORCHSCRIPT, Attribute, RecursiveScriptModule, ScriptModule, scripted_module
from ._trace import TopLevelTracedModule, TracedModule      # noqa: F401
from .errors import retold
from .modifiers import export, ignore, refuse_unnamed, refuse_without_self, unused

__all__ = ["Attribute", "Final", "ScriptFunction", "ScriptModule", "annotate", "export", "fork", "freeze", "ignore", "interface",
           "is_scripting", "is_tracing", "isinstance", "load", "optimize_for_inference", "save", "script", "script_if_tracing", "trace",
           "trace_module", "unused", "wait"]


class TracerWarning(Warning):
    """torch warns so of what a trace leaves out; nothing is left out here."""

    @staticmethod
    def ignore_lib_warnings():
        """Hide such warnings."""
        warnings.filterwarnings("ignore", category=TracerWarning)


class TracingCheckError(Exception):
    """A trace that differs from the function; never raised here."""


class ScriptFunction:
    """What `script` and `trace` make of a function: a call of it whose errors are told as TorchScript tells them."""

    def __init__(self, function):
        functools.update_wrapper(self, function)

    def __call__(self, *args, **kwargs):
        try:
            return self.__wrapped__(*args, **kwargs)
        except Exception as error:
            made = retold(error, self.name, (self.__wrapped__, args, kwargs))
            if made is error:
                raise
            raise made from None

    @property
    def name(self):
        """The function's name."""
        return "_lambda" if self.__name__ == "<lambda>" else self.__name__

    @property
    def qualified_name(self):
        """The function's name as TorchScript would have it."""
        return f"__torch__.{self.name}" if self.__module__ == "__main__" else f"__torch__.{self.__module__}.{self.name}"

    def __getattr__(self, name):
        if name in TORCHSCRIPT or name in ("get_debug_state", "schema"):
            raise NoTorchScript(f"torchshim: .{name} of a scripted or traced function; there is no TorchScript here, and the function is "
                                "what it was", name=name, obj=self)
        raise AttributeError(f"'torch.jit.ScriptFunction' object has no attribute '{name}'", name=name, obj=self)

    def __reduce__(self):
        """As in torch, functions are not pickled: PickleError."""
        raise pickle.PickleError("ScriptFunction cannot be pickled")

    def __deepcopy__(self, memo):
        return self


class CompilationUnit:
    """TorchScript's table of functions, in torch."""


def _deprecated(name, instead="use `torch.compile` instead"):
    """torch's warning, with a place in the library: it is shown to whoever asks for such warnings."""
    warnings.warn(f"`torch.jit.{name}` is deprecated. Please {instead}.", DeprecationWarning)


_SWITCH = "switch to `torch.compile` or `torch.export`"


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """A module as a RecursiveScriptModule, a function as a ScriptFunction, a class itself. TypeError for what torch can't script."""
    _deprecated("script", _SWITCH)
    if not callable(obj) and not builtins.isinstance(obj, (dict, list)):
        raise TypeError(f"{type(obj)} is a built-in class")
    if builtins.isinstance(obj, Module):
        refuse_without_self(type(obj))
    return _made(obj, RecursiveScriptModule)


def _made(obj, cls):
    """A module as one of this class, a function as a ScriptFunction."""
    if builtins.isinstance(obj, Module):
        return scripted_module(obj, cls)
    return ScriptFunction(obj) if builtins.isinstance(obj, types.FunctionType) else obj


def script_method(fn):
    """The method itself."""
    _deprecated("script_method", _SWITCH)
    return fn


def script_if_tracing(fn):
    """The function itself."""
    return fn


def _returned(example_inputs, call):
    inputs = example_inputs if builtins.isinstance(example_inputs, (tuple, list)) else (example_inputs,)
    call(*inputs)                              # torch runs it too: what it draws and counts is the same afterwards


def trace(func, example_inputs=None, optimize=None, check_trace=True, check_inputs=None, check_tolerance=1e-5, strict=True,
          _force_outplace=False, _module_class=None, _compilation_unit=None, example_kwarg_inputs=None, _store_inputs=True):
    """The module as a traced one, or the function as a ScriptFunction, after one call with the examples. It is not frozen to what that call
    did."""
    _deprecated("trace", _SWITCH)
    for _ in range(builtins.isinstance(func, Module) + bool(check_trace)):
        _deprecated("trace_method" if builtins.isinstance(func, Module) else "trace", _SWITCH)
    if example_kwarg_inputs is not None:
        func(**example_kwarg_inputs)
    elif example_inputs is not None:
        _returned(example_inputs, func)
    else:
        raise RuntimeError("example_kwarg_inputs should be a dict")
    return _made(func, TopLevelTracedModule)


def trace_module(mod, inputs, optimize=None, check_trace=True, check_inputs=None, check_tolerance=1e-5, strict=True, **more):
    """The module as a traced one, after one call of each method with its examples."""
    for _ in range(1 + bool(check_trace)):
        _deprecated("trace_method", _SWITCH)
    for name, examples in inputs.items():
        _returned(examples, mod if name == "forward" else getattr(mod, name))
    return _made(mod, TopLevelTracedModule)


def is_scripting():
    """Whether TorchScript compiles this: never."""
    return False


def is_tracing():
    """Whether a trace is made: never."""
    return False


_overload = _overload_method = _script_if_tracing = lambda fn: fn


def interface(obj):
    """The class itself. RuntimeError for what is none."""
    _deprecated("interface")
    if not builtins.isinstance(obj, type):
        raise RuntimeError("interface must be applied to a class")
    return obj


def annotate(the_type, the_value):
    """The value."""
    return the_value


def isinstance(obj, target_type):
    """Whether an object is of a type, containers' element types (List[int], Optional[Tensor]) included."""
    if builtins.isinstance(target_type, tuple):
        return any([isinstance(obj, t) for t in target_type])
    origin, args = typing.get_origin(target_type), typing.get_args(target_type)
    if origin is None:
        refuse_unnamed(target_type)
        return obj is None if target_type is None else builtins.isinstance(obj, target_type)
    if origin is typing.Union:
        return any([isinstance(obj, a) for a in args])
    if not builtins.isinstance(obj, origin):
        return False
    if origin is dict:
        return all([isinstance(k, args[0]) and isinstance(v, args[1]) for k, v in obj.items()])
    if origin is tuple and args[1:] != (...,):
        return len(obj) == len(args) and all([isinstance(x, a) for x, a in zip(obj, args)])
    return all([isinstance(x, args[0]) for x in obj])


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """A module whose tensors are constants, with the attributes `preserved_attrs` only. RuntimeError for one that was not scripted, and
    while it is training."""
    from ._script import frozen_module
    _deprecated("freeze")
    if not builtins.isinstance(mod, ScriptModule):
        raise RuntimeError("Freezing expects a ScriptModule as input. Please use torch.jit.script or torch.jit.trace to script your "
                           "'nn.Module'.")
    if mod.training:
        raise RuntimeError("Freezing is currently only implemented for modules in eval mode. Please call .eval() on your module before "
                           "freezing.")
    return frozen_module(mod, preserved_attrs or ())


def optimize_for_inference(mod, other_methods=None):
    """The module frozen, if it is not. RuntimeError for one that was not scripted."""
    _deprecated("optimize_for_inference")
    if not builtins.isinstance(mod, ScriptModule):
        raise RuntimeError("optimize_for_inference expects a ScriptModule as input. Please use torch.jit.script or torch.jit.trace to "
                           "script your 'nn.Module'.")
    return freeze(mod.eval(), other_methods) if hasattr(mod, "training") else mod


def save(m, f, _extra_files=None):
    """Write a module for `load`; see jit/modules.py."""
    from .modules import save
    _deprecated("save", "switch to `torch.export`")
    save(m, f, _extra_files)


def load(f, map_location=None, _extra_files=None, _restore_shapes=False):
    """A module from an archive of `torch.jit.save`, PyTorch's or ours; see jit/modules.py."""
    from .modules import load
    _deprecated("load", "switch to `torch.export`")
    return load(f, map_location, _extra_files, _restore_shapes)


def _get_trace_graph(f, args=(), kwargs=None, strict=True, _force_outplace=False, return_inputs=False, _return_inputs_states=False):
    """(graph, result) of a call: its ATen operators, as counters of operations read them (see jit/traces.py). NotImplementedError where the
    inputs' states are asked for."""
    from .traces import trace_graph
    if _return_inputs_states:
        raise NotImplementedError("torchshim: torch.jit._get_trace_graph(_return_inputs_states=True)")
    args = args if builtins.isinstance(args, tuple) else (args,)
    graph, made = trace_graph(f, args, kwargs or {})
    return (graph, made, args) if return_inputs else (graph, made)


def fork(func, *args, **kwargs):
    """A Future of the call, which is made at once."""
    _deprecated("fork")
    future = Future()
    future.set_result(func(*args, **kwargs))
    return future


def wait(future):
    """The result of a Future."""
    _deprecated("wait")
    return future.wait()


@contextmanager
def optimized_execution(should_optimize):
    """A context that changes nothing."""
    yield


fuser = optimized_execution


class strict_fusion:
    """A context that changes nothing: XLA fuses."""

    def __init__(self):
        warnings.warn("Only works in script mode", stacklevel=2)

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        pass


def set_module(obj, mod):
    """Say in which module an object is: its `__module__`. TypeError for a name that is no string."""
    if not builtins.isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def set_fusion_strategy(strategy):
    """Nothing: XLA fuses. Returns what was set before."""
    _deprecated("set_fusion_strategy")
    before, _settings["strategy"] = _settings["strategy"], list(strategy)
    return before


_settings = {"strategy": [("STATIC", 2), ("DYNAMIC", 10)], "onednn": False}


def enable_onednn_fusion(enabled):
    """Nothing: XLA fuses."""
    _settings["onednn"] = bool(enabled)


def onednn_fusion_enabled():
    """What `enable_onednn_fusion` was told last."""
    return _settings["onednn"]


__getattr__ = _missing_attribute(__name__, lazy=("_recursive", "_state"), elsewhere={"_enabled": "_state"})
