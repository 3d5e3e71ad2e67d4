"""What an error of scripted code says: torch raises RuntimeError for what an operator refused and torch.jit.Error for what the code raised
itself, both with the lines of the scripted code that led there.

The code runs as Python here, so the lines are those of Python's own traceback.
"""
from __future__ import annotations

import ast
import dis
import inspect
import textwrap

from .. import linalg
from .._C import JITException
from ..engine.site import is_ours

_HEAD = "The following operation failed in the TorchScript interpreter.\nTraceback of TorchScript (most recent call last):\n"
_CONTEXT = 2                                   # lines shown before and after the marked one
#: What functions in Python raise in torch, too: its operators raise other types.
_RAISED = (ValueError, AssertionError)
ignored = set()                                # the code objects of functions for which TorchScript goes back to Python


def retold(error, name, call):
    """The error to raise in place of `error`, which left scripted code: itself where TorchScript has no part in it.

    name: of the function; call: (what was called, arguments, keywords), looked at where it was refused."""
    if _not_its_own(error) and not hasattr(error, "_of_script"):
        return error
    entries = _entries(error)
    while getattr(error, "_of_script", None) is not None:       # a scripted function called this one: its lines come first
        error = error._of_script
        entries += _entries(error)
    if isinstance(error, TypeError) and not entries:
        said = _refusal(*call)
        if said:
            return _made(RuntimeError, f"{name}() {said}", error)
    for i, (frame, _, _) in enumerate(entries):
        if frame.f_code in ignored:
            at = "".join([f"  {f.f_code.co_filename}({line}): {f.f_code.co_name}\n" for f, line in _stack(entries, i)])
            last = f"RuntimeError: {type(error).__name__}: {error}\n\nAt:\n{at}"
            return _made(RuntimeError, _HEAD + "".join([_shown(*e) for e in entries[:i]]) + last + "\n", error)
    kind, last = _last(error, entries)
    return _made(kind, _HEAD + "".join([_shown(*e) for e in entries]) + last + "\n", error)


def _not_its_own(error):
    """Whether an error is one that this library or JAX catch elsewhere, a warning, or says what is missing here."""
    home = type(error).__module__.partition(".")[0]
    return (isinstance(error, Warning) or home in ("jax", "jaxlib", "torch", "torchshim") and not isinstance(error, linalg.LinAlgError)
            or isinstance(error, NotImplementedError) and str(error).startswith("torchshim"))


def _made(kind, text, error):
    made = kind(text)
    made._of_script = error
    return made


def _entries(error):
    """(frame, instruction, line) of a traceback's entries that are the scripted code's, outermost first."""
    found, tb = [], error.__traceback__
    while tb is not None:
        if not is_ours(tb.tb_frame):
            found.append((tb.tb_frame, tb.tb_lasti, tb.tb_lineno))
        tb = tb.tb_next
    return found


def _stack(entries, i):
    """(frame, line) from the innermost entry to the ignored function's, and of what called the scripted code."""
    yield from [(f, line) for f, _, line in reversed(entries[i:])]
    frame = entries[0][0].f_back
    while frame is not None:
        if not is_ours(frame) and not frame.f_code.co_filename.startswith("<frozen "):
            yield frame, frame.f_lineno
        frame = frame.f_back


def _last(error, entries):
    """The type and the last line."""
    tb = error.__traceback__
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    raised = isinstance(error, _RAISED)
    if tb is not None and not is_ours(tb.tb_frame):
        at = dis.opname[tb.tb_frame.f_code.co_code[tb.tb_lasti]]
        raised = at == "RAISE_VARARGS" or raised and at.startswith("CALL")      # what was called may have left the traceback
    cls, text = type(error), str(error)
    if raised:
        if cls is AssertionError:
            return JITException, f"RuntimeError: AssertionError: {text}"
        return JITException, f"{cls.__module__}.{cls.__qualname__}: {text}" if error.args else "RuntimeError: "
    if cls is KeyError:
        text = f"KeyError: {error.args[0]}"
    elif cls is ZeroDivisionError:
        text = "division by 0"
    return RuntimeError, f"RuntimeError: {text}"


def _shown(frame, lasti, line):
    """An entry with its source; TorchScript marks what is called without its arguments."""
    code = frame.f_code
    head = f'  File "{code.co_filename}", line {line}, in {code.co_name}\n'
    try:
        lines, first = inspect.getsourcelines(code)
    except (OSError, TypeError):
        return head
    at = line - max(first, 1)
    if not 0 <= at < len(lines):
        return head
    start, end = _marked(lines, at, [*code.co_positions()][lasti // 2])
    shown = [text.rstrip("\n") + "\n" for text in lines[max(0, at - _CONTEXT):at + 1 + _CONTEXT]]
    shown.insert(min(at, _CONTEXT) + 1, " " * start + "~" * (end - start) + " <--- HERE\n")
    return head + "".join(shown)


def _marked(lines, at, position):
    """The columns of a line that are marked: of the statement that raises, or of what an instruction computes."""
    text = lines[at].rstrip("\n")
    indent = len(text) - len(text.lstrip())
    _, last, start, end = position
    if start is None or end is None or position[0] != last:
        start, end = indent, len(text)
    try:
        root = ast.parse(textwrap.dedent("".join(lines)))
    except SyntaxError:
        return start, end
    shift = len(lines[0]) - len(lines[0].lstrip())
    for node in ast.walk(root):
        if getattr(node, "lineno", None) != at + 1:
            continue
        if isinstance(node, ast.Assert) and node.end_lineno == at + 1:
            return node.col_offset + shift, node.end_col_offset + shift
        if isinstance(node, ast.Call) and (node.col_offset + shift, node.end_col_offset + shift) == (start, end):
            return start, node.func.end_col_offset + shift
    return start, end


def _refusal(function, args, kwargs):
    """What TorchScript says of a call with too few or too many arguments, or None where they are as many as they should be."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any([p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters]):
        return None
    if len(args) > len(parameters):
        return f"expected at most {len(parameters)} argument(s) but received {len(args)} argument(s)."
    for p in [*parameters][len(args):]:
        if p.default is p.empty and p.name not in kwargs:
            return f"is missing value for argument '{p.name}'."
    known = [p.name for p in parameters]
    for name in kwargs:
        if name not in known:
            return f"Unknown keyword argument '{name}'."
    return None
