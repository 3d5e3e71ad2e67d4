"""From declarations to the API: functions, methods, in-place and `out=` forms of every operator.

`FUNCTIONS` is what `torch.` gets; methods are set on the Tensor class. Functions that are written in terms of other
operators (torch's composites) are registered with `@function`.
"""
from __future__ import annotations

import functools
import inspect
import numbers
import types

import numpy as np

from ...engine import TRACED, context, expect, is_host, known, record, warn
from ...engine.site import TRACED_ERRORS, asked_by, leaving
from ...ops.registry import OPS, PACKED, REQUIRED, SB, SC, SF, SI, T
from ..core import dispatch, settings
from . import docs
from .at_once import at_once
from .compiled import compiled, keep
from .placement import placed
from .out import ELEMENTWISE, SHARED, dtype_of, history_first, history_of, into, refuse_drawn, writer
from .old_forms import KEPT_ALONG, OLD_FORMS
from .overloads import Overload, foreign, overloaded
from .misfits import misfit_of
from .parameters import kind, shown_name, type_name
from .signatures import LISTED, NAMES as SIGNED, UNSET, guarded, no_overload, refusal, refused_by_operator, renamed, strict
from .return_types import named
from ..core.device import device as torch_device, to_jax
from ..core.dispatch import apply, apply1, apply2, apply3, apply_number, apply_scaled, wrapped
from ..core.dtype import dtype as torch_dtype
from ..core.handle import TensorBase, meta, read, refusal as asked_first
from ..core.inplace import inplace1, inplace2, inplace_number, inplace_scaled
from ..core.write import apply_inplace, needs_grad

FUNCTIONS: dict = {}       # torch.<name>
NAMESPACES: dict = {}      # "nn.functional" -> {name: function}
_TOKENS = {bool: SB, int: SI, float: SF, complex: SC}


def number(x):
    """A Python number from what torch accepts as one (NumPy scalars too); None if it is none."""
    c = x.__class__
    if c in _TOKENS:
        return x
    if isinstance(x, np.generic):              # NumPy's bools are none of Python's and have a float, which torch takes
        return float(x) if isinstance(x, np.bool_) else x.item()
    if isinstance(x, (bool, int, float, complex)):
        return bool(x) if isinstance(x, bool) else int(x) if isinstance(x, int) else float(x) if isinstance(x, float) else complex(x)
    return None


def pack(x, nums):
    """Append a Python number to the packed list; its token."""
    token = _TOKENS[x.__class__]
    if token is SC:
        nums += [x.real, x.imag]
    elif token is SI and not -2 ** 63 <= x < 2 ** 63:
        nums.append(wrapped(x))
    else:
        nums.append(int(x) if token is SB else x)
    return token


def static(p, x, op):
    """A static argument in its canonical, hashable form."""
    if x.__class__ in (str, list, tuple) and p.type.startswith("int") and (x.__class__ is str or not p.is_list):
        raise TypeError(f"{op.name}(): argument '{shown_name(p)}' must be int, not {type_name(x)}")
    if x.__class__ is str and p.type.startswith("ScalarType"):
        raise TypeError(f"{op.name}(): argument '{shown_name(p)}' must be torch.dtype, not str")
    if x is None or x.__class__ in (bool, str):
        return x
    if x.__class__ is int:
        return x
    if isinstance(x, torch_dtype):
        return x.np
    if isinstance(x, torch_device):
        return to_jax(x)
    if isinstance(x, (list, tuple)):
        return tuple(x if all([y.__class__ is int for y in x]) else [_element(p, x, k, op) for k in range(len(x))])
    if isinstance(x, (TensorBase, np.generic, numbers.Number)) or hasattr(x, "__index__"):
        if p.type.startswith("int") or p.type.startswith("SymInt"):
            try:
                return x.__index__()
            except (TypeError, AttributeError):
                raise TypeError(f"{op.name}(): argument '{shown_name(p)}' must be int, not {type_name(x)}") from None
        return x.item() if hasattr(x, "item") else x
    if p.type.startswith(("int", "SymInt")):
        raise TypeError(f"{op.name}(): argument '{shown_name(p)}' must be {_said(p)}, not {type_name(x)}")
    try:
        hash(x)
    except TypeError:
        raise TypeError(f"{op.name}(): argument '{shown_name(p)}' has unsupported type {type_name(x)}") from None
    return x


