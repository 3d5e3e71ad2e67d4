"""How a program that raised ends: its traceback without ours, its hooks, its exit status."""

import atexit
import os
import signal
import sys
import threading
import types


def end_by_exception(error: BaseException, hide_file: str) -> None:
    """Report ``error`` and end the process as ``python`` does when it reaches the top.

    The outermost frames that belong to ``hide_file`` are left out of the traceback.
    """
    error.__traceback__ = _without_leading(error.__traceback__, hide_file)
    _report(error)
    if sys.flags.inspect:  # python -i: a prompt follows, in the program's namespace
        return
    if isinstance(error, KeyboardInterrupt):
        _die_by_sigint()
    raise SystemExit(1)


def _without_leading(tb: types.TracebackType | None, filename: str):
    while tb is not None and tb.tb_frame.f_code.co_filename == filename:
        tb = tb.tb_next
    return tb


def _report(error: BaseException) -> None:
    triple = (type(error), error, error.__traceback__)
    sys.last_type, sys.last_value, sys.last_traceback = triple
    sys.last_exc = error
    try:
        sys.excepthook(*triple)
    except SystemExit:
        raise
    except BaseException as failure:
        failure.__traceback__ = _without_leading(failure.__traceback__, __file__)
        print("Error in sys.excepthook:", file=sys.stderr)
        sys.__excepthook__(type(failure), failure, failure.__traceback__)
        print("\nOriginal exception was:", file=sys.stderr)
        sys.__excepthook__(*triple)


def _die_by_sigint() -> None:
    """End as python does after an unhandled Ctrl-C: clean up, then let the signal kill us.

    The shell that started us sees by the signal that the user interrupted, and stops its own loop.
    """
    if os.name != "posix":
        raise SystemExit(130)
    # What the interpreter does on its way out, since the signal leaves it no time.
    threading._shutdown()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            stream.flush()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)
