"""Protects the cache of generated code: what it holds is what compiling gives, and a damaged file is compiled around."""
import importlib.util
import marshal

from torchshim.tensor.api import compiled as cache


def test_found_code_is_the_source_compiled(tmp_path, monkeypatch):
    place = tmp_path / "__pycache__" / "forms.bin"
    monkeypatch.setattr(cache, "_PLACE", place)
    monkeypatch.setattr(cache.sys, "dont_write_bytecode", False)

    def fresh():
        monkeypatch.setattr(cache, "_used", {})
        monkeypatch.setattr(cache, "_known", None)
    fresh()
    cache.compiled("x = 1"), cache.keep()
    assert place.read_bytes().startswith(importlib.util.MAGIC_NUMBER)
    place.write_bytes(importlib.util.MAGIC_NUMBER + marshal.dumps({"x = 1": compile("x = 2", "", "exec")}))
    fresh()
    space = {}
    exec(cache.compiled("x = 1"), space)
    assert space["x"] == 2                     # it is the file that was asked
    for damaged in (b"", b"junk", importlib.util.MAGIC_NUMBER + b"junk", importlib.util.MAGIC_NUMBER):
        place.write_bytes(damaged)
        fresh()
        exec(cache.compiled("x = 1"), space)
        assert space["x"] == 1
