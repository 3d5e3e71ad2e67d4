"""torch._foreach_*: one operation on each tensor of a list. Recording makes one program of them anyway."""
from __future__ import annotations

import functools
import math
import numbers as _number_types

import numpy as np

from . import Tensor, bfloat16, float16
from .engine import context
from .ops.promotion import c_name
from .tensor.api.undefined import no_derivative
from .tensor.core.graph import INFERENCE, Node, node_class, unversioned
from .tensor.core.handle import edge, meta, read, version
from .tensor.core.hooks import retain_instead
from .tensor.core.write import CopySlices, check_inplace, needs_grad, unasked

_UNARY = """abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg reciprocal round rsqrt sigmoid
    sign sin sinh sqrt tan tanh trunc""".split()
_BINARY = "add sub mul div pow maximum minimum clamp_min clamp_max".split()


def _each(other, n):
    """What belongs to each tensor: an entry of a list, else the same for all."""
    if isinstance(other, (list, tuple)):
        if len(other) != n:
            raise RuntimeError(f"Tensor lists must have the same number of tensors, got {n} and {len(other)}")
        return other
    return [other] * n


def _one_of(name, *given):
    """The one that was given of arguments that torch's overloads name differently."""
    given = [x for x in given if x is not None]
    if len(given) != 1:
        raise TypeError(f"_foreach_{name}() takes one other operand, got {len(given)}")
    return given[0]


def _lists(name, *given):
    """torch's refusals of what should be lists of tensors, by their parameters: (name, argument) for each."""
    for k, (parameter, x) in enumerate(given):
        if not isinstance(x, (list, tuple)):
            raise TypeError(f"_foreach_{name}(): argument '{parameter}' (position {k + 1}) must be tuple of Tensors, not {type(x).__name__}")
        for i, t in enumerate(x):
            if not isinstance(t, Tensor):
                raise TypeError(f"expected Tensor as element {i} in argument {k}, but got {type(t).__name__}")
    if not given[0][1]:
        raise RuntimeError("Tensor list must have at least one tensor.")


def _refuse(tensors, others=()):
    """Before the first tensor is written: torch's refusals for all of them."""
    others = others if isinstance(others, (tuple, list)) else ()
    for k, t in enumerate(tensors):
        other = others[k] if k < len(others) else None
        check_inplace(t, needs_grad(t) or isinstance(other, Tensor) and needs_grad(other))


_WITH = ("Scalar", "ScalarList", "List", "Tensor")       # what the other operand is: a number, numbers, tensors, a tensor for all
_NUMBERED = {"add": "1Scalar 1ScalarList 0List 1Scalar", "mul": "1Scalar 1ScalarList 0List 0Tensor",
             "div": "1Scalar 1ScalarList 0 0Tensor", "pow": "0Scalar 1 0 0Scalar", "maximum": "0 1 0List 0",
             "clamp_min": "0Scalar 0ScalarList 1List 0Scalar", "lerp": "0Scalar 0ScalarList 1List 0Scalar",
             "addcmul": "0Scalar 0ScalarList", "max": "1"}
_NUMBERED |= dict(sub=_NUMBERED["add"], minimum=_NUMBERED["maximum"], clamp_max=_NUMBERED["clamp_min"], addcdiv=_NUMBERED["addcmul"])
_IN_PLACE = {"add": "AddBackward", "sub": "SubBackward", "mul": "MulBackward", "div": "DivBackward"}    # 1 with a number
_AS_NUMBER = ("add", "sub", "pow", "clamp_min", "clamp_max")              # one tensor for all counts as a number here


def _wanted(*given):
    """Whether an operand, or one of a list, wants a gradient."""
    each = [t for x in given for t in (x if isinstance(x, (list, tuple)) else (x,))] if context.grad else ()
    return any([isinstance(t, Tensor) and needs_grad(t) for t in each])


def _rename(node, name):
    """Give a node another name; one whose saved tensors hooks packed stays of that kind."""
    node.__class__ = node_class(name, node.__class__.__bases__[0])


