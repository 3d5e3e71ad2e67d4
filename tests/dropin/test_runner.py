"""``python -m torchshim PROGRAM`` behaves as ``python PROGRAM``: output, errors, exit status.

Each case runs both ways and the two must agree byte for byte.
"""

import re
import sys

import pytest

DUMP = """
import sys
for name, value in sorted(globals().copy().items()):
    text = repr(value).split(" object at")[0].split("loader=")[0]
    print(name, type(value).__name__, text)
print(sys.argv, sys.path[0], sys.modules["__main__"].__dict__ is globals())
"""

SCRIPTS = {
    "globals": DUMP,
    "traceback": "def f(x):\n    return 1 / x\n\nprint('before')\nf(0)\n",
    "chained": """
def f():
    try:
        {}["key"]
    except KeyError as error:
        raise ValueError("second") from error
try:
    f()
except ValueError:
    raise RuntimeError("third")
""",
    "group": "raise ExceptionGroup('several', [ValueError(1), TypeError(2)])\n",
    "note": "error = ValueError('x')\nerror.add_note('a note')\nraise error\n",
    "syntax": "x = 1\nfoo(x\n",
    "indentation": "if True:\nx = 1\n",
    "future": "from __future__ import annotations\ndef f(x: nothing): pass\nprint(f.__annotations__)\n",
    "syntax_inside": "exec('a b')\n",
    "exit_number": "import sys\nprint('x')\nsys.exit(3)\n",
    "exit_none": "import sys\nsys.exit()\n",
    "exit_text": "import sys\nsys.exit('a message')\n",
    "exit_other": "raise SystemExit((1, 2))\n",
    "exit_negative": "raise SystemExit(-1)\n",
    "exit_from_error": "try:\n    1/0\nexcept Exception:\n    raise SystemExit(4)\n",
    "os_exit": "import os\nos._exit(7)\n",
    "interrupt": "raise KeyboardInterrupt\n",
    "interrupt_cleanup": """
import atexit, threading, time
atexit.register(print, "atexit")
def work():
    time.sleep(0.1)
    print("thread done")
threading.Thread(target=work).start()
print("no newline", end="")
raise KeyboardInterrupt("why")
""",
    "interrupt_signal": """
import os, signal, time
os.kill(os.getpid(), signal.SIGINT)
time.sleep(5)
""",
    "atexit": """
import atexit, sys
atexit.register(print, "first registered")
atexit.register(lambda: print("last", sys.last_type.__name__, sys.last_value))
raise ValueError("boom")
""",
    "atexit_raises": "import atexit\natexit.register(lambda: 1 / 0)\nprint('x')\n",
    "excepthook": """
import sys
def hook(kind, error, tb):
    print(kind.__name__, error, tb.tb_frame.f_code.co_name, tb.tb_lineno, sys.exc_info())
    print(error.__traceback__ is tb)
sys.excepthook = hook
1/0
""",
    "excepthook_exits": "import sys\nsys.excepthook = lambda *a: sys.exit(9)\n1/0\n",
    "excepthook_raises": """
import sys
def hook(*info):
    raise RuntimeError("in the hook")
sys.excepthook = hook
{}["x"]
""",
    "thread_error": """
import threading
t = threading.Thread(target=lambda: 1 / 0, name="worker")
t.start(); t.join()
""",
    "main_module": """
import __main__, dataclasses, inspect, pickle, typing
@dataclasses.dataclass
class Point:
    x: "int"
    def __reduce__(self): return Point, (self.x,)
if __name__ == "__main__":
    print(Point(1), pickle.loads(pickle.dumps(Point(2))), __main__.Point is Point)
    print(typing.get_type_hints(Point), inspect.getsource(Point.__reduce__))
    from __main__ import Point as Again
    print(Again is Point, Point.__module__)
""",
    "sibling": "import sibling\nprint(sibling.VALUE)\n",
    "relative": "from . import sibling\n",
    "warning": "import warnings\nwarnings.warn('careful')\n",
    "input": "print(repr(input('? ')), repr(input()))\ninput()\n",
    "stderr": "import sys\nprint('out')\nprint('err', file=sys.stderr)\n",
    "recursion": "import sys\nsys.setrecursionlimit(200)\ntry:\n    f = lambda: f()\n    f()\nexcept RecursionError as e:\n    print(e)\n",
    "spawn": """
import multiprocessing
def square(x):
    return x * x
class Holder:
    pass
if __name__ == "__main__":
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.map(square, [1, 2, 3]))
""",
}