def _element(p, x, k, op):
    """A static argument's element; torch's parser has looked at the first alone."""
    if p.type.startswith("int") and x[k].__class__ is bool and not k:
        raise misfit_of(op.name, p, None, x)
    try:
        made = static(p, x[k], op)
        return int(made) if made.__class__ is bool and p.type.startswith(("int", "SymInt")) else made      # as a key True were 1
    except TypeError:
        if k and p.is_list:
            raise TypeError(f"{op.name}(): argument '{shown_name(p)}' failed to unpack the object at pos {k + 1} with error \"type must be "
                            f"{kind(p)},but got {type_name(x[k])}\"") from None
        raise


def prepare(op, args, name=None, first=1):
    """(tensors, layout, nums, kinds) of a call; TypeErrors as torch words them, where `name` was called and its first
    argument counts as number `first` (0 for methods)."""
    tensors, layout, nums, kinds = [], [], [], ""
    for i, (p, x) in enumerate(zip(op.params, args)):
        if p.kind == "tensor":
            if isinstance(x, TensorBase):
                tensors.append(x)
                layout.append(T)
                continue
            if p.is_list and isinstance(x, (list, tuple)):
                for k, y in enumerate(x):
                    if y is not None and not isinstance(y, TensorBase):
                        raise TypeError(f"expected Tensor as element {k} in argument {i}, but got {type_name(y)}")
                tensors += [y for y in x if y is not None]
                layout.append(tuple([None if y is None else T for y in x]))
                continue
            if x is None and p.optional:
                layout.append(None)
                continue
            n = number(x)
            if n is None or p.name not in op.numbers:
                raise TypeError(f"{name or op.name}(): argument '{shown_name(p)}' (position {i + first}) must be Tensor, not "
                                f"{type_name(x)}")
            token = pack(n, nums)
            layout.append(token)
            kinds += PACKED[token]
        elif p.kind == "number":
            if x is None and (p.optional or p.default in (None, REQUIRED)) or (x.__class__ is p.default.__class__
                             and x.__class__ in (int, float, bool) and x == p.default and p.name in ("alpha", "value", "beta")):
                layout.append(x)
                continue
            if isinstance(x, TensorBase) and not meta(x).ndim and not x.requires_grad:
                x = x.item()
            n = number(x)
            if n is None:
                place = "" if p.keyword_only else f" (position {i + first})"
                raise TypeError(f"{name or op.name}(): argument '{p.name}'{place} must be {'float' if p.type == 'float' else 'Number'}, "
                                f"not {type_name(x)}")
            if p.type == "float" and n.__class__ in (int, bool):
                n = float(n)
            token = pack(n, nums)
            layout.append(token)
            kinds += PACKED[token]
        elif x.__class__ is p.python:
            layout.append(x)
        else:
            if name is not None and x is not p.default and (x.__class__ is bool or p.python is bool or x is None) and not fitting(p, x):
                place = "" if p.keyword_only else f" (position {i + first})"
                raise TypeError(f"{name}(): argument '{shown_name(p)}'{place} must be {_said(p)}, not {type_name(x)}")
            layout.append(x if x.__class__ in (int, bool) or x is None or x is p.default is ... else static(p, x, op))
    if not tensors and op.scalar_left is True:
        p = next(p for p in reversed(op.params) if p.name in op.numbers)
        raise TypeError(f"{name or op.name}(): argument '{shown_name(p)}' must be Tensor, not {type_name(args[op.params.index(p)])}")
    return tensors, tuple(layout), nums, kinds


