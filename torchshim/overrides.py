"""torch.overrides: functions that leave their work to arguments with `__torch_function__`, or to modes.

A program in which nobody asks pays nothing: `begin` gives the public functions code that looks at its arguments first, in place, so that
a function stays the object it was, wherever somebody keeps it. That happens when a subclass of Tensor is defined, when a mode is entered,
when this module is asked for its tables, or when an operator is first handed a foreign object that wants to be asked. (A function written
in terms of operators, given a program's first foreign object, is not asked itself: the operator inside of it is. Call `begin()` to have it
asked.)
"""
from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import types

from . import Tensor, autograd, fft, functional, linalg, special
from .dropin.names import is_torch, is_torchshim
from .engine import context
from .engine.site import leaving
from .nn import functional as F, init
from .tensor.api.placement import standing_at
from .tensor.api.signatures import UNSET
from .tensor.core import overriding
from .tensor.core.overriding import DisableTorchFunctionSubclass, ask, asked, overrides, refused, switches

__all__ = ["BaseTorchFunctionMode", "TorchFunctionMode", "enable_reentrant_dispatch", "get_default_nowrap_functions",
           "get_ignored_functions", "get_overridable_functions", "get_testing_overrides", "handle_torch_function", "has_torch_function",
           "has_torch_function_unary", "has_torch_function_variadic", "is_tensor_like", "is_tensor_method_or_property", "resolve_name",
           "wrap_torch_function"]

_torch = sys.modules[__name__.partition(".")[0]]
#: Functions that ask no argument, though a mode sees those that make tensors.
_IGNORED = """arange as_tensor asarray bartlett_window blackman_window broadcast_shapes can_cast empty empty_permuted empty_strided eye
    frombuffer full hamming_window hann_window kaiser_window linspace logspace normal ones rand randint randn randperm range result_type
    scalar_tensor sparse_coo_tensor sparse_csr_tensor tensor tril_indices triu_indices vander zeros""".split()
_UNSEEN = """as_subclass from_numpy get_default_dtype get_rng_state initial_seed is_grad_enabled is_storage is_tensor load manual_seed
    promote_types save seed set_default_device set_default_dtype set_grad_enabled set_printoptions set_rng_state typename vmap""".split()
_UNSEEN_METHODS = """__array_priority__ __class__ __dir__ __getstate__ __hash__ __init__ __init_subclass__ __iter__
    __jax_array__ __new__ __setstate__ __subclasshook__ __torch_function__ as_subclass eig lstsq new reinforce solve symeig""".split()
#: Python's operators that hand on another method's name, and those that answer NotImplemented where that method raises TypeError.
_HANDED_ON = {"__add__": "add", "__radd__": "add", "__sub__": "sub", "__mul__": "mul", "__rmul__": "mul", "__truediv__": "div",
              "__div__": "div", "__mod__": "remainder", "__matmul__": "matmul", "__ne__": "ne", "__lt__": "lt", "__le__": "le",
              "__gt__": "gt", "__ge__": "ge", "__neg__": "neg", "__pos__": "positive", "__abs__": "abs", "__rand__": "bitwise_and",
              "__ror__": "bitwise_or", "__rxor__": "bitwise_xor", "__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_",
              "__itruediv__": "div_", "__idiv__": "div_", "__ifloordiv__": "floor_divide_", "__imod__": "remainder_",
              "__pow__": "pow", "__ipow__": "pow_", "__rtruediv__": "__rdiv__"}
_BINARY = {f"__{how}{name}__" for how in ("", "r", "i") for name in
           "add sub mul truediv div floordiv mod pow matmul and or xor lshift rshift".split()}
_BINARY |= {f"__{n}__" for n in "eq ne lt le gt ge".split()}
#: Functions of nn.functional that are compiled ones in torch: their calls are handed on as they were written, others with every option by
#: name.
_COMPILED = set("""linear bilinear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d conv_tbc avg_pool1d avg_pool2d
    avg_pool3d gelu softplus hardshrink softshrink logsigmoid pairwise_distance cosine_similarity one_hot pixel_shuffle pixel_unshuffle
    channel_shuffle scaled_dot_product_attention prelu adaptive_avg_pool1d pdist""".split())
