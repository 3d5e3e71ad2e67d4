"""The schemas of a program's own operators: read from text, or inferred from annotations; calls are put in order by them."""
from __future__ import annotations

import collections.abc
import functools
import inspect
import itertools
import typing

from .. import Tensor
from ..tensor.core.device import device
from ..tensor.core.dtype import dtype


class AliasInfo(typing.NamedTuple):
    """Which letters an argument shares with results, and whether it is written to."""
    before_set: set
    is_write: bool
    after_set: set


class Argument(typing.NamedTuple):
    """One argument: its type as schemas write it, whether it has a default and which, whether it goes by name only and is written to, and
    which letter says so."""
    name: str
    type: str
    default: object
    has_default: bool
    kwarg_only: bool
    mutated: bool
    alias: str = ""

    default_value = property(lambda self: self.default, doc="The default; None where there is none.")
    is_write = property(lambda self: self.mutated, doc="Whether it is written to.")
    is_out = property(lambda self: self.mutated and self.kwarg_only, doc="Whether a result is put there.")

    @property
    def alias_info(self):
        """None for what shares nothing."""
        return AliasInfo({self.alias}, self.mutated, {self.alias}) if self.alias else None


_PYTHON = {"Tensor": Tensor, "int": int, "SymInt": int, "float": float, "bool": bool, "str": str, "ScalarType": dtype, "Device": device}


def _shown(value, kind):
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, float) and value == int(value) and abs(value) < 1e15:
        return f"{int(value)}."
    if isinstance(value, dtype):
        return repr(value).removeprefix("torch.")
    return str(value)


class Schema:
    """name(arguments) -> returns."""

    def __init__(self, name, arguments, returns):
        self.name, self.arguments, self.result = name, arguments, returns
        self.mutated, self.text = [a.name for a in arguments if a.mutated], None

    overload_name = property(lambda self: self.name.partition("::")[2].partition(".")[2], doc="After the dot; empty for the first one.")
    is_mutable = property(lambda self: bool(self.mutated), doc="Whether an argument is written to.")

    @functools.cached_property
    def returns(self):
        """The results, as Arguments."""
        inner = self.result[1:-1] if self.result.startswith("(") else self.result
        return [_declared(piece) for piece in _pieces(inner)]

    def __str__(self):
        if self.text is not None:
            return self.text
        marks, parts, star = itertools.count(), [], False
        for a in self.arguments:
            if a.kwarg_only and not star:
                parts.append("*")
                star = True
            kind = a.type
            place = next(marks)
            if a.mutated:
                kind = kind.replace("Tensor", f"Tensor(a{place}!)", 1)
            parts.append(f"{kind} {a.name}" + (f"={_shown(a.default, a.type)}" if a.has_default else ""))
        return f"{self.name}({', '.join(parts)}) -> {self.result}"

    __repr__ = __str__

    def bind(self, args, kwargs):
        """(positional arguments with defaults, keyword-only ones); RuntimeError as torch words it where they don't fit."""
        places = [a for a in self.arguments if not a.kwarg_only]
        if len(args) > len(places):
            raise RuntimeError(f"{self.name}() expected at most {len(places)} argument(s) but received {len(args)} argument(s). "
                               f"Declaration: {self}")
        given, kwargs = [], dict(kwargs)
        named = {}
        for k, a in enumerate(self.arguments):
            if not a.kwarg_only and k < len(args):
                value = args[k]
            elif a.name in kwargs:
                value = kwargs.pop(a.name)
            elif a.has_default:
                value = a.default
            else:
                raise RuntimeError(f"{self.name}() is missing value for argument '{a.name}'. Declaration: {self}")
            self._check(a, k, value)
            if a.kwarg_only:
                named[a.name] = value
            else:
                given.append(value)
        if kwargs:
            raise RuntimeError(f"Unknown keyword argument '{next(iter(kwargs))}' for operator '{self.name}'. Schema: {self}")
        return given, named

    def _check(self, a, k, value):
        want = _PYTHON.get(a.type)
        if want is None or isinstance(value, want) or want is float and isinstance(value, int) and not isinstance(value, bool):
            return
        if want in (dtype, device) or isinstance(value, Tensor) and want is not Tensor:
            return                             # an element of a tensor is a number too, a string a device
        if want is int and not isinstance(value, (str, float, complex, list, tuple, dict,
                                                  type(None))) or want is bool and type(value) is int:
            return
        kind = {"SymInt": "int"}.get(a.type, a.type)
        raise RuntimeError(f"{self.name}() Expected a value of type '{kind}' for argument '{a.name}' but instead found type "
                           f"'{type(value).__name__}'.\nPosition: {k}\nValue: {value!r}\nDeclaration: {self}\nCast error details: Unable "
                           f"to cast "
                           f"{value} to Tensor" if want is Tensor else
                           f"{self.name}() Expected a value of type '{kind}' for argument '{a.name}' but instead found type "
                           f"'{type(value).__name__}'.\nPosition: {k}\nValue: {value!r}\nDeclaration: {self}\nCast error details: Unable "
                           f"to cast "
                           f"Python instance of type {type(value)} to C++ type")


def _pieces(text):
    """What commas part, outside of brackets and strings."""
    depth, quote, piece = 0, None, ""
    for c in text:
        if quote:
            quote = None if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "([":
            depth += 1
        elif c in ")]":
            depth -= 1
        if c == "," and not depth and not quote:
            yield piece.strip()
            piece = ""
        else:
            piece += c
    if piece.strip():
        yield piece.strip()