def fitting(p, x):
    """Whether a static parameter takes a bool, or a bool parameter or one without None takes what is given."""
    if x is None:
        return p.optional or p.python is None and not (p.type.startswith("int[") and p.default is REQUIRED)
    if x.__class__ is bool:
        return p.python is not int and not p.type.startswith("int[")
    return isinstance(x, np.bool_)


def _said(p):
    return "tuple of ints" if p.is_list else "bool" if p.python is bool else "int"


def precheck(op, args):
    """Errors that depend on values: those of numbers now, those of tensors when their values are looked at; `op.precheck` returns these
    as (position of the tensor, operator that says whether it is wrong, error), or None."""
    try:
        late = op.precheck(*[number(x) if isinstance(x, np.generic) else x if not isinstance(x, TensorBase) else meta(x)
                             if p.kind == "tensor" else static(p, x, op) if p.kind == "static" else x for p, x in zip(op.params, args)])
    except (IndexError, RuntimeError) as error:
        if op.grad is None or op.composed or hasattr(error, "at_once") or isinstance(error, NotImplementedError):
            raise
        for p, x in zip(op.params, args):
            if isinstance(x, TensorBase) and p.name not in op.nondiff:
                asked_first(x, error)
        raise
    for position, wrong, error in late or ():
        expect_not(wrong, read(args[position]), error, needs_grad(args[position]))


def expect_not(wrong, v, error, late=False):
    """Let `error()` be raised, now or at the next look, if the operator `wrong` says so of the Value `v` (on the CPU). late: what leads
    there is not computed for this, a step of training does so once."""
    if v.extra is not TRACED and is_host(v.meta.device):
        a = v.array if late else known(v)
        if a is not None:
            if np.asarray(wrong.resolve(wrong.layout, (v.meta,), "").interpreted()(np.asarray(a))[0]).any():
                raise error()
            return
        bad, _ = record(context, wrong, wrong.layout, (v,))
        expect(context.trace, bad, v, error)


_FORMS = None, apply1, apply2, apply3      # for as many tensors
_PLAIN = frozenset((int, bool, type(None)))    # what is static as it is


def call(op, args, name=None, first=1):
    """Apply a declared operator to Python arguments in the order of its schema."""
    if op.plain and name is None and _PLAIN.issuperset(map(type, args[1:])) and isinstance(args[0], TensorBase):
        return apply1(op, args[0], (T, *args[1:]))
    direct = context.trace.direct
    if direct is not None:
        made = at_once(direct, op, args, lambda op, args: prepare(op, args, name, first))
        if made is not None:
            return made
    tensors, layout, nums, kinds = prepare(op, args, name, first)
    if not kinds and 0 < len(tensors) < 4:
        return _FORMS[len(tensors)](op, *tensors, layout)
    return apply(op, tensors, layout, nums, kinds)


def call_inplace(op, args, name=None, first=1):
    """The in-place form: writes into the first argument and returns it."""
    tensors, layout, nums, kinds = prepare(op, args, name, first)
    if op.inplace_keeps and kinds and nums[0] < 0:             # of such a slope backward asks, so that the operator has to know it
        layout, nums, kinds = (layout[0], nums[0]), [], ""
    overlap = op.overlap
    if callable(overlap):
        made = overlap(op, tensors[0], layout)
        if made is not None:
            return made
        overlap = None
    return apply_inplace(op.inplace_op, tensors, layout, nums, kinds, overlap=overlap)


def _code(op, first, inplace, with_out, flag):
    """The code of a form: operators with the same parameters share it, or importing would spend its time compiling."""
    key = (op.schema.partition("(")[2], op.numbers, op.elementwise, op.precheck is None, op.out, op.name in SHARED,
           op.full_name in OLD_FORMS, op.full_name in KEPT_ALONG, op.in_steps, inplace and callable(op.overlap), first, inplace,
           with_out, flag)
    return compiled(key, lambda: _source(op, first, inplace, with_out, flag))