def _named(made, name, other=None, wanted=False):
    """The results, with the names that torch's formulas for lists have. It has one node for all of them, so where one wants a gradient
    (`wanted`) all have a history, and none may be an integer."""
    made = list(made)
    for k, t in enumerate(made):
        if wanted and not isinstance(t._ts_edge, Node) and not t.requires_grad and "transform" not in context.modes:
            if not (t.is_floating_point() or t.is_complex()):
                raise RuntimeError(f"Autograd not support dtype: {c_name(t._ts_meta.dtype)}")
            made[k] = t.detach().requires_grad_().clone()
    kind = "List" if isinstance(other, (list, tuple)) and isinstance(other[0], Tensor) else \
        "ScalarList" if isinstance(other, (list, tuple)) else "Tensor" if isinstance(other, Tensor) else "Scalar"
    number = _NUMBERED[name].split(" ")[_WITH.index(kind)] if name in _NUMBERED else "2" if name == "rpow" else "0"
    words = {"rpow": "pow", "log1p": "log1_p"}.get(name, name)
    named = "Foreach" + "".join([w.capitalize() for w in words.split("_")]) + "Backward" + number
    for t in made:
        if isinstance(t._ts_edge, Node) and t._ts_edge._ts_inst is not None and (t._ts_view is None or t._ts_view.base is None):
            _rename(t._ts_edge, named)
    return tuple(made)


def _named_in_place(made, name, others, listed):
    """The tensors written to: with numbers, or one tensor for all (not `listed`), their nodes are those of torch's formulas for these."""
    if context.grad:
        for t, other in zip(made, others):
            e = t._ts_edge
            if not isinstance(e, Node) or t._ts_view is not None and t._ts_view.base is not None:
                continue
            of_one = isinstance(other, Tensor) and not listed
            if name in _IN_PLACE and e.name() == _IN_PLACE[name] + "0" and (not isinstance(other, Tensor) or of_one and name in _AS_NUMBER):
                _rename(e, _IN_PLACE[name] + "1")
            elif of_one and name not in _IN_PLACE and name in _AS_NUMBER and e.name().endswith("1"):
                _rename(e, e.name()[:-1] + "0")
    return list(made)


def _unary(name, inplace):
    method = getattr(Tensor, name + "_" * inplace)

    def each(self):
        _lists(name + "_" * inplace, ("self", self))
        if inplace:
            _refuse(self)
            return [method(t) for t in self]
        return _named([method(t) for t in self], name, wanted=_wanted(self))
    return each


def _binary(name, inplace):
    method = getattr(Tensor, name + "_" * inplace, None) or getattr(Tensor, name)
    copies = inplace and not hasattr(Tensor, name + "_")
    kernel = {"maximum": "clamp_min", "minimum": "clamp_max"}.get(name)        # that torch asks where the other is a number
    clamp = getattr(Tensor, kernel + "_" * inplace) if kernel else None

    def each(self, other=None, *, scalar=None, scalars=None, exponent=None, **kwargs):
        other = _one_of(name, other, scalar, scalars, exponent)
        if name == "pow" and not isinstance(self, (list, tuple)):
            return _named([o.__rpow__(self) for o in other], "rpow", wanted=_wanted(other))
        listed = isinstance(other, (list, tuple)) and not all([isinstance(x, _number_types.Number) for x in other])
        _lists(name + "_" * inplace, ("self", self), *([("other", other)] if listed else []))
        others = _each(other, len(self))
        if inplace:
            _refuse(self, others)
        if copies:
            made = [_overwritten(t, o, method, name, listed) if isinstance(o, Tensor) or _wanted(t) else clamp(t, o)
                    for t, o in zip(self, others)]
        elif clamp is not None:
            made = [method(t, o if isinstance(o, Tensor) else t.new_tensor(o)) if isinstance(o, Tensor) or _wanted(t)
                    else clamp(t, o) for t, o in zip(self, others)]
        else:
            if name == "mul" and inplace:
                others = [_as_short(o, t) for t, o in zip(self, others)]
            made = [method(t, o, **kwargs) for t, o in zip(self, others)]
        return _named_in_place(made, name, others, listed) if inplace else _named(made, name, other, _wanted(self, other))
    return each


def _as_short(number, t):
    """A number as the half tensor `t` is multiplied in place by it in a list, other than alone: there it comes first in torch's
    product, and so is rounded."""
    half = not isinstance(number, Tensor) and isinstance(t, Tensor) and t.dtype in (bfloat16, float16)
    return np.asarray(number, meta(t).dtype).item() if half and not isinstance(number, complex) else number


def _overwritten(t, other, method, name, listed):
    """`t`, written with what an operator makes of it that torch has in place for lists alone, and derives only for two lists of tensors."""
    before = _as_it_is(t)
    made = method(before, other if isinstance(other, Tensor) else t.new_tensor(other))
    if not listed:
        no_derivative(made, (before,), f"_foreach_{name}_")
    return _written(t, made)


