"""Code objects of generated functions, kept beside Python's own caches: writing and compiling some two hundred of them would take a tenth
of a second of every start. They are found by what decides about their text, in a file that belongs to one version of what writes it."""
from __future__ import annotations

import importlib.util
import marshal
import os
import pathlib
import sys
import tempfile

_PLACE = pathlib.Path(__file__).parent / "__pycache__" / f"forms.{sys.implementation.cache_tag}.bin"
_WRITER = pathlib.Path(__file__).parent / "bind.py"
_used: dict = {}
_known: dict | None = None


def _stamp():
    """What a file of codes begins with: the versions of Python's bytecode and of the source that writes the functions."""
    return importlib.util.MAGIC_NUMBER + importlib.util.source_hash(_WRITER.read_bytes())


def _read():
    try:
        data, stamp = _PLACE.read_bytes(), _stamp()
        if data.startswith(stamp):
            found = marshal.loads(memoryview(data)[len(stamp):])
            return found if isinstance(found, dict) else {}
    except (OSError, ValueError, EOFError, TypeError):
        pass
    return {}


def compiled(key, write):
    """The code of a module with the source that `write()` gives; `key` is all that decides about it."""
    global _known
    code = _used.get(key)
    if code is None:
        if _known is None:
            _known = _read()
        code = _known.get(key)
        if code is None:
            code = compile(write(), "<operator>", "exec")
        _used[key] = code
    return code


def keep():
    """Write down what this process has used, if it had to compile any of it; where that can't be, nothing happens."""
    global _known
    if sys.dont_write_bytecode or _known is None or _used.keys() <= _known.keys():
        return
    try:
        data = _stamp() + marshal.dumps(_used)
        _PLACE.parent.mkdir(exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=_PLACE.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.replace(temporary, _PLACE)
    except OSError:
        pass
    _known = dict(_used)