def undirected(op, name, args, method, given, out):
    """Refuse a call without `dim` but with what torch has only beside one: a keepdim, or with most of these operators `out=`. given: the
    keepdim and the dtype."""
    if given["keepdim"] is not UNSET or out is not None and op.full_name != "mean":
        kwargs = {k: x for k, x in (*given.items(), ("out", out)) if x is not UNSET and x is not None or k == "keepdim" and x is None}
        raise no_overload(name, op, args, method, True, kwargs)


def too_many(op, name, given, method):
    """torch's error for positional arguments of which neither the new nor the old form takes as many."""
    new, count = sum(not p.keyword_only for p in op.params) - method, len(given) - method
    return TypeError(f"{name}() takes {new} positional argument{'s' * (new != 1)} but {count} {'was' if count == 1 else 'were'} given")


def old_form(op, name, given, method, inplace, out):
    """A call with its arguments in an old order. inplace: whether it writes to the first, or what does that."""
    for order in OLD_FORMS[op.name]:
        order = ("self", *[n for n in order if n != "self"]) if method else order
        if len(order) == len(given):
            break
    else:
        if op.name == "rsub":
            raise no_overload(name, op, given, method, out)
        raise too_many(op, name, given, method)
    if order == tuple([p.name for p in op.params]):
        if isinstance(given[1], TensorBase):
            if given[1].ndim or given[1].requires_grad:
                raise no_overload(name, op, given, method, out)
            given = [given[0], given[1].item(), *given[2:]]    # a number, as it is wanted
    elif op.name in ("add", "sub") and isinstance(given[1], TensorBase):
        raise too_many(op, name, given, method)
    elif settings.once(old_form):
        by_name = {p.name: p for p in op.params}
        said = lambda n: f"{'Tensor' if by_name[n].kind == 'tensor' else 'Number'} {'input' if n == 'self' else n}"
        shown = lambda n: said(n) + (f" = {by_name[n].default}" if by_name[n].keyword_only else "")
        new = [shown(p.name) for p in op.params]
        new.insert(sum(not p.keyword_only for p in op.params), "*")
        shown_out = "" if method else ", *, Tensor out = None"
        skip = 1 if method else 0
        warn(f"This overload of {name} is deprecated:\n\t{name}({', '.join(said(n) for n in order[skip:])}{shown_out})\nConsider using one "
             f"of the following signatures instead:\n\t{name}({', '.join(new[skip:])}{'' if method else ', Tensor out = None'})")
    values = dict(zip(order, given))
    args = [values.get(p.name, p.default) for p in op.params]
    made = inplace(*args) if callable(inplace) else (call_inplace if inplace else call)(op, args, name, int(not method))
    return made if out is None else into(out, made, name)


