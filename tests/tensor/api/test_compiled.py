"""Protects the cache of generated code: what it holds is what its key was compiled for, and a damaged or older file is compiled around."""
import importlib.util
import marshal

from torchshim.tensor.api import bind, compiled as cache
from torchshim.ops.registry import OPS


def test_found_code_is_the_source_compiled(tmp_path, monkeypatch):
    place = tmp_path / "__pycache__" / "forms.bin"
    monkeypatch.setattr(cache, "_PLACE", place)
    monkeypatch.setattr(cache.sys, "dont_write_bytecode", False)

    def fresh():
        monkeypatch.setattr(cache, "_used", {})
        monkeypatch.setattr(cache, "_known", None)

    def value():
        space = {}
        exec(cache.compiled(("x", True), lambda: "x = 1"), space)
        return space["x"]
    fresh()
    assert value() == 1
    cache.keep()
    stamp = cache._stamp()
    assert place.read_bytes().startswith(stamp) and stamp.startswith(importlib.util.MAGIC_NUMBER)
    other = marshal.dumps({("x", True): compile("x = 2", "", "exec")})
    place.write_bytes(stamp + other)
    fresh()
    assert value() == 2                        # it is the file that was asked
    for damaged in (b"", b"junk", stamp + b"junk", stamp, importlib.util.MAGIC_NUMBER + b"8 others" + other):
        place.write_bytes(damaged)
        fresh()
        assert value() == 1


def test_what_has_one_key_has_one_source(monkeypatch):
    sources = {}
    monkeypatch.setattr(bind, "compiled", lambda key, write: sources.setdefault(key, set()).add(write()))
    for op in OPS.values():
        for first, inplace, with_out, flag in (("self", False, False, False), ("input", False, True, False), ("self", True, False, False),
                                               ("input", False, False, True)):
            bind._code(op, first, inplace, with_out, flag)
    assert len(sources) > 300 and all(len(found) == 1 for found in sources.values())
