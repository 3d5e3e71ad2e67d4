"""Whose line it is: which frames are the user's, and errors and warnings that speak of those alone.

A frame is ours by its file. Python's own machinery (contextlib, functools) and JAX may stand between two frames of ours:
what a frame of ours called is not the user's either, until it calls back into the user's code.
"""
from __future__ import annotations

import contextlib
import dis
import functools
import os
import sys
import types
import warnings

import jax

from .record.value import NeedsNumbers, NeedsTracer

FULL = os.environ.get("TORCHSHIM_TRACEBACK", "") == "full"      # show all frames and causes
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_BETWEEN = (os.path.dirname(os.path.abspath(jax.__file__)) + os.sep, contextlib.__file__, functools.__file__, "<frozen ")
_JAX_NOTE = "JAX has removed its internal frames"


def is_ours(frame):
    """Whether the code of a frame stands in a file of this package (a generated function: in that of its declaration)."""
    return frame.f_code.co_filename.startswith(_PACKAGE)


def is_users(name):
    """Whether code in a file of this name is the user's."""
    return not name.startswith(_PACKAGE) and not name.startswith(_BETWEEN)


def _user_frame():
    """(frame, the stacklevel that it has for the caller) of the innermost frame that is the user's; None when there is none."""
    frame, level = sys._getframe(1), 1
    while frame is not None:
        name = frame.f_code.co_filename
        if is_users(name):
            return frame, level
        frame, level = frame.f_back, level + (not name.startswith("<frozen importlib"))      # warnings does not count those
    return None


def call_at(frame):
    """(how many arguments, names of the others) that the call at which a frame stands gives; (None, ()) where its code does not tell."""
    if frame is None:
        return None, ()
    if is_ours(frame):
        args, kwargs = frame.f_locals.get("args"), frame.f_locals.get("kwargs")        # of a function of ours that hands them on
        return (len(args), tuple(kwargs)) if isinstance(args, tuple) and isinstance(kwargs, dict) else (None, ())
    *_, third, second, last = [None, None, *[at for at in dis.get_instructions(frame.f_code) if at.offset <= frame.f_lasti]]
    before = third if last.opname == "CALL" and second is not None and second.opname == "PRECALL" else second      # as in Python 3.11
    if last.opname not in ("CALL", "CALL_KW"):
        return None, ()
    named = before is not None and (last.opname, before.opname) in (("CALL", "KW_NAMES"), ("CALL_KW", "LOAD_CONST"))
    names = frame.f_code.co_consts[before.arg] if named else ()
    return last.arg - len(names), names


def user_site():
    """(file, line, function) of the innermost frame that is the user's."""
    found = _user_frame()
    return found and (found[0].f_code.co_filename, found[0].f_lineno, found[0].f_code.co_name)


def declared_at():
    """(file, line) of the statement that is being run in a module of ours, or else of what calls us."""
    frame = sys._getframe(1)
    while is_ours(frame) and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


warned = 0                 # how often that was


def warn(message, category=UserWarning):
    """`warnings.warn` at the user's line, however deep in this package the call stands."""
    global warned
    warned += 1
    found = _user_frame()
    warnings.warn(message, category, stacklevel=found[1] if found else 2)


def users_frames(tb):
    """The entries of a traceback that are the user's, as a traceback of their own; None when there are none."""
    kept, below = [], False
    while tb is not None:
        name = tb.tb_frame.f_code.co_filename
        if name.startswith(_PACKAGE):
            below = True
        elif not (below and name.startswith(_BETWEEN)):
            kept.append(tb)
            below = False
        tb = tb.tb_next
    made = None
    for tb in reversed(kept):
        made = types.TracebackType(made, tb.tb_frame, tb.tb_lasti, tb.tb_lineno)
    return made


def _outside(error):
    """`error`, or the first of the errors in whose handling it was raised that was not caught here."""
    while error is not None and error.__traceback__ is not None and is_ours(error.__traceback__.tb_frame):
        error = error.__context__
    return error


TRACED_ERRORS = (jax.errors.JAXTypeError, jax.errors.JAXIndexError, NeedsNumbers, NeedsTracer)


def asked_by(error, name):
    """An error about numbers that an example does not have, with the public function that asked for them noted on it, as `asked`."""
    error.asked = (*getattr(error, "asked", ()), name)
    return error


def leaving(error):
    """An error as it leaves a public function, to be raised there: without frames and causes that lie within.

    Frames of callbacks of the user's stay, and so does what the user was handling when the call was made.
    """
    if FULL:
        return error
    if error.__cause__ is not None and _outside(error.__cause__) is not error.__cause__:
        error.__cause__ = None
    context = _outside(error.__context__)
    if context is not error.__context__:
        error.__context__ = context
        error.__suppress_context__ = error.__cause__ is not None
    notes = getattr(error, "__notes__", None)
    if notes:
        notes[:] = [note for note in notes if _JAX_NOTE not in note]
    own = error.__traceback__                  # begins in the function that catches, which raising adds again
    return error.with_traceback(users_frames(own and own.tb_next))
