"""The signatures of torch's operators, and calls written with all their arguments."""
from __future__ import annotations

import builtins
import collections.abc
import functools
import inspect
import numbers
import sys
import typing
import warnings
from typing import Any, NamedTuple

from ..ops.registry import OPS
from ..ops.schema import REQUIRED, parse_schema
from ..tensor.api.signatures import NAMES, _table
from ..tensor.core.tensor import Tensor
from .node import _get_qualified_name

__all__ = ["ArgsKwargsPair", "check_for_mutable_operation", "create_type_hint", "get_signature_for_torch_op", "normalize_function",
           "normalize_module", "type_matches"]
_torch = sys.modules[__name__.partition(".")[0]]
_KINDS = {"Tensor": Tensor, "int": int, "SymInt": int, "bool": bool, "float": float, "str": str, "Scalar": numbers.Number,
          "Generator": _torch.Generator, "ScalarType": int, "Layout": int, "Device": _torch.device, "MemoryFormat": int}


_HOMES = {"torch._C._nn": "nn.functional", "torch._C._linalg": "linalg", "torch._C._fft": "fft", "torch._C._special": "special"}


class ArgsKwargsPair(NamedTuple):
    """Positional and keyword arguments."""
    args: tuple
    kwargs: dict


def _kind(p):
    base = _KINDS.get(p.type.split("[")[0].rstrip("?"), Any)
    made = typing.List[base] if p.is_list else base
    return typing.Optional[made] if p.optional else made


def _signature(params, fields, out):
    P, made = inspect.Parameter, []
    for k, p in enumerate(params):
        default = P.empty if p.default is REQUIRED else list(p.default) if isinstance(p.default, tuple) else p.default
        name = "input" if p.name == "self" else p.name
        made.append(P(name, P.KEYWORD_ONLY if p.keyword_only else P.POSITIONAL_OR_KEYWORD, default=default, annotation=_kind(p)))
    if out:
        made.append(P("out", P.KEYWORD_ONLY, annotation=Tensor))
    return inspect.Signature(made, return_annotation=Tensor if fields is None else tuple([Tensor] * len(fields)))


@functools.cache
def _declared(op):
    """[(schema as text, signature)] of a function of torch's that is compiled there, or None."""
    name = op.__name__
    qualified = _get_qualified_name(op)
    if not qualified.startswith("torch.") or qualified.startswith(("torch.Tensor.", "torch.functional.", "torch.nn.functional.")):
        return None
    home = _HOMES.get(qualified.rpartition(".")[0])
    inplace = name.endswith("_") and not name.startswith("__")
    found = [o for o in OPS.values() if o.name == (name[:-1] if inplace else name) and o.namespace == home and (not inplace or o.inplace)]
    made = []
    for o in found:
        made += _both(o.name, o.params, o.fields, inplace, not inplace)
    if not made and name in NAMES:
        for text in _table()[name]:
            _, params, fields = parse_schema(text)
            made += _both(name, [p for p in params if p.name != "out"], fields, inplace, any([p.name == "out" for p in params]))
    return made or None


def _both(name, params, fields, inplace, out):
    made = [(_text(name, params, inplace, False), _signature(params, fields, False))]
    return made + [(_text(name, params, inplace, True), _signature(params, fields, True))] if out else made


def _text(name, params, inplace, out):
    pieces, star = [], False
    for k, p in enumerate(params):
        if p.keyword_only and not star:
            pieces.append("*")
            star = True
        kind = "Tensor(a!)" if inplace and not k else p.type + ("?" if p.optional else "")
        pieces.append(f"{kind} {p.name}" + ("" if p.default is REQUIRED else f"={p.default}"))
    if out:
        pieces += ([] if star else ["*"]) + ["Tensor(a!) out"]
    return (f"aten::{name}{'_' if inplace else ''}{'.out' if out else ''}({', '.join(pieces)}) -> "
            f"{'Tensor(a!)' if inplace or out else 'Tensor'}")


def get_signature_for_torch_op(op, return_schemas=False):
    """The signatures that a function of torch's may be called by, a list of inspect.Signature; None for a function written in Python.

    return_schemas: a pair of these and of their schemas.
    """
    known = _declared(op) if callable(op) and hasattr(op, "__name__") and getattr(builtins, op.__name__, None) is not op else None
    if known is None:
        return (None, None) if return_schemas else None
    return ([s for _, s in known], [t for t, _ in known]) if return_schemas else [s for _, s in known]


def check_for_mutable_operation(target, args, kwargs):
    """RuntimeError for a call that writes to one of its arguments."""
    signatures, schemas = get_signature_for_torch_op(target, return_schemas=True)
    for signature, schema in zip(signatures or (), schemas or ()):
        try:
            signature.bind(*args, **kwargs)
        except TypeError:
            continue
        if "!" in schema and ("out" in kwargs or ".out(" not in schema):
            raise RuntimeError(f"Tried to trace mutable operation {schema}. FX only supports functional code, so operations that mutate "
                               "operands in-place (e.g. via `out` arguments) are not supported")
        return