def _as_it_is(t):
    """A copy of a tensor with its own history, to be read once that is written."""
    before = t.detach().clone()
    before._ts_edge = edge(t)
    return before


def _written(t, made):
    """`t`, which becomes what was made, with the history of that where it is no view."""
    t.copy_(made)
    if isinstance(made._ts_edge, Node) and (t._ts_view is None or t._ts_view.base is None):
        t._ts_edge = made._ts_edge
    return t


def _packed(t, n):
    """The numbers that come in one tensor, one for each of `n` tensors."""
    if t.dim() != 1:
        raise RuntimeError(f"Expected packed scalar Tensor to be of dimension 1. Got {t.dim()} instead.")
    if len(t) != n:
        raise RuntimeError(f"Expected length of scalars to match input of length {n} but got {len(t)} instead.")
    return t.tolist()


def _pointwise(name, inplace):
    method = getattr(Tensor, name + "_" * inplace)

    def each(self, tensor1, tensor2, value=None, *, scalars=None):
        _lists(name + "_" * inplace, ("self", self), ("tensor1", tensor1), ("tensor2", tensor2))
        if isinstance(scalars, Tensor) or value.__class__ is Tensor:
            value, scalars = None, _packed(value if scalars is None else scalars, len(self))
        if inplace:
            _refuse(self)
        values = _each(1 if value is None and scalars is None else scalars if value is None else value, len(self))
        if not inplace and context.grad and any([unversioned(t) for t in self]) and _wanted(self, tensor1, tensor2):
            raise RuntimeError(INFERENCE)      # it saves these for their dtypes
        made = [method(t, a, b, value=v) for t, a, b, v in zip(self, _each(tensor1, len(self)), _each(tensor2, len(self)), values)]
        return made if inplace else _named(made, name, scalars if value is None else value, _wanted(self, tensor1, tensor2))
    return each


def _lerp(inplace):
    method = getattr(Tensor, "lerp" + "_" * inplace)

    def each(self, tensors1, weights=None, *, weight=None):
        _lists("lerp" + "_" * inplace, ("self", self), ("tensors1", tensors1))
        weights = _one_of("lerp", weights, weight)
        made = [method(t, e, w) for t, e, w in zip(self, _each(tensors1, len(self)), _each(weights, len(self)))]
        return made if inplace else _named(made, "lerp", weights, _wanted(self, tensors1, weights))
    return each


def _refuse_lazy(tensors, args, name):
    """torch's refusal to write lists with what is seen conjugated or negated, after what the graph refuses."""
    views = [t for t in tensors if isinstance(t, Tensor) and t._ts_view is not None]
    what = "conjugate" if any([t.is_conj() for t in views]) else "negation" if any([t.is_neg() for t in views]) else None
    if what is not None and all([isinstance(t, Tensor) for t in tensors]):
        _refuse(tensors, args[0] if args else ())
        raise RuntimeError(f" fallback doesn't currently support mutable TensorLists with {what} inputs. Please materialize all the {what} "
                           f"input tensor(s) in the mutable TensorList inputs before calling aten::{name}")


def _writer(t):
    """The node that wrote to `t`, where it saved something and no hooks have packed that; else None."""
    e = t._ts_edge if t._ts_view is None or t._ts_view.base is None else t._ts_view.base._ts_edge
    node = e.fn if e.__class__ is CopySlices else e
    return node if isinstance(node, Node) and node._ts_plan is not None and node._ts_saved and node._ts_pack is None else None


def _as_after_all(node, t, before):
    """Let a node that wrote to `t` keep what was there before all writes of the list, and of its result what is there after them."""
    args = node._ts_plan.args
    if 0 in args:
        node._ts_saved[args.index(0)] = before
    if node._ts_plan.outs:
        k = len(args)
        node._ts_saved[k] = read(t)
        node._ts_guard = [(k, g[1], g[1].version, g[1].gen, *g[4:]) if g[0] == k else g for g in node._ts_guard]