def _source(op, first, inplace, with_out, flag):
    """A Python function with the operator's own signature; `flag` adds an `inplace` parameter."""
    sig, names, star = [], [], False
    old = op.full_name in OLD_FORMS
    for p in op.params:
        pname = first if p.name == "self" else p.name
        if p.keyword_only and not star:
            sig.append("*old" if old else "*")
            star = True
        required = "" if pname == "self" else "=_unset"                # a call without it is refused by what it meets
        sig.append(pname + required if p.default is REQUIRED else f"{pname}=_d_{p.name}")
        names.append(pname)
    aliases = ""
    if "dim" in names:
        if not star:
            sig.append("*")
            star = True
        sig.append("axis=_unset")
        unset = op.full_name in KEPT_ALONG or op.params[names.index("dim")].default is REQUIRED
        taken = "_unset" if unset else "_d_dim"
        twice = 'raise TypeError(f"{_name}() got an unexpected keyword argument \'axis\'")'
        aliases += f"    if axis is not _unset:\n        if dim is not {taken}: {twice}\n        dim = axis\n"
        if "keepdim" in names:
            sig.append("keepdims=_unset")
            again = twice.replace("axis", "keepdims")
            unset = "_unset" if op.full_name in KEPT_ALONG else "_d_keepdim"
            aliases += f"    if keepdims is not _unset:\n        if keepdim is not {unset}: {again}\n        keepdim = keepdims\n"
    if op.full_name in KEPT_ALONG:
        sig[names.index("dim")] = "dim=_unset"
        sig[names.index("keepdim")] = "keepdim=_unset"
        given = "()" if first == "self" else "(input,)"
        condition, out = ("keepdim is not _unset or out is not None", "out") if with_out else ("keepdim is not _unset", "None")
        aliases += f"    if dim is _unset:\n        dim = None\n        if {condition}:\n"
        aliases += f"            undirected(_op, _name, {given}, {first == 'self'}, dict(keepdim=keepdim, dtype=dtype), {out})\n"
        aliases += "        keepdim = False\n    else:\n        if keepdim is _unset: keepdim = False\n"
        if op.params[names.index("dim")].is_list:
            aliases += "        if dim is None: dim = ()\n"           # a history of its own
        else:                                                          # one dimension, which must be said
            given = "None" if first == "self" else "input, None"
            aliases += f"        if dim is None: raise no_overload(_name, _op, ({given},), {first == 'self'}, {with_out})\n"
    if flag:
        sig.append("inplace=False")
    if with_out:
        if not star:
            sig.append("*")
        sig.append("out=None")
    args = ", ".join(names)
    tensors = [p for p in op.params if p.kind == "tensor"]
    fast = ""
    plain = all([p.kind == "tensor" and not p.is_list and not p.optional
                 or p.kind != "tensor" and (p.default is not REQUIRED or kept_class(p)) for p in op.params])
    if plain and len(tensors) in (1, 2, 3) and op.params[0].kind == "tensor" and not (inplace and callable(op.overlap)):
        ts = [n for n, p in zip(names, op.params) if p.kind == "tensor"]
        rest = [(n, p) for n, p in zip(names, op.params) if p.kind != "tensor"]
        these = [f"isinstance({n}, TensorBase)" for n in ts] + ["out is None"] * with_out + ["not inplace"] * flag
        if not inplace:
            done = f"apply{len(ts)}(_op, {', '.join(ts)}, _layout)"
        elif len(ts) < 3:
            done = f"inplace{len(ts)}(_op.inplace_op, {', '.join(ts)}, _layout)"
        else:
            done = f"apply_inplace(_op.inplace_op, ({', '.join(ts)}), _layout)"
        done = f"finish({done})" if op.fields else done
        defaults = [f"{n} is _d_{p.name}" for n, p in rest]
        given = " and ".join(these + defaults)
        if op.in_steps:
            fast = (f"    if {given}:\n        made = _op.steps({', '.join(ts)}) if ({ts[-1]}._ts_view or {ts[-1]}._ts_st.value).meta.ndim "
                    f"> 2 or ({ts[0]}._ts_view or {ts[0]}._ts_st.value).meta.ndim < 2 else None\n        return {done} if made is None else made\n")
        elif all([p.default is not REQUIRED for _, p in rest]):
            fast = f"    if {given}:\n        return {done}\n"
        if any([kept_class(p) for _, p in rest]):
            given = " and ".join(these + [kept_as_it_is(n, p) for n, p in rest])
            layout = ", ".join([n if p.kind != "tensor" and kept_class(p) else f"_layout[{k}]"
                                for k, (n, p) in enumerate(zip(names, op.params))])
            fast += f"    if {given}:\n        return {done.replace('_layout', f'({layout},)')}\n"
        conds = defaults + these[len(ts):]
        if len(ts) == 2 and names[1] == ts[1] and op.params[1].name in op.numbers:
            x = names[1]
            done = f"inplace_number(_op.inplace_op, {names[0]}, {x}, *p)" if inplace else f"apply_number(_op, {names[0]}, {x}, *p)"
            given = " and ".join(["p is not None", f"isinstance({names[0]}, TensorBase)"] + conds)
            fast += f"    p = _numbers.get({x}.__class__)\n    if {given}:\n        return {done}\n"
        q = float_parameter(op)
        if q is not None:
            given = " and ".join([f"{q.name}.__class__ is float"] + [f"isinstance({n}, TensorBase)" for n in ts]
                                 + [c for c in conds if c != f"{q.name} is _d_{q.name}"])
            if len(ts) == 2:
                what, target = (f"{', '.join(ts)}, {q.name}, _float_layout, 'f'", "inplace_scaled(_op.inplace_op, " if inplace
                                else "apply_scaled(_op, ")
            else:
                what = f"({', '.join(ts)},), _float_layout, ({q.name},), 'f'"
                target = "apply_inplace(_op.inplace_op, " if inplace else "apply(_op, "
            fast += f"    if {given}:\n        return {target}{what})\n"
    if with_out and op.out in ("dtype", "floating dtype"):
        aliases += f"    if out is not None and dtype is None: dtype = dtype_of(out, {first}, _op)\n"
    body = aliases + (f"    precheck(_op, ({args},))\n" if op.precheck else "") + fast
    if old:
        given = ", ".join(n for n, p in zip(names, op.params) if not p.keyword_only)
        body = (f"    if old: return old_form(_op, _name, ({given}, *old), {first == 'self'}, {inplace}, {'out' if with_out else None})\n"
                + body)
    target = "call_inplace" if inplace else "call"
    made = f"{target}(_op, ({args},), _name, {int(first != 'self')})"
    if flag:
        body += f"    if inplace:\n        return call_inplace(_op, ({args},), _name)\n"
    if with_out:
        operands = f", ({', '.join([n for n, p in zip(names, op.params) if p.kind == 'tensor' and not p.is_list])},)" \
            if op.elementwise or op.name in SHARED else ""
        body += f"    if out is not None:\n        return into(out, {f'finish({made})' if op.fields else made}, _name{operands})\n"
    body += f"    return finish({made})\n" if op.fields else f"    return {made}\n"
    body = body.replace("    ", "        ", 1).replace("\n    ", "\n        ")
    meets = (f"        if foreign(({args},), _error):\n            _args, _kwargs = as_written(_op, ({args},), "
             f"{'out' if with_out else None})\n            return _self(*_args, **_kwargs)\n")
    refused = f"refused_by_operator(_op, _name, ({args},), {first == 'self'}, {with_out}{', out' if with_out else ''})"
    refused += f" or history_first(_op, _name, ({args},), out, _error)" if with_out else ""
    return (f"def _f({', '.join(sig)}):\n    try:\n{body}    except Exception as _error:\n{meets}        _failure = {refused} or _error\n"
            "    try:\n        raise leaving(_failure)\n    finally:\n        del _failure\n")