#: Functions of torch.functional and methods that are Python's in torch, and look for who wants to be asked with every option by name.
_SPELLED = frozenset("split norm unique unique_consecutive cdist meshgrid tensordot stft lu".split())
_functions: dict = {}      # {space: {name: what is handed to __torch_function__}}, filled by `begin`


class _Asking:
    """What a public function does once somebody wants to be asked: see who, else what it did before."""
    __slots__ = ("func", "plain", "name", "own", "arguments", "spelled", "binary")

    def __init__(self, func, plain, name, own=None, arguments=True, spelled=False, binary=False):
        self.func, self.plain, self.name, self.own = func, plain, name, own or name.rpartition(".")[2]
        self.arguments, self.spelled, self.binary = arguments, spelled, binary

    def __call__(self, args, kwargs):
        s = context.modes.get("torch function")
        off = None if s is None else s.off
        if off != "all" and s is not None and s.stack and getattr(s.stack[-1], "as_written", False):
            return self._as_written(s, args, kwargs)
        found = asked(args, kwargs) if off is None else ()
        if found and not self.arguments:
            with DisableTorchFunctionSubclass():
                return self(args, kwargs)
        if not found and (s is None or not s.stack or off == "all"):
            try:
                if overriding.dispatch is not None:
                    made = overriding.dispatch(self, args, kwargs)
                    if made is not NotImplemented:
                        return NotImplemented if made is overriding.DECLINED else made
                return self.plain(*args, **kwargs)
            except Exception as error:
                if "transform" in context.modes:
                    raise                      # vmap reads from the frames who asked for numbers, and is left itself
                raise leaving(error)
        if self.spelled:
            if found and _silenced(found):
                try:
                    return self.plain(*args, **kwargs)
                except TypeError:              # what torch's body hands its arguments to asks them all the same, after it looked at flags
                    given = inspect.signature(self.plain).bind(*args, **kwargs).arguments
                    any([bool(given[k]) for k in ("training", "inplace") if k in given])
            args, kwargs = spell(self.plain, args, kwargs)
        if not self.binary:
            return self._answer(found, args, kwargs)
        try:
            return self._answer(found, args, kwargs)
        except TypeError:
            return NotImplemented

    def _as_written(self, s, args, kwargs):
        """What a mode gives that is told which function was called, by which of its names, and how."""
        mode, s.stack = s.stack[-1], s.stack[:-1]
        try:
            return mode.called(self, args, kwargs)
        except TypeError:
            if self.binary:
                return NotImplemented
            raise
        finally:
            s.stack = [*s.stack, mode]

    def _answer(self, found, args, kwargs):
        result = ask(self.func, found, args, kwargs if self.spelled else kwargs or None)
        if result is not NotImplemented:
            return result
        if not found:
            return self.plain(*args, **kwargs)
        if self.spelled:
            raise _nobody(self.name, found)
        raise refused(self.name, found)


def _silenced(found):
    """Whether the program put another function in the place of those with which torch.nn.functional looks for who wants to be asked, and that
    finds nobody: so tests look into what stands in its functions."""
    look = vars(F).get("has_torch_function_variadic")
    return look is not None and not look(*found)


def spell(f, args, kwargs):
    """A call as torch's Python functions hand it on: options by name, with their defaults."""
    params = inspect.signature(f).parameters
    bound = inspect.signature(f).bind(*args, **kwargs)
    bound.apply_defaults()
    given = {k: x for k, x in bound.arguments.items() if x is not UNSET}       # other names of parameters, as `axis`, are not handed on
    required = [k for k in given if params[k].default in (inspect.Parameter.empty, UNSET) and params[k].kind != params[k].KEYWORD_ONLY]
    first = []
    for k in required:
        first += given[k] if params[k].kind == params[k].VAR_POSITIONAL else [given[k]]
    return tuple(first), {k: x for k, x in given.items() if k not in required}


@functools.cache
def _asking_code(free):
    """Code that hands its arguments to `_asking`, with the free variables of the code that it stands in for."""
    cells = "".join([f"    {n} = None\n" for n in free])
    space = {}
    exec(compile(f"def outer():\n{cells}    def f(*args, _asking=None, **kwargs):\n        if 0: {', '.join(free) or 'pass'}\n"
                 "        return _asking(args, kwargs)\n    return f\n", __file__, "exec"), space)
    return space["outer"]().__code__


