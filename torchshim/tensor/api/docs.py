"""The parts of a public docstring that a declaration or a signature tells: how it is called, arguments, dtypes, gradient, forms.

A body's or function's own docstring says what is special, and is the middle of the whole. Texts are put together when the
package is imported, so the pieces that many share are remembered.
"""
from __future__ import annotations

import functools
import inspect
import os
import types

from ...ops.schema import REQUIRED
from .arguments import ABOUT

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))) + os.sep

_TYPES = {"bool": "bool", "int": "int", "str": "str", "float": "number", "Scalar": "number", "Number": "number", "ScalarType": "dtype",
          "SymInt": "int", "Tensor": "Tensor", "Device": "device", "Layout": "layout", "MemoryFormat": "memory format",
          "Generator": "Generator"}
_KINDS = {"b": "bool", "i": "integer", "f": "floating", "c": "complex", "h": "half"}
_PROMOTED = {"arith": "the common dtype of the operands (torch.promote_types), which is the result's too",
             "float": "the common dtype of the operands, or the default floating dtype where that is no floating one",
             "compare": "operands meet in their common dtype; the result has its own"}


@functools.cache
def _argument(name, kind, is_list, optional, number, default):
    """The line about one argument of a declaration."""
    default = "" if optional and default == "None" else default
    text = (_TYPES.get(kind.partition("[")[0], kind) + "s" * is_list + " or number" * number + " or None" * optional)
    about = ABOUT.get(name)
    return f"    {name}: {text}{f', {default} by default' if default else ''}{f'; {about}' if about else ''}\n"


@functools.cache
def _tail(op):
    """What all forms of an operator share: shapes, dtypes, gradient, errors, source."""
    tensors = [p for p in op.params if p.kind == "tensor"]
    out = []
    if op.elementwise:
        several = "the tensors broadcast; the result has their common shape"
        out.append("Shapes: " + (several if len(tensors) > 1 else "the result has input's"))
    if not callable(op.promote):
        out.append("Dtypes: " + (_PROMOTED[op.promote] if op.promote else "operands are not promoted"))
    else:
        out.append("Dtypes: how operands are promoted depends on the other arguments")
    gradient = {None: "none", "NotImplemented": "the result has a grad_fn whose backward raises"}.get(op.grad) or (
        "yes" if callable(op.grad) else f"yes, grad_fn is {op.grad}")
    out.append("Gradient: " + gradient + (f"; none for {', '.join(sorted(op.nondiff))}" if op.grad and op.nondiff else ""))
    errors = ["TypeError for arguments of another type"]
    if op.elementwise and len(tensors) > 1:
        errors.append("RuntimeError for shapes that do not broadcast")
    elif not op.elementwise or op.check:
        errors.append("RuntimeError or IndexError for shapes, dimensions and values that do not fit")
    if op.refuses:
        errors.append(f"NotImplementedError for {' and '.join([_KINDS[k] for k in op.refuses[1]])} dtypes")
    out.append("Raises: " + "; ".join(errors))
    return ".\n".join(out)


@functools.cache
def _forms(op):
    found = []
    for full in (op.public, *op.aliases):
        home, _, name = full.rpartition(".")
        home = home or op.namespace
        home, method = f"torch.{home}." if home else "torch.", op.method and not home
        found += [home + name] * op.function
        found += ["torch.nn.functional." + name] * (bool(op.functional) and op.namespace != "nn.functional")
        found += ["Tensor." + name] * method
        found += [("Tensor." if method else home) + name + "_"] * bool(op.inplace)
    return ", ".join(found)


@functools.cache
def _source(file, line):
    return f"{file.removeprefix(_ROOT)}, line {line}"


