"""How calls come to `__torch_dispatch__`: of a mode that was entered, or of a class of tensors.

A program in which nobody wants to see operators pays nothing. When the first such class is defined or mode is entered, the public
functions begin to ask (`torchshim.overrides`), and what `__torch_function__` leaves to them comes to `public` here. There it becomes calls
of ATen's operators (`decomposed`), each with the arguments that its schema says (`schemas`); `call` gives the result a history
(`gradients`) and, below that, hands it to the innermost mode, to the arguments' classes, or to what computes it (`kernels`). A function
that none of these know raises NotImplementedError: nothing passes unseen.
"""
from __future__ import annotations

import functools
import inspect

from .. import Tensor
from .._toplevel import SymInt
from ..autograd import _backward_module as _backward
from ..engine import context
from ..overrides import begin as _let_functions_ask
from ..tensor.core import overriding
from ..tensor.core.overriding import dispatches
from .schemas import schema, table, whole_table, writes_out

_KEY = "dispatch"
TRANSFORM = "dispatched transform"             # a block in which a function is called to be differentiated


class State:
    """What a thread has: the modes that it is in, and whether operators are being computed, which nobody sees."""
    __slots__ = ("off", "stack")

    def __init__(self):
        self.off, self.stack = False, []

    def __bool__(self):
        return self.off or bool(self.stack)


def state():
    """That of this thread."""
    found = context.modes.get(_KEY)
    if found is None:
        found = context.modes[_KEY] = State()
    return found


class unseen:
    """A context in which no call is dispatched."""
    __slots__ = ("state", "before")

    def __enter__(self):
        self.state = state()
        self.before, self.state.off = self.state.off, True

    def __exit__(self, *exc):
        self.state.off = self.before
        return False


def stand_in(made, t):
    """Let modes that know `t` know `made` as the same tensor."""
    for mode in state().stack:
        if hasattr(mode, "stands_for"):
            mode.stands_for(made, t)
    return made


@functools.cache
def begin():
    """Let calls be dispatched from now on."""
    from . import (attention, contractions, functional_formulas, functionals, further_formulas, gradients, layers,    # noqa: F401
                   matrices, places, recurrent, reduction_formulas, signals, statistics)       # their rules
    _let_functions_ask()
    overriding.dispatch = public
    _backward.dispatching = gradients


def tensors_in(values):
    """The tensors among arguments, those in lists too."""
    found = []
    for x in values:
        if isinstance(x, Tensor):
            found.append(x)
        elif x.__class__ in (list, tuple):
            found += [y for y in x if isinstance(y, Tensor)]
    return found


def wanted(args, kwargs):
    """Whether somebody wants to see a call."""
    s = context.modes.get(_KEY)
    if s is not None and (s.off or s.stack):
        return not s.off
    return any([dispatches(type(t)) for t in tensors_in((*args, *kwargs.values()) if kwargs else args)])


def public(asking, args, kwargs):
    """What a public function does once somebody may want to see the operators in it; NotImplemented where it computes as ever."""
    if not wanted(args, kwargs):
        return NotImplemented
    from . import above, decomposed
    if asking.name.startswith("torch.nn.functional.") and len(args) > 1:
        args, kwargs = _by_name("inplace", asking.plain, args, kwargs)
    try:
        if sees_composites():
            with state().stack[-1].running(asking):
                return above.run(asking, args, kwargs)
        return decomposed.run(asking, args, kwargs)
    except TypeError:
        if asking.binary:
            return overriding.DECLINED
        raise


@functools.cache
def _names(f):
    return tuple(inspect.signature(f).parameters)


def _by_name(flag, f, args, kwargs):
    """A call's arguments with one by name that was given by its place."""
    names = _names(f)[:len(args)]
    if flag not in names:
        return args, kwargs
    k = names.index(flag)
    return (*args[:k], *args[k + 1:]), {**kwargs, flag: args[k]}


def sees_composites():
    """Whether the innermost mode sees operators above autograd, before what is made of others is taken apart."""
    stack = state().stack
    return bool(stack) and stack[-1].above_autograd


@functools.cache
def operator(name):
    """torch.ops.aten.<name>, with `.default` where the overload has no name."""
    from .. import ops
    base, _, overload = name.partition(".")
    return getattr(getattr(ops.aten, base), overload or "default")