def _copy(f):
    g = types.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__)
    g.__kwdefaults__, g.__qualname__, g.__module__, g.__doc__ = f.__kwdefaults__, f.__qualname__, f.__module__, f.__doc__
    g.__dict__.update(f.__dict__)
    return g


def _arm(f, name, func=None, **how):
    """Let the Python function f ask first; `func` is what is handed on in its name."""
    kept = f.__kwdefaults__ or {}
    if "_asking" in kept:
        return                                 # an alias
    plain = _copy(f)
    f.__wrapped__ = plain                      # its signature is read from there
    code = _asking_code(f.__code__.co_freevars)
    f.__kwdefaults__ = {"_asking": _Asking(func or f, plain, name, **how)}
    f.__defaults__ = None
    of = f.__code__
    f.__code__ = standing_at(code, of.co_filename, of.co_firstlineno, of.co_name, of.co_qualname)


def _foreign(f):
    """Whether a function was put in its place by the program: such ones never ask."""
    return not (f.__module__ is None or is_torch(f.__module__) or is_torchshim(f.__module__))


@functools.cache
def begin():
    """Let the public functions ask; once."""
    spaces = {_torch: "torch", functional: "torch.functional", F: "torch.nn.functional", linalg: "torch.linalg", fft: "torch.fft",
              special: "torch.special", init: "torch.nn.init"}
    named, unseen = set(vars(functional)), {getattr(_torch, n, None) for n in _UNSEEN}
    for space, prefix in spaces.items():
        table = _functions[space] = {}
        for name, f in list(vars(space).items()):
            if not isinstance(f, types.FunctionType) or name.startswith("_") or f in unseen or _foreign(f) or (
                    space is _torch and name in named):
                continue
            if (f.__module__ or "").startswith((f"{_torch.__name__}.autograd", f"{_torch.__name__}.settings", f"{_torch.__name__}.dropin")):
                continue
            table[name] = f
    table = _functions[Tensor] = {}            # what it shares with another name becomes an object of its own, as in torch
    taken = {f for each in _functions.values() for f in each.values()}
    for name, f in list(vars(Tensor).items()):
        if name in _UNSEEN_METHODS or name.startswith("_") and not name.startswith("__"):
            continue
        if isinstance(f, (types.FunctionType, property)) and _foreign(getattr(f, "fget", f)):
            continue
        if isinstance(f, types.FunctionType):
            table[name] = f if f not in taken else _copy(f)
            taken.add(f)
        elif isinstance(f, property):
            table[name] = f if f.fget not in taken else property(_copy(f.fget), f.fset, f.fdel, f.__doc__)
            taken.add(f.fget)
        if table.get(name, f) is not f:
            setattr(Tensor, name, table[name])
    for space, prefix in spaces.items():
        for name, f in _functions[space].items():
            _arm(f, f"{prefix}.{name}", arguments=name not in _IGNORED or space is not _torch, spelled=(
                name not in _COMPILED if space is F else name in _SPELLED and (space is functional or name == "lu")))
    for name, f in table.items():
        if isinstance(f, property):
            for part, said in ((f.fget, "__get__"), (f.fset, "__set__"), (f.fdel, "__delete__")):
                if isinstance(part, types.FunctionType):
                    _arm(part, f"torch.Tensor.{name}.{said}", getattr(f, said))
        else:
            func = table.get(_HANDED_ON.get(name, name), f)
            _arm(f, f"torch.Tensor.{_HANDED_ON.get(name, name)}", func, own=name, arguments=name != "new_tensor", binary=name in _BINARY,
                 spelled=name in _SPELLED)
    _arm(autograd.grad, "torch.autograd.grad")


def begin_dispatch():
    """Let calls come to `__torch_dispatch__`, where a class or a mode has one."""
    from ._dispatch.python import begin as begin_to_dispatch
    begin_to_dispatch()


def begun(args):
    """Whether an operator failed because an argument, for the first time in the program, is one that wants to be asked; it is then to be
    called again."""
    if not _functions and asked(args):
        begin()
        return True
    return False