FILES = {
    "utf8": "print('größe ✓')\nraise ValueError('ä')\n".encode(),
    "bom": b"\xef\xbb\xbfprint('bom')\n",
    "latin1": "# -*- coding: latin-1 -*-\nprint(ascii('größe'))\nraise ValueError('ä')\n".encode("latin-1"),
    "crlf": b"print(1)\r\nprint('''a\r\nb''')\r\n1/0\r\n",
    "no_newline": b"print(1)\n1/0",
    "empty": b"",
}


def without_addresses(output):
    return re.sub("0x[0-9a-f]+", "0x", output.decode())


def agree(processes, directory, *args, stdin=b"", prefix=()):
    plain = processes.python(*args, cwd=directory, stdin=stdin, prefix=prefix)
    ours = processes.shim(*args, cwd=directory, stdin=stdin, prefix=prefix)
    assert without_addresses(ours.stderr) == without_addresses(plain.stderr)
    assert ours.stdout.decode() == plain.stdout.decode()
    assert ours.returncode == plain.returncode
    return plain


@pytest.mark.parametrize("name", SCRIPTS)
def test_script(processes, tmp_path, name):
    (tmp_path / "sibling.py").write_text("VALUE = 5\n")
    (tmp_path / "script.py").write_text(SCRIPTS[name])
    agree(processes, tmp_path, "script.py", "--flag", "-m", "x y", stdin="one\ntwo\n")


@pytest.mark.parametrize("name", FILES)
def test_source_encoding(processes, tmp_path, name):
    (tmp_path / "script.py").write_bytes(FILES[name])
    agree(processes, tmp_path, "script.py")


@pytest.mark.parametrize("source", [b"print(1)\nx = '\xff'\n", b"# coding: no-such-code\nprint(1)\n"])
def test_undecodable_source(processes, tmp_path, source):
    """Only the wording differs: python decodes a file and a text in memory by two routes."""
    (tmp_path / "script.py").write_bytes(source)
    for run in (processes.python, processes.shim):
        done = run("script.py", cwd=tmp_path)
        assert done.returncode == 1 and done.stdout == b""
        assert b"SyntaxError: " in done.stderr
        assert b"Traceback" not in done.stderr