@functools.cache
def _called(op, first, with_out, flag):
    """(the arguments in the heading, their lines) of a form of an operator."""
    heading, lines, star = [], "", False
    for p in op.params:
        pname = first if p.name == "self" else p.name
        if p.keyword_only and not star:
            heading.append("*")
            star = True
        default = "" if p.default is REQUIRED else repr(p.default)
        if pname != "self":
            heading.append(f"{pname}={default}" if default else pname)
            lines += _argument(pname, p.type, p.is_list, p.optional, p.name in op.numbers, default)
    if flag:
        heading.append("inplace=False")
        lines += f"    inplace: bool; {ABOUT['inplace']}\n"
    if with_out:
        heading += ["out=None"] if star else ["*", "out=None"]
        lines += f"    out: {ABOUT['out']}\n"
    return ", ".join(heading), "Arguments:\n" + lines if lines else ""


def of_operator(op, name, first, inplace, with_out, flag):
    """The docstring of one form of a declared operator."""
    heading, told = _called(op, first, with_out, flag)
    result = op.schema.rpartition("-> ")[2].replace("Tensor ", "")
    written = "\nThe result is written into self, cast to its dtype and in its shape; a leaf that requires grad refuses.\n" * inplace
    return (f"{name}({heading}) -> {result}\n\n{op.doc}\n{written}\n{told}{_tail(op)}.\n"
            f"Forms: {_forms(op)}.\nDeclared in {_source(op.file, op.line)}.")


def _shown(default):
    text = repr(default)
    return "..." if text.startswith("<") else text          # a mark for what is not given


def _described(f, own, first, forms, out, known=ABOUT):
    """A text of one's own between the signature and what is known of the arguments; the first `first` are not told."""
    code = f.__code__
    names = list(code.co_varnames[:code.co_argcount + code.co_kwonlyargcount])
    positional, keyword = names[:code.co_argcount], names[code.co_argcount:]
    defaults, more = f.__defaults__ or (), f.__kwdefaults__ or {}
    required = len(positional) - len(defaults)
    heading = [a if i < required else f"{a}={_shown(defaults[i - required])}" for i, a in enumerate(positional)][first:]
    at = len(names)
    if code.co_flags & inspect.CO_VARARGS:
        heading.append("*" + code.co_varnames[at])
        at += 1
    elif keyword or out:
        heading.append("*")
    heading += [f"{a}={_shown(more[a])}" if a in more else a for a in keyword] + (["out=None"] if out else [])
    if code.co_flags & inspect.CO_VARKEYWORDS:
        heading.append("**" + code.co_varnames[at])
    lines = "".join([f"    {a}: {known[a]}\n" for a in names[first:] + (["out"] if out else []) if a in known and f"{a}:" not in own])
    own = inspect.cleandoc(own) if "\n" in own else own
    return (f"{forms[0].rpartition('.')[2]}({', '.join(heading)})\n\n{own}\n\n{f'Arguments:{chr(10)}{lines}' if lines else ''}"
            f"Forms: {', '.join(forms)}.\nDefined in {_source(code.co_filename, code.co_firstlineno)}.")


def complete(spaces):
    """Give the functions and classes of {prefix: {name: object}} that were written by hand the parts that all docstrings have."""
    found = {}
    for prefix, space in spaces.items():
        for name, f in space.items():
            if f.__class__ is types.FunctionType and name[0] != "_" and (f.__doc__ or "").find("\nForms: ") < 0:
                found.setdefault(inspect.unwrap(f), []).append((prefix + name, f))
    for inner, uses in found.items():
        if inner.__class__ is types.FunctionType:
            own, forms = inner.__doc__ or "", [form for form, _ in uses]
            for f in dict.fromkeys([f for _, f in uses]):
                f.__doc__ = _described(inner, own, int(forms[0].startswith("Tensor.")), forms,
                                       f is not inner and "out" in (f.__kwdefaults__ or ()))


def complete_classes(prefix, space):
    """The same for classes, whose arguments are those of their `__init__`."""
    known = {**ABOUT, "bias": "whether a bias is learned"}
    for name, cls in space.items():
        init = isinstance(cls, type) and name[0] != "_" and cls.__name__ == name and cls.__init__
        if init and init.__class__ is types.FunctionType and "\nForms: " not in (cls.__doc__ or ""):
            cls.__doc__ = _described(init, cls.__doc__ or "", 1, [prefix + name], False, known)