def kept_class(p):
    """The name of the class of which a static argument stays as it is in the layout; None where it may not."""
    return "bool" if p.python is bool else "int" if p.type.startswith(("int", "SymInt")) and p.default.__class__ is not tuple else None


def kept_as_it_is(name, p):
    """The condition that a static argument needs no look: it has its default, or `kept_class`."""
    default, of_class = f"{name} is _d_{p.name}", f"{name}.__class__ is {kept_class(p)}"
    return default if not kept_class(p) else of_class if p.default is REQUIRED else f"({default} or {of_class})"


def float_parameter(op):
    """The parameter that takes a Python number beside the tensors, where there is one and its default is an int (`alpha`, `value`)."""
    found = [p for p in op.params if p.kind == "number"]
    return found[0] if len(found) == 1 and found[0].default.__class__ is int else None


def as_written(op, values, out):
    """(args, kwargs) of a call, without what has its default."""
    args, kwargs = [], {} if out is None else {"out": out}
    for k, (p, x) in enumerate(zip(op.params, values)):
        if x is UNSET:
            continue
        if p.keyword_only or any([q.default is not REQUIRED and y is q.default for q, y in zip(op.params[:k], values)]):
            if x is not p.default:
                kwargs[shown_name(p)] = x
        elif p.default is REQUIRED or x is not p.default:
            args.append(x)
    return args, kwargs


