"""What a captured graph calls its steps and inputs: by the program's variables, as PyTorch does."""
from __future__ import annotations

import dis
import functools
import inspect
import os
import re
import sys
import traceback

from .. import Tensor
from ..nn import Module

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_MODULES = os.path.join(_HERE, "nn", "modules", "")
_DEPTH = 4                                     # how deep tensors are looked for in what a function is called with


def _stored(ins):
    """The variables that an instruction stores to; () where it is no such instruction."""
    if not ins.opname.startswith(("STORE_FAST", "STORE_DEREF")):
        return ()
    return ins.argval if isinstance(ins.argval, tuple) else (ins.argval,)


def _at_each_offset(of):
    """A function of code: {offset: of(its instructions, number of the one there)}, without None. A frame that calls another stands at the end
    of its instruction, so that all offsets of one count."""
    @functools.cache
    def look(code):
        found, all_ = {}, list(dis.get_instructions(code))
        for k, ins in enumerate(all_[:-1]):
            what = of(all_, k)
            if what is not None:
                found.update(dict.fromkeys(range(ins.offset, all_[k + 1].offset, 2), what))
        return found
    return look


@_at_each_offset
def _next(all_, k):
    """What becomes of an instruction's result: "return", a variable's name, a tuple of names that it is taken apart into, or
    {part of it: name}."""
    after = all_[k + 1:k + 12]
    first = after[0]
    if first.opname.startswith("RETURN"):
        return "return"
    if _stored(first):
        return _stored(first)[0]
    if first.opname == "UNPACK_SEQUENCE":
        return _names(after[1:])[:first.argval]
    if first.opname == "LOAD_ATTR" and len(after) > 1 and _stored(after[1]):
        return {first.argval: _stored(after[1])[0]}
    if (len(after) > 2 and first.opname in ("LOAD_CONST", "LOAD_SMALL_INT") and "SUBSCR" in after[1].opname and _stored(after[2])):
        return {first.argval: _stored(after[2])[0]}
    return None


@_at_each_offset
def _iterates(all_, k):
    """The variable, or the variables, that the elements of an iterator become that is asked for there."""
    ins, after = all_[k], all_[k + 1:]
    if ins.opname == "GET_ITER" and len(after) > 1 and after[0].opname == "FOR_ITER" and _stored(after[1]):
        return _stored(after[1])[0]
    return _names(after)[:ins.argval] if ins.opname == "UNPACK_SEQUENCE" else None


def _names(instructions):
    return tuple([n for i in instructions for n in _stored(i) or (None,)])


def _is_library(frame):
    return frame.f_code.co_filename.startswith(_HERE)


def program_frame(frame):
    """The innermost frame that is the program's, counted from `frame`."""
    while frame is not None and _is_library(frame):
        frame = frame.f_back
    return frame


def becomes(frame, root):
    """(what the program does with the value that it has just asked for, where): see `_next`. Looked for in callers, up to the frame of
    the code `root`, as long as the value is only handed on."""
    where = program_frame(frame)
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_HERE):
            if file == _MODULES + "container.py" and frame.f_code.co_name == "forward":
                return "input", where          # as the variable is called in torch
            if file.startswith(_MODULES) and file != _MODULES + "module.py" and _next(frame.f_code).get(frame.f_lasti) != "return":
                return None, where
        else:
            what = _next(frame.f_code).get(frame.f_lasti)
            if what != "return":
                return what, where
            if frame.f_code is root:
                break
        frame = frame.f_back
    return None, where


def local_name(frame, tensor, root):
    """What the function that is captured calls a tensor: a variable of it, else of the function that is running; None."""
    frame = program_frame(frame)
    asked = frame
    while frame is not None and frame.f_code is not root:
        frame = frame.f_back
    for f in (frame, asked):
        if f is not None:
            for name, x in f.f_locals.items():
                if x is tensor:
                    return name
    return None


def goes_through(frame):
    """What the elements are called that the program's frame is asking for; None, a name or a tuple of names."""
    return None if frame is None else _iterates(frame.f_code).get(frame.f_lasti)