def has_torch_function(relevant_args):
    """Whether an argument has a `__torch_function__` of its own; sparse and strided nested tensors have none in torch."""
    s = context.modes.get("torch function")
    return (s is not None and bool(s.stack) and s.off != "all"
            or (s is None or s.off is None) and any([overrides(x) and (not isinstance(x, Tensor) or getattr(x, "_asks", True))
                                                      for x in relevant_args]))


def has_torch_function_variadic(*relevant_args):
    """The same for arguments one by one."""
    return has_torch_function(relevant_args)


def has_torch_function_unary(x):
    """The same for one argument."""
    return has_torch_function((x,))


def _nobody(name, found):
    return TypeError(f"no implementation found for '{name}' on types that implement __torch_function__: {[type(x) for x in found]}")


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """The result of a mode, or of the first argument's `__torch_function__`, that is not NotImplemented; subclasses go before their bases.

    TypeError if there is none.
    """
    s = context.modes.get("torch function")
    found = asked(tuple(relevant_args)) if s is None or s.off is None else []
    result = ask(public_api, found, args, kwargs)
    if result is NotImplemented:
        raise _nobody(f"{public_api.__module__}.{public_api.__name__}", found)
    return result


def wrap_torch_function(dispatcher):
    """A decorator for functions that ask the arguments `dispatcher(*args, **kwargs)` first."""
    def decorate(func):
        @functools.wraps(func)
        def first(*args, **kwargs):
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(first, relevant, *args, **kwargs)
            return func(*args, **kwargs)
        return first
    return decorate


def is_tensor_like(inp):
    """Whether something is a tensor or says how functions treat it."""
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")


def is_tensor_method_or_property(func):
    """Whether a function is a method or property of Tensor."""
    return func in _names() and _names()[func].startswith("torch.Tensor.")


@functools.cache
def _names():
    begin()
    found = {}
    for space, table in _functions.items():
        for name, f in table.items():
            if isinstance(f, property):
                found.update({getattr(f, said): f"torch.Tensor.{name}.{said}" for said in ("__get__", "__set__", "__delete__")})
            else:
                prefix = "torch.Tensor" if space is Tensor else "torch" + space.__name__.removeprefix(_torch.__name__)
                found.setdefault(f, f"{prefix}.{name}")
    return found


def resolve_name(f):
    """The name under which torch has a function, None if it has none."""
    return _names().get(f) if isinstance(f, (types.FunctionType, types.MethodWrapperType)) else None


def get_overridable_functions():
    """{module or Tensor: the functions there that ask their arguments}."""
    begin()
    return {space: [f.__get__ if isinstance(f, property) else f for n, f in table.items() if space is not _torch or n not in _IGNORED]
            for space, table in _functions.items()}


def get_ignored_functions():
    """The functions that never ask their arguments."""
    return {f for f in [getattr(_torch, n, None) for n in [*_IGNORED, *_UNSEEN]] if f is not None} | {Tensor.as_subclass, Tensor.new_tensor}


def get_testing_overrides():
    """{function: one with the same parameters that returns -1}."""
    made = {}
    for f in [f for each in get_overridable_functions().values() for f in each]:
        def same(*args, **kwargs):
            return -1
        with contextlib.suppress(ValueError, TypeError):
            same.__signature__ = inspect.signature(f)
        made[f] = same
    return made


def get_default_nowrap_functions():
    """The functions whose results stay what they are, whatever the class of their argument."""
    return {Tensor._base.__get__, Tensor.grad.__get__}


class TorchFunctionMode:
    """A context in which every call of a public function comes to `__torch_function__` of this object first.

    While it answers the mode is left, so that it can call what it was asked for. One that is `as_written` has `called(asking, args, kwargs)`
    instead, with what stands in the function's place (its `own` name is the one it was called by) and arguments as the program wrote them.
    """
    as_written = False

    def __init__(self):
        pass

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self):
        begin()
        s = switches()
        s.stack = [*s.stack, self]
        return self

    def __exit__(self, *exc):
        s = switches()
        s.stack = s.stack[:-1]
        return False

    @classmethod
    def push(cls, *args, **kwargs):
        """An instance, to be entered."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


@contextlib.contextmanager
def enable_reentrant_dispatch():
    """A context for what runs inside of an operator in torch, where nobody would be asked; here calls inside ask as outside."""
    yield