def test_script_path_forms(processes, tmp_path):
    """Relative, with dots, through a link, from elsewhere: __file__, argv[0] and path[0] as python's."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "a" / "script.py").write_text(DUMP + "1/0\n")
    (tmp_path / "b" / "link.py").symlink_to("../a/script.py")
    for form in ("a/script.py", "./a/script.py", "b/../a/script.py", "b/link.py"):
        agree(processes, tmp_path, form)
    agree(processes, tmp_path / "b", "../a/script.py")
    agree(processes, tmp_path, tmp_path / "a" / "script.py")
    agree(processes, tmp_path, "a/script.py", prefix=("-P",))


def test_missing_script(processes, tmp_path):
    assert agree(processes, tmp_path, "nothere.py").returncode == 2
    (tmp_path / "file").write_text("")
    assert agree(processes, tmp_path, "file/script.py").returncode == 2
    (tmp_path / "empty").mkdir()
    assert agree(processes, tmp_path, "empty").returncode == 1


def test_directory_and_zip(processes, tmp_path):
    import zipfile

    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "__main__.py").write_text(DUMP + "1/0\n")
    agree(processes, tmp_path, "program", "x")
    with zipfile.ZipFile(tmp_path / "program.zip", "w") as archive:
        archive.write(tmp_path / "program" / "__main__.py", "__main__.py")
    agree(processes, tmp_path, "program.zip", "x")


def test_compiled_script(processes, tmp_path):
    import py_compile

    (tmp_path / "script.py").write_text(DUMP)
    py_compile.compile(str(tmp_path / "script.py"), cfile=str(tmp_path / "done.pyc"))
    agree(processes, tmp_path, "done.pyc")


def test_module(processes, tmp_path):
    (tmp_path / "prog.py").write_text(DUMP + "1/0\n")
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("import sys\nprint('parent', sys.argv)\n")
    (tmp_path / "pack" / "__main__.py").write_text("from . import __name__ as n\nprint(n)\n" + DUMP)
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "__init__.py").write_text("")
    (tmp_path / "bad.py").write_text("a b\n")
    for args in (["-m", "prog", "-x"], ["-mprog"], ["-m", "pack", "1"], ["-m", "bare"]):
        agree(processes, tmp_path, *args)
    for name in ("nothere", "prog.deeper", "bad", "prog.py"):
        agree(processes, tmp_path, "-m", name)


def test_code_and_stdin(processes, tmp_path):
    agree(processes, tmp_path, "-c", DUMP, "-x", "y")
    agree(processes, tmp_path, "-cprint(1)")
    agree(processes, tmp_path, "-c", "raise KeyboardInterrupt")
    # From 3.13 python shows the lines of such a program in its traceback.
    if sys.version_info < (3, 13):
        agree(processes, tmp_path, "-c", "print(1)\ndef f(): 1/0\nf()")
        agree(processes, tmp_path, "-", "-x", stdin=DUMP + "1/0\n")
    agree(processes, tmp_path, "-", "-x", stdin=DUMP)
    agree(processes, tmp_path, stdin=DUMP)
    agree(processes, tmp_path, "-", stdin="a b\n")


def test_prompt_after_the_program(processes, tmp_path):
    (tmp_path / "script.py").write_text("x = 5\n1/0\n")
    agree(processes, tmp_path, "script.py", prefix=("-i",), stdin="print(x, __name__)\n")


def test_usage(processes, tmp_path):
    for args in (["-Z"], ["-c"], ["-m"], ["--nothing"]):
        done = processes.shim(*args, cwd=tmp_path)
        assert done.returncode == 2 and b"usage: python -m torchshim" in done.stderr
        assert done.stdout == b""
    for args in (["-h"], ["--help"]):
        done = processes.shim(*args, cwd=tmp_path)
        assert done.returncode == 0 and done.stdout.startswith(b"usage: python -m torchshim")
    for args in (["-V"], ["--version"]):
        done = processes.shim(*args, cwd=tmp_path)
        assert done.returncode == 0 and done.stdout == b"torchshim 0.1.0 (PyTorch 2.13)\n"


def test_spawned_children_have_torch(check):
    """Objects that name torch reach a fresh process, which imports the script again."""
    lines = check(
        """
import multiprocessing, sys
import torch
from torch.utils.data import Dataset
def names(kind):
    import torchshim
    return kind.__module__, kind is torch.nn.Linear, torch is torchshim, __name__
if __name__ == "__main__":
    for method in ("spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            print(pool.apply(names, (torch.nn.Linear,)))
"""
    )
    assert lines == ["('torch.nn.modules', True, True, '__mp_main__')"] * 2


def test_garbage_is_looked_for_after_more_objects(processes, tmp_path):
    """A tensor is several objects here where it is one in torch: the young generation is that much larger, the older ones are not."""
    code = "import gc; print(*gc.get_threshold())"
    plain, ours = ([int(n) for n in run("-c", code, cwd=tmp_path).stdout.split()] for run in (processes.python, processes.shim))
    assert ours == [5 * plain[0], *plain[1:]]