def _value(text, kind):
    if text in ("None", "True", "False"):
        return {"None": None, "True": True, "False": False}[text]
    if text[0] in "\"'":
        return text[1:-1]
    if text[0] == "[":
        return [_value(p, kind) for p in _pieces(text[1:-1])]
    try:
        number = float(text) if set(text) & set(".eE") or kind.startswith("float") else int(text)
        return number
    except ValueError:
        from ..tensor.core.dtype import ALL
        return ALL.get(text, text)


def _declared(piece, by_name=False):
    """An Argument from its text; a result needs no name."""
    declared, equals, default = piece.partition("=")
    declared = declared.strip().replace("(a -> *)", "(a->*)")
    kind, _, name = declared.rpartition(" ") if " " in declared else (declared, "", "")
    mutated, alias = "!" in kind, ""
    if "(" in kind:
        start, end = kind.index("("), kind.index(")")
        alias = kind[start + 1:end].partition("!")[0].partition("->")[0]
        kind = kind[:start] + kind[end + 1:]
    return Argument(name, kind, _value(default.strip(), kind) if equals else None, bool(equals), by_name, mutated, alias)


def parse(text):
    """A Schema from its text, "name(Tensor x, int n=2) -> Tensor". RuntimeError for what is none."""
    head, bracket, rest = text.partition("(")
    if not bracket:
        raise RuntimeError("Tried to parse a function schema but only the operator name was given")
    inner, arrow, returns = rest.rpartition("->")
    if not arrow or not inner.rstrip().endswith(")"):
        raise RuntimeError(f"torchshim: not a function schema: {text}")
    arguments, by_name = [], False
    for piece in _pieces(inner.rstrip()[:-1]):
        if piece == "*":
            by_name = True
            continue
        arguments.append(_declared(piece, by_name))
    return Schema(head.strip(), arguments, returns.strip())


def _types():
    number = typing.Union[int, float, bool]
    basic = {Tensor: "Tensor", int: "SymInt", float: "float", bool: "bool", str: "str", number: "Scalar", dtype: "ScalarType",
             device: "Device"}
    table = {}
    for python, kind in basic.items():
        table[python] = kind
        table[typing.Optional[python]] = f"{kind}?"
        if kind in ("str", "ScalarType", "Device"):
            continue
        for box in (typing.Sequence, typing.List, collections.abc.Sequence, list):
            table[box[python]] = f"{kind}[]"
            table[typing.Optional[box[python]]] = f"{kind}[]?"
            if kind == "Tensor":
                table[box[typing.Optional[Tensor]]] = "Tensor?[]"
    return table


_TYPES = _types()
_RETURNS = {Tensor: "Tensor", typing.List[Tensor]: "Tensor[]", list[Tensor]: "Tensor[]", int: "SymInt", float: "float", bool: "bool",
            typing.Union[int, float, bool]: "Scalar", typing.Sequence[Tensor]: "Tensor[]", collections.abc.Sequence[Tensor]: "Tensor[]"}


def infer_schema(prototype_function, /, *, mutates_args, op_name=None):
    """The text of the schema that a function's annotations say. mutates_args: the names of arguments that it writes to, or "unknown".

    ValueError for annotations that are missing or that operators can't have.
    """
    return str(inferred(prototype_function, mutates_args, op_name or ""))


def inferred(function, mutates, name):
    """The same as a Schema."""
    sig = inspect.signature(function)

    def wrong(what):
        return ValueError(f"infer_schema(func): {what} Got func with signature {sig})")
    try:
        hints = typing.get_type_hints(function)
    except (NameError, TypeError):
        hints = {k: p.annotation for k, p in sig.parameters.items()}
    arguments = []
    for k, p in sig.parameters.items():
        if p.kind not in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY):
            raise wrong("We do not support positional-only args, varargs, or varkwargs.")
        if p.annotation is p.empty:
            raise wrong(f"Parameter {k} must have a type annotation.")
        kind = _TYPES.get(hints.get(k, p.annotation)) if isinstance(hints.get(k, p.annotation), collections.abc.Hashable) else None
        if kind is None:
            if p.default is None and hints.get(k) is not None and typing.get_args(hints[k])[:1]:
                kind = _TYPES.get(typing.get_args(hints[k])[0])
            if kind is None:
                raise wrong(f"Parameter {k} has unsupported type {p.annotation}. The valid types are: {_TYPES.keys()}.")
        written = "Tensor" in kind if mutates == "unknown" else k in mutates
        if written and "Tensor" not in kind:
            raise wrong(f"Parameter {k} is in mutable_args but only Tensors or collections of Tensors can be mutated")
        default = p.default if p.default is not p.empty else None
        if not (default is None or isinstance(default, (int, float, bool, str, dtype))):
            raise wrong(f"Parameter {k} has an unsupported default value type {type(default)}. Please file an issue on GitHub so we can "
                        "prioritize this.")
        arguments.append(Argument(k, kind, default, p.default is not p.empty, p.kind is p.KEYWORD_ONLY, written))
    if mutates != "unknown":
        unknown = set(mutates) - set(sig.parameters)
        if unknown:
            raise wrong(f"{unknown} in mutates_args were not found in the custom op's signature. mutates_args should contain the names of "
                        f"all "
                        "args that the custom op mutates, or just the string 'unknown' if you don't know.")
    if sig.return_annotation is sig.empty:
        raise wrong("No return type annotation was provided. Please add one.")
    result = hints.get("return", sig.return_annotation)
    if result in (None, type(None)):
        returns = "()"
    elif result in _RETURNS:
        returns = _RETURNS[result]
    elif typing.get_origin(result) is tuple and all([a in _RETURNS for a in typing.get_args(result)]):
        inner = ", ".join([_RETURNS[a] for a in typing.get_args(result)])
        returns = f"({inner})"
    else:
        raise wrong(f"Return has unsupported type {result}. The valid types are: {_RETURNS}.")
    return Schema(name, arguments, returns)