#: What the code of every form may read, whatever its operator.
_SHARED = {"leaving": leaving, "call": call, "call_inplace": call_inplace, "apply1": apply1, "apply2": apply2, "apply3": apply3,
           "apply_number": apply_number, "apply_scaled": apply_scaled, "apply": apply, "inplace1": inplace1, "inplace2": inplace2,
           "inplace_number": inplace_number, "inplace_scaled": inplace_scaled,
           "apply_inplace": apply_inplace, "precheck": precheck, "dtype_of": dtype_of, "old_form": old_form,
           "undirected": undirected, "no_overload": no_overload, "foreign": foreign, "refused_by_operator": refused_by_operator,
           "history_first": history_first, "as_written": as_written, "TensorBase": TensorBase, "_unset": UNSET}


#: Functions of torch.nn.functional that are the operator itself; others are Python's, which hand their arguments on by position.
_BUILTIN = frozenset("gelu hardshrink logsigmoid prelu softplus softshrink".split())


def make(name, op, first, inplace=False, with_out=False, flag=False, module="torch"):
    space = {**_SHARED, "__name__": op.body.__module__, "_op": op, "_layout": op.layout, "into": writer(op.full_name),
             "_numbers": op.number_layouts(1), "finish": op.fields and named(op)}
    for p in op.params:
        space["_d_" + p.name] = p.default
    space["_hands_on"] = module == "torch.nn.functional" and name not in _BUILTIN
    q = float_parameter(op)
    space["_float_layout"] = q and tuple([SF if p is q else e for p, e in zip(op.params, op.layout)])
    space["_name"] = name
    exec(_code(op, first, inplace, with_out, flag), space)
    f = space["_self"] = space.pop("_f")
    f.__code__ = placed(f.__code__, name, op)
    f.__name__ = name
    f.__doc__ = docs.of_operator(op, name, first, inplace, with_out, flag)
    f.__module__ = module
    f.__qualname__ = name
    return f


def form(name, ops, first, module, **how):
    """The function `name` of one operator, or of those among which its arguments choose."""
    out = how.pop("with_out", False)
    made = [make(name, op, first, module=module, with_out=bool(out and op.out), **how) for op in ops]
    if len(ops) == 1:
        return made[0]
    method = first == "self"
    return overloaded(name, [Overload(op, f, method, bool(out and op.out)) for op, f in zip(ops, made)], method)


def bind(ops, tensor_class):
    """Everything that the declarations of one name yield, in `torch`, its namespaces and on the Tensor class."""
    op, functional = ops[0], "nn.functional"
    aliases = [a for o in ops for a in o.aliases]
    written = [o for o in ops if o.inplace]
    flag = op.functional == "inplace"
    for full in (op.public, *aliases):
        home, _, name = full.rpartition(".")
        home = home or op.namespace
        space, module = (NAMESPACES.setdefault(home, {}), f"torch.{home}") if home else (FUNCTIONS, "torch")
        spoken = name if home in (None, functional) else f"{home}_{name}"          # what torch's errors call it
        public = [o for o in ops if o.function]
        if public:
            f = space[name] = form(spoken, public, "input", module, with_out=home != functional or not flag,
                                   flag=flag and home == functional)
            if spoken != name:                         # pickles know it by what it is found under
                f.__qualname__ = name
                f.__code__ = f.__code__.replace(co_qualname=name)
        if op.functional and home != functional:
            NAMESPACES.setdefault(functional, {})[name] = form(name, ops, "input", "torch.nn.functional", with_out=not flag, flag=flag)
        methods = [o for o in ops if o.method and not home]
        if methods:
            setattr(tensor_class, name, form(name, methods, "self", "torch"))
        if not written:
            continue
        if [o for o in written if o.method] and not home:
            setattr(tensor_class, name + "_", form(name + "_", written, "self", "torch", inplace=True))
        if op.inplace == "method":
            continue
        if public:
            space[name + "_"] = form(spoken + "_", written, "input", module, inplace=True)
        if op.functional and not (public and home == functional):
            NAMESPACES.setdefault(functional, {})[name + "_"] = form(name + "_", written, "input", "torch.nn.functional", inplace=True)