def summary(frame, columns=False):
    """The place of a frame as traceback has it."""
    if frame is None:
        return None
    code, where = frame.f_code, {}
    if columns:
        line, end, first, last = list(code.co_positions())[frame.f_lasti // 2]
        where = {"end_lineno": end, "colno": first, "end_colno": last}
    return traceback.FrameSummary(code.co_filename, frame.f_lineno, code.co_name, lookup_line=False, **where)


def from_user_code(frames):
    """The end of an error that tells where in the program it arose."""
    return "from user code:\n " + " ".join(traceback.format_list([f for f in frames if f is not None]))


class Sources:
    """Where in a call's arguments, and in what its function sees around it, a tensor lies: `L['x']`, `G['w']`, `L['self'].b`."""

    def __init__(self, fn, args, kwargs):
        self.fn, self.args, self.kwargs, self._found = fn, args, kwargs, None

    def __getitem__(self, tensor):
        if self._found is None:
            self._found = {}
            for source, x in self._roots():
                self._walk(source, x, _DEPTH, set())
        return self._found.get(id(tensor))

    def _roots(self):
        fn = self.fn
        if isinstance(fn, Module):
            fn = getattr(type(fn), "forward", None)
            args = (self.fn, *self.args)
        else:
            args = self.args
            if inspect.ismethod(fn):
                args, fn = (fn.__self__, *args), fn.__func__
        plain = inspect.unwrap(fn) if callable(fn) else fn
        try:
            signature = inspect.signature(plain)
            given = signature.bind(*args, **self.kwargs).arguments
        except (TypeError, ValueError):
            given = {f"arg{k}": x for k, x in enumerate(args)}
        for name, x in given.items():
            yield f"L['{name}']", x
        code = getattr(plain, "__code__", None)
        if code is None:
            return
        for name, cell in zip(code.co_freevars, plain.__closure__ or ()):
            try:
                yield f"L['{name}']", cell.cell_contents
            except ValueError:
                continue                       # not bound yet
        for name in code.co_names:
            if name in plain.__globals__:
                yield f"G['{name}']", plain.__globals__[name]

    def _walk(self, source, x, depth, seen):
        if isinstance(x, Tensor):
            self._found.setdefault(id(x), source)
            return
        if depth == 0 or id(x) in seen:
            return
        if isinstance(x, Module):
            seen.add(id(x))
            for name, p in x._parameters.items():
                self._walk(f"{source}._parameters['{name}']", p, depth, seen)
            for name, b in x._buffers.items():
                self._walk(f"{source}._buffers['{name}']", b, depth, seen)
            for name, m in x._modules.items():
                self._walk(f"{source}._modules['{name}']", m, depth, seen)     # modules lie as deep as they like
            for name, y in vars(x).items():
                if not name.startswith("_") and name != "training":
                    self._walk(f"{source}.{name}", y, depth - 1, seen)
        elif type(x) in (list, tuple):
            seen.add(id(x))
            for k, y in enumerate(x[:64]):
                self._walk(f"{source}[{k}]", y, depth - 1, seen)
        elif isinstance(x, dict):
            seen.add(id(x))
            for k, y in list(x.items())[:64]:
                self._walk(f"{source}[{k!r}]", y, depth - 1, seen)
        elif getattr(type(x), "__module__", "builtins") not in ("builtins", "types") and not isinstance(x, type) and hasattr(x, "__dict__") and (
                type(x).__module__.partition(".")[0] not in sys.stdlib_module_names):
            seen.add(id(x))
            for name, y in list(vars(x).items())[:64]:
                self._walk(f"{source}.{name}", y, depth - 1, seen)


def is_attribute(source):
    """Whether a source is a module's tensor, which PyTorch meets before a call's own arguments."""
    return source is not None and ("._parameters[" in source or "._buffers[" in source)


def placeholder(source):
    """The name of an input."""
    return re.sub(r"[^a-zA-Z0-9]+", "_", source)