def _in_place(function):
    """A function that writes to each tensor of its first list. torch makes all nodes before it writes, so that one which is there twice
    gets its last node, with the history of before (a view all of them); what was saved of results is the last one's. And it counts all
    writes before it gives out histories: a view does not learn of those to the same memory that come after its own first."""
    @functools.wraps(function)
    def each(self, *args, **kwargs):
        if not isinstance(self, (list, tuple)):
            return function(self, *args, **kwargs)
        _refuse_lazy(self, args, function.__name__)
        if not context.grad:
            return function(self, *args, **kwargs)
        owners = [t for t in self if isinstance(t, Tensor)]
        owners += [t._ts_view.base for t in owners if t._ts_view is not None and t._ts_view.base is not None]
        before = [t._ts_edge for t in owners]
        try:
            return tracked(self, *args, **kwargs)
        except Exception:                      # what was written by then was so without a history
            for t, e in zip(owners, before):
                t._ts_edge = e
            raise

    def tracked(self, *args, **kwargs):
        n = len(self)
        if len({id(t) for t in self}) == n and (n == 1 or not all([isinstance(t, Tensor) for t in self]) or len({id(t._ts_st) for t in self}) == n):
            return function(self, *args, **kwargs)
        for k, t in enumerate(self):
            if not isinstance(t, Tensor):
                raise TypeError(f"expected Tensor as element {k} in argument 0, but got {type(t).__name__}")
        others = args[0] if args else None
        if not isinstance(others, (list, tuple)) or len(others) == n:
            _refuse(self, others)
        part = lambda x, k: x[k:k + 1] if isinstance(x, (list, tuple)) and len(x) == n else x
        of_before, of_views, keeping = [None if t._ts_view is not None else t._ts_edge for t in self], {}, []
        values = [read(t) for t in self]
        for k, t in enumerate(self):
            meanwhile, before = t._ts_edge, _writer(t)
            function([t], *[part(x, k) for x in args], **{name: part(x, k) for name, x in kwargs.items()})
            made = edge(t)
            of_views.setdefault(id(t), t._ts_edge)
            writer = _writer(t)
            if writer is not None and writer is not before:
                keeping.append((writer, t, values[k]))
            if t._ts_view is None and meanwhile is not of_before[k] and isinstance(made, Node) and made is not meanwhile:
                made._ts_next = tuple([of_before[k] if e is meanwhile else e for e in made._ts_next])
        for writer, t, value in keeping:
            _as_after_all(writer, t, value)
        for t in self:
            first = of_views[id(t)]
            if t._ts_view is not None and t._ts_view.base is not None and first is not None:
                if t._ts_extra is not None and t._ts_extra.retains and t._ts_edge is not first:
                    retain_instead(t, t._ts_edge, first)
                t._ts_view.seen, t._ts_edge = version(t), first
        return list(self)
    return unasked()(each)


@_in_place
def _foreach_zero_(self):
    """Zeros in each tensor."""
    _lists("zero_", ("self", self))
    _refuse(self)
    return [t.zero_() for t in self]


@_in_place
def _foreach_copy_(self, src, non_blocking=False):
    """Copy each tensor of another list."""
    _lists("copy_", ("self", self), ("src", src))
    if non_blocking.__class__ is not bool:
        raise TypeError(f"_foreach_copy_(): argument 'non_blocking' (position 3) must be bool, not {type(non_blocking).__name__}")
    _refuse(self, src)
    if not context.grad:
        return [t.copy_(s) for t, s in zip(self, _each(src, len(self)))]
    return [_written(t, no_derivative(s.detach().clone(), (t, *src), "_foreach_copy_")) if _wanted(t, s) else t.copy_(s)
            for t, s in zip(self, _each(src, len(self)))]


def _foreach_norm(self, ord=2, dtype=None):
    """The norm of each tensor."""
    _lists("norm", ("self", self))
    if ord in (math.inf, "inf") and not all([t.numel() for t in self]):
        raise RuntimeError("_foreach_norm cannot compute the infinity norm on an empty tensor because the operation does not have an "
                           "identity")
    return _named([t.norm(ord, dtype=dtype) for t in self], "norm", wanted=_wanted(self))


def _foreach_max(self):
    """The largest element of each tensor."""
    _lists("max", ("self", self))
    if not all([t.numel() for t in self]):
        raise RuntimeError("_foreach_max cannot compute the maximum of an empty tensor; max over zero elements is undefined.")
    return _named([t.max() for t in self], "max", wanted=_wanted(self))


for _inplace in (False, True):
    _made = {**{n: _unary(n, _inplace) for n in _UNARY}, **{n: _binary(n, _inplace) for n in _BINARY},
             **{n: _pointwise(n, _inplace) for n in ("addcmul", "addcdiv")}, "lerp": _lerp(_inplace)}
    for _n, _f in _made.items():
        _f.__name__ = _f.__qualname__ = f"_foreach_{_n}{'_' * _inplace}"
        _f.__doc__ = f"Tensor.{_n}{'_' * _inplace} on each tensor" + (" in place." if _inplace else "; a tuple.")
        globals()[_f.__name__] = _in_place(_f) if _inplace else _f