def bind_all(tensor_class):
    """Bind every name that is declared: `max` with its overloads `max.dim` and `max.other`. Overloads of a name that is not
    declared itself are for functions that are written by hand."""
    groups = {}
    for op in OPS.values():
        if (op.namespace, op.name) in OPS:
            groups.setdefault((op.namespace, op.name), []).append(op)
    for ops in groups.values():
        bind(ops, tensor_class)
    keep()


def function(*names, method=True, torch=True, namespace=None, out=False):
    """Register a function written in terms of others as `torch.<name>` and Tensor method."""
    def register(f):
        for name in names or (f.__name__,):
            spoken = name if namespace in (None, "nn.functional") else f"{namespace}_{name}"
            known = spoken in SIGNED and namespace != "nn.functional"
            g = with_out(strict(f, spoken, False), spoken) if out else guarded(f, spoken, False) if known and (namespace or torch) else f
            if namespace:
                NAMESPACES.setdefault(namespace, {})[name] = g
            elif torch:
                FUNCTIONS[name] = g
            if namespace or torch:             # where it is found decides how it is called in pickles and tracebacks
                first = (names or (f.__name__,))[0]
                g.__module__ = f"torchshim.{namespace}" if namespace else "torchshim"
                g.__qualname__ = name if out or known else first
                g.__name__ = f"{namespace}_{g.__qualname__}" if namespace in ("fft", "linalg", "special") else g.__qualname__
            if method:
                m = guarded(f, name, True) if name in SIGNED else f
                if m is not f or f.__name__.startswith("_") and not name.startswith("_"):
                    m.__name__ = m.__qualname__ = name
                setattr(dispatch.Tensor, name, m)
        return f
    return register


#: The methods that torch writes in Python, whose errors of Python's name their class.
_WRITTEN = """dim_order eig istft lstsq lu module_load resize resize_as share_memory_ solve split stft storage_type symeig to_sparse_coo
    unflatten unique unique_consecutive""".split()


def name_written(tensor_class):
    """Name the methods that torch writes in Python as it does; what is a function of `torch` too has another name there."""
    for name in _WRITTEN:
        f = getattr(tensor_class, name)
        m = types.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__)
        m.__kwdefaults__, m.__doc__, m.__module__, m.__qualname__ = f.__kwdefaults__, f.__doc__, f.__module__, f"Tensor.{name}"
        m.__dict__.update(f.__dict__)
        setattr(tensor_class, name, m)


_DRAWN = {"bernoulli", "multinomial"}           # random numbers


def with_out(f, name):
    """`f` with torch's out= keyword."""
    @functools.wraps(f)
    def g(*args, out=None, **kwargs):
        try:
            if out is None:
                return f(*args, **kwargs)
            refused = refusal(name, args, {**kwargs, "out": out}, out=True) if name in SIGNED else None
            if refused is not None:            # a signature without out=
                raise refused
            if name in _DRAWN:
                refuse_drawn(out)
            made = into(out, f(*args, **kwargs), name, (*args, *kwargs.values()) if name in SHARED or name in ELEMENTWISE else ())
            return None if name in LISTED else made
        except Exception as error:
            if foreign((*args, *kwargs.values()), error):
                return g(*args, **kwargs) if out is None else g(*args, out=out, **kwargs)
            by_torch = renamed(name, args, kwargs, error)
            if by_torch is not None:
                return g(*args, **by_torch) if out is None else g(*args, out=out, **by_torch)
            if isinstance(error, TRACED_ERRORS):
                raise leaving(asked_by(error, name))
            failure = refusal(name, args, kwargs if out is None else {**kwargs, "out": out}, out=True) or history_of(
                name, (*args, *kwargs.values()), out, error) or error
        try:
            raise leaving(failure)             # outside of the handler, or what it handled were the context of a refusal
        finally:
            del failure
    shown = inspect.signature(f)
    own = list(shown.parameters.values())
    at = len(own) - (bool(own) and own[-1].kind is inspect.Parameter.VAR_KEYWORD)
    own.insert(at, inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None))
    g.__signature__ = shown.replace(parameters=own)
    return g