def do(name, *args, **kwargs):
    """Call an operator by its name, "mm" or "add.Tensor"."""
    return call(operator(name), args, kwargs)


def call(op, args, kwargs):
    """Call an overload with what its schema takes: the result, with its history."""
    known = op._schema
    args, kwargs = arranged(known, args, kwargs)
    if not state().off and sees_composites():
        return below(op, args, kwargs)
    if op.composite:
        from . import kernels
        return kernels.compute(op, args, kwargs)           # with public functions, which are dispatched
    if context.grad is True and not state().off and any([t.requires_grad for t in tensors_in((*args, *kwargs.values()))]):
        from . import gradients
        return gradients.followed(op, args, kwargs)
    return below(op, args, kwargs)


def below(op, args, kwargs):
    """The result of an overload without a history: that of the innermost mode, of the arguments' classes, or computed."""
    s = state()
    if not s.off:
        found = _asked((*args, *kwargs.values()))
        types = tuple([type(x) for x in found])
        if s.stack:
            mode, s.stack = s.stack[-1], s.stack[:-1]
            try:
                return _checked(mode.__torch_dispatch__(op, types, args, kwargs), op, mode)
            finally:
                s.stack = [*s.stack, mode]
        for x in found:
            made = type(x).__torch_dispatch__(op, types, args, kwargs)
            if made is not NotImplemented:
                return made
        if found:
            listed = "\n".join([f"  - tensor subclass {type(x)}" for x in found])
            raise TypeError(f"Multiple dispatch failed for 'torch._ops.{op}'; all __torch_dispatch__ handlers returned NotImplemented:\n\n"
                            f"{listed}\n\nFor more information, try re-running with TORCH_LOGS=not_implemented")
    from . import kernels
    with unseen():
        return kernels.compute(op, args, kwargs)


def _checked(made, op, mode):
    if made is NotImplemented:
        raise TypeError(f"Multiple dispatch failed for 'torch._ops.{op}'; all __torch_dispatch__ handlers returned NotImplemented:\n\n"
                        f"  - mode object {mode}\n\nFor more information, try re-running with TORCH_LOGS=not_implemented")
    return made


def _asked(values):
    """The tensors to ask, one of each class, subclasses before their bases."""
    found = []
    for x in tensors_in(values):
        cls = type(x)
        if dispatches(cls) and all([type(y) is not cls for y in found]):
            found.insert(next((k for k, y in enumerate(found) if issubclass(cls, type(y))), len(found)), x)
    return found


# -- arguments as schemas have them -----------------------------------------------------------------------------------------
def arranged(known, args, kwargs):
    """(positional, by name) as torch hands them on: lists of integers as lists, and without what has its default at the end."""
    places = [a for a in known.arguments if not a.kwarg_only]
    named = dict(kwargs)
    if len(args) > len(places):
        raise RuntimeError(f"{known.name}() expected at most {len(places)} argument(s) but received {len(args)} argument(s). "
                           f"Declaration: {known}")
    given = []
    for k, a in enumerate(places):
        if k < len(args):
            x = args[k]
        elif a.name in named:
            x = named.pop(a.name)
        elif a.has_default:
            x = a.default
        else:
            raise RuntimeError(f"{known.name}() is missing value for argument '{a.name}'. Declaration: {known}")
        given.append(_as(a, x))
    while given and places[len(given) - 1].has_default and same(given[-1], _as(places[len(given) - 1], places[len(given) - 1].default)):
        if given[-1] is None and known.name in _UNDEFINED:
            break
        given.pop()
    rest = {}
    for a in known.arguments[len(places):]:
        if a.name in named:
            x = _as(a, named.pop(a.name))
            if not (a.has_default and same(x, a.default)):
                rest[a.name] = x
        elif not a.has_default:
            raise RuntimeError(f"{known.name}() is missing value for argument '{a.name}'. Declaration: {known}")
    if named:
        raise RuntimeError(f"Unknown keyword argument '{next(iter(named))}' for operator '{known.name}'. Schema: {known}")
    return tuple(given), rest


#: Operators that torch gives an undefined tensor, which is not the default None.
_UNDEFINED = frozenset(("aten::_embedding_bag", "aten::_embedding_bag_forward_only", "aten::multi_margin_loss_backward"))


