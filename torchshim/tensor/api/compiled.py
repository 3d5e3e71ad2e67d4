"""Code objects of generated functions, kept beside Python's own caches: compiling some two hundred of them would take a tenth of a second
of every start. The source is the key, so what is found is what compiling it would give."""
from __future__ import annotations

import importlib.util
import marshal
import os
import pathlib
import sys
import tempfile

_PLACE = pathlib.Path(__file__).parent / "__pycache__" / f"forms.{sys.implementation.cache_tag}.bin"
_used: dict = {}
_known: dict | None = None


def _read():
    try:
        data = _PLACE.read_bytes()
        if data[:len(importlib.util.MAGIC_NUMBER)] == importlib.util.MAGIC_NUMBER:
            found = marshal.loads(data[len(importlib.util.MAGIC_NUMBER):])
            return found if isinstance(found, dict) else {}
    except (OSError, ValueError, EOFError, TypeError):
        pass
    return {}


def compiled(source):
    """The code of a module with this source."""
    global _known
    code = _used.get(source)
    if code is None:
        if _known is None:
            _known = _read()
        code = _known.get(source)
        if code is None:
            code = compile(source, "<operator>", "exec")
        _used[source] = code
    return code


def keep():
    """Write down what this process has used, if it had to compile any of it; where that can't be, nothing happens."""
    global _known
    if sys.dont_write_bytecode or _known is None or _used.keys() <= _known.keys():
        return
    try:
        _PLACE.parent.mkdir(exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=_PLACE.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(importlib.util.MAGIC_NUMBER + marshal.dumps(_used))
        os.replace(temporary, _PLACE)
    except OSError:
        pass
    _known = dict(_used)
