"""What an error that nobody catches prints: the user's frames and the message.

Functions generated from declarations drop our frames as the error leaves them (`engine.site.leaving`). Others are plain
functions, whose frames are dropped where Python, a thread or IPython prints the error. `TORCHSHIM_TRACEBACK=full` in the
environment shows everything.
"""
from __future__ import annotations

import builtins
import sys
import threading

from .engine import site


def shorten(error):
    """Drop our frames from an error and from those that it came from, if a frame of the user's is left."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        error.__traceback__ = site.users_frames(error.__traceback__) or error.__traceback__
        error = error.__cause__ or error.__context__


def _at_the_top(show):
    def excepthook(kind, error, tb):
        shorten(error)
        show(kind, error, error.__traceback__)
    return excepthook


def _in_a_thread(show):
    def excepthook(args):
        shorten(args.exc_value)
        show(args)
    return excepthook


def _in_ipython(shell, kind, error, tb, tb_offset=None):
    shorten(error)
    shell.showtraceback((kind, error, error.__traceback__), tb_offset=tb_offset)


def install():
    """Put this before whatever prints errors now; once, when the package is imported."""
    if site.FULL:
        return
    sys.excepthook = _at_the_top(sys.excepthook)
    threading.excepthook = _in_a_thread(threading.excepthook)
    shell = getattr(builtins, "get_ipython", lambda: None)()
    if shell is not None and not shell.custom_exceptions:
        shell.set_custom_exc((Exception,), _in_ipython)