def create_type_hint(x):
    """list[T] or tuple[T, ...] for a list or tuple of types, where one class holds for all; else what is given."""
    try:
        if isinstance(x, (list, tuple)):
            made = (lambda t: list[t]) if isinstance(x, list) else (lambda t: tuple[t, ...])
            if not x:
                return made(Any)
            base = x[0]
            for t in x:
                if issubclass(t, base):
                    continue
                if not issubclass(base, t):
                    return made(Any)
                base = t
            return made(base)
    except Exception:
        warnings.warn(f"We were not able to successfully create type hint from the type {x}", stacklevel=2)
    return x


def type_matches(signature_type, argument_type):
    """Whether an argument of a type fits a parameter of a type."""
    origin = getattr(signature_type, "__origin__", signature_type)
    if signature_type is argument_type:
        return True
    if origin is typing.Union and signature_type != argument_type:
        return any([type_matches(t, argument_type) for t in signature_type.__args__])
    if signature_type is typing.List[int] and argument_type is int:
        return True                                   # int[] takes a number
    if origin in (list, collections.abc.Sequence):
        inner = (getattr(signature_type, "__args__", None) or (Any,))[0]
        if not inspect.isclass(inner):
            warnings.warn(f"Does not support nested parametric types, got {signature_type}. Please file a bug.", stacklevel=2)
            return False
        theirs = getattr(argument_type, "__args__", None)
        if getattr(argument_type, "__origin__", None) is list and theirs:
            return inspect.isclass(theirs[0]) and issubclass(theirs[0], inner)
        if getattr(argument_type, "__origin__", None) is tuple and theirs:
            return all([t is ... or inspect.isclass(t) and issubclass(t, inner) for t in theirs])
        return False
    if signature_type is numbers.Number and argument_type in (int, float):
        return True
    return inspect.isclass(argument_type) and inspect.isclass(signature_type) and issubclass(argument_type, signature_type)


def _bound(signature, args, kwargs, by_name):
    """A call of a signature with its defaults. by_name: every argument as a keyword."""
    given = signature.bind(*args, **kwargs)
    given.apply_defaults()
    made_args, made_kwargs = [], {}
    for k, (name, value) in enumerate(given.arguments.items()):
        if not by_name and k < len(args) and signature.parameters[name].kind is not inspect.Parameter.KEYWORD_ONLY:
            made_args.append(value)
        else:
            made_kwargs[name] = value
    return ArgsKwargsPair(tuple(made_args), made_kwargs)


def normalize_function(target, args, kwargs=None, arg_types=None, kwarg_types=None, normalize_to_only_use_kwargs=False):
    """A call of a function with its defaults, as (args, kwargs); None where its signature is not known.

    arg_types, kwarg_types: the types of what is not there yet, which choose among overloads. RuntimeError where several fit.
    """
    kwargs = {} if kwargs is None else kwargs
    module = getattr(target, "__module__", None) or ""
    if module in ("builtins", "_operator", "math") or not callable(target):
        return None
    signatures = get_signature_for_torch_op(target)
    if signatures is None:
        home = _torch.nn.functional
        if getattr(home, getattr(target, "__name__", ""), None) is not target:
            return None
        return _bound(inspect.signature(target), args, kwargs, normalize_to_only_use_kwargs)
    fit = []
    for signature in signatures:
        try:
            signature.bind(*args, **kwargs)
        except TypeError:
            continue
        fit.append(signature)
    if len(fit) > 1 and (arg_types is not None or kwarg_types is not None):
        typed = []
        for signature in fit:
            given = signature.bind(*(arg_types or ()), **(kwarg_types or {}))
            if all([type_matches(signature.parameters[n].annotation, t) for n, t in given.arguments.items()]):
                typed.append(signature)
        fit = typed[:1]
    elif len(fit) > 1:
        shown = "\n".join([str(s) for s in signatures])
        raise RuntimeError(f"Tried to normalize arguments to {_get_qualified_name(target)} but the schema match was ambiguous! Please "
                           f"provide argument types to the normalize_arguments() call. Available schemas:\n{shown}")
    return _bound(fit[0], args, kwargs, normalize_to_only_use_kwargs) if fit else None


def normalize_module(root, target, args, kwargs=None, normalize_to_only_use_kwargs=False):
    """A call of a submodule of torch.nn's with its defaults, as (args, kwargs); None for another's. RuntimeError where there is none."""
    try:
        module = root.get_submodule(target)
    except AttributeError as e:
        raise RuntimeError(f"Tried to normalize node with target {target} but root did not have that target!") from e
    kind = type(module)
    if getattr(_torch.nn, kind.__name__, None) is not kind:
        return None
    signature = inspect.signature(kind.forward)
    kwargs = {} if kwargs is None else kwargs
    without_self = signature.replace(parameters=list(signature.parameters.values())[1:])
    return _bound(without_self, args, kwargs, normalize_to_only_use_kwargs)
