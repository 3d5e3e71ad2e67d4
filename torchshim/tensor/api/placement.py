"""Where generated functions stand: at the declaration of their operator, for inspection and in tracebacks."""
from __future__ import annotations

import functools
import sys


@functools.cache
def _one_line(size):
    """A line table for `size` bytes of code that are all of one line, which becomes the declaration's.

    Each entry speaks of up to eight instructions: kind 13 is a line without columns, here 0 lines further on. (Setting the
    lines in a syntax tree instead takes three times as long as compiling.)
    """
    full, rest = divmod(size // 2, 8)
    return b"\xef\x00" * full + (bytes((0xe7 + rest, 0)) if rest else b"")


def placed(code, name, op):
    """Code of a form under its name, at the operator's declaration."""
    return standing_at(code, op.file, op.line, name, name)


def standing_at(code, file, line, name, qualname):
    """Code under a name, all of it at one line of a file."""
    lines = {"co_linetable": _one_line(len(code.co_code))} if sys.version_info < (3, 15) else {}
    return code.replace(co_name=name, co_qualname=qualname, co_filename=file, co_firstlineno=line, **lines)