def same(x, default):
    """Whether an argument is what the schema has for it."""
    if default == 4 and str(x) == "torch.int64":
        return True                            # the dtype, by the number that schemas have for it
    return type(x) is type(default) and not isinstance(x, Tensor) and x == default


def whole(x):
    """An integer; a size that is a symbol stays one."""
    return x if isinstance(x, SymInt) else int(x)


def _as(a, x):
    kind = a.type
    if kind.startswith("int[") or kind.startswith("bool["):
        if x is None:
            return x
        if isinstance(x, (list, tuple)):
            return [y if isinstance(y, (bool, SymInt)) else int(y) for y in x]
        n = kind[4:].partition("]")[0]
        return [whole(x)] * int(n or 1)
    if kind.startswith("Tensor") and "[" in kind and isinstance(x, (list, tuple)):
        return list(x)
    if kind in ("float", "float?") and type(x) is int:
        return float(x)
    if kind == "Device?" and isinstance(x, str):
        from ..tensor.core.device import device
        return device(x)
    return x


_NUMBER = (int, float, complex)
#: Operators whose overload for tensors torch's functions call with a number too.
_NUMBERS_AS_TENSORS = frozenset("add sub mul div floor_divide add_ sub_ mul_ div_ floor_divide_".split())
_OTHER_NAMES = {"input": "self", "axis": "dim", "keepdims": "keepdim", "dims": "dims"}


def chosen(name, args, kwargs, whole=False, only=None):
    """(overload, its arguments) for a call of the public function that is `aten::name`; None where none takes it. whole: composite
    overloads too, which are not dispatched themselves. only: the overload to look at."""
    for overload in (whole_table() if whole else table())[name]:
        if overload != only if only is not None else writes_out(name, overload):
            continue
        if overload in ("Scalar", "Scalar_mode") and name in _NUMBERS_AS_TENSORS:
            continue
        fitted = _fitted(schema(name, overload), name, args, kwargs)
        if fitted is not None:
            return overload, *fitted
    return None


def _fitted(known, name, args, kwargs):
    places = [a for a in known.arguments if not a.kwarg_only]
    given = []
    for k, a in enumerate(places):
        if (k < len(args) and a.type == "int[]" and isinstance(args[k], (int, SymInt)) and not isinstance(args[k], bool)
                and (k + 1 == len(places) or len(args) > k + 1)):
            given.append(tuple(args[k:]))      # several integers stand for one sequence of them
            args = ()
            break
        if k >= len(args):
            break
        given.append(args[k])
    else:
        if len(args) > len(places):
            return None
    by_name = {a.name: a for a in known.arguments[len(given):]}
    named = {}
    for k, x in kwargs.items():
        k = k if k in by_name else _OTHER_NAMES.get(k, k)
        if k not in by_name:
            return None
        named[k] = x
    if any([not a.has_default and k not in named for k, a in by_name.items()]):
        return None
    loose = name in _NUMBERS_AS_TENSORS
    for a, x in [*zip(places, given), *[(by_name[k], x) for k, x in named.items()]]:
        if not _takes(a, x, loose):
            return None
    return tuple(given), named


def _takes(a, x, loose):
    kind = a.type.rstrip("?")
    if x is None:
        return a.type.endswith("?") or a.has_default and a.default is None
    if kind == "Tensor":
        return isinstance(x, Tensor) or loose and a.name == "other" and isinstance(x, (*_NUMBER, SymInt))
    if kind in ("Tensor[]", "Tensor?[]"):
        return isinstance(x, (list, tuple))
    if kind.startswith("int["):
        if isinstance(x, (list, tuple)):
            return all([isinstance(y, int) or hasattr(y, "__index__") for y in x])
        return kind != "int[]" and type(x) is int
    if kind == "int":
        return not isinstance(x, (bool, float, str, list, tuple)) and hasattr(x, "__index__")
    if kind in ("Scalar", "float"):
        return isinstance(x, _NUMBER) or isinstance(x, SymInt) or hasattr(x, "__float__") and not isinstance(x, Tensor)
    if kind == "bool":
        return isinstance(x, bool)
    if kind == "str":
        return isinstance(x, str)
    return True
