"""Finding the programs, running one in this process, and comparing what it printed."""
import contextlib
import importlib
import io
import json
import pathlib
import re
import sys
import types

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
EXPECTED = HERE / "expected"
RECORD_COMMAND = "python -m compat --record --torch PYTHON_WITH_TORCH"


def programs_list(only=None):
    """Names ("area/name") of all programs, sorted; `only` is a regular expression searched in the name."""
    names = sorted(f"{p.parent.name}/{p.stem}" for p in PROGRAMS.glob("*/*.py"))
    return [n for n in names if only is None or re.search(only, n)]


def source(name):
    """The program's text."""
    return (PROGRAMS / f"{name}.py").read_text(encoding="utf-8")


def _torch():
    """The `torch` of this process; where there is none, torchshim is installed under that name."""
    try:
        return importlib.import_module("torch")
    except ModuleNotFoundError as missing:
        if missing.name != "torch":
            raise
        importlib.import_module("torchshim").install()
        return importlib.import_module("torch")


def _fresh_state(torch):
    # What a program may leave behind that the next one would notice.
    torch.set_grad_enabled(True)
    torch.set_default_dtype(torch.float32)
    torch.set_printoptions(profile="default")
    torch.manual_seed(0)


def _execute(name):
    torch = _torch()
    _fresh_state(torch)
    program = types.ModuleType("program")
    program.__file__ = str(PROGRAMS / f"{name}.py")
    printed = io.StringIO()
    before = sys.modules.get("program")
    sys.modules["program"] = program            # so that a program can pickle its own classes
    try:
        with contextlib.redirect_stdout(printed):
            try:
                exec(compile(source(name), program.__file__, "exec"), program.__dict__)
            except Exception as error:
                print(f"ended by {type(error).__name__}: {error}")
    finally:
        if before is None:
            sys.modules.pop("program", None)
        else:
            sys.modules["program"] = before
        _fresh_state(torch)
    return program, printed.getvalue()


def run_program(name):
    """Run one program in this process, in a namespace of its own with the seed set to 0; returns what it printed.

    An exception that ends the program is the last line of the text.
    """
    return _execute(name)[1]


def load_program(name):
    """Run one program and return its module: those of the area `functions` define `inputs()` and `compute(*inputs)`."""
    return _execute(name)[0]


def normalise(text):
    """The text without what may differ from run to run: addresses and trailing blanks."""
    return re.sub(r"0x[0-9a-fA-F]+", "0x…", text).rstrip("\n")


def expected(name):
    """What real torch printed for the program (None where nothing is stored)."""
    return _stored(name.split("/")[0]).get(name)


_cache = {}


def _stored(area):
    if area not in _cache:
        path = EXPECTED / f"{area}.json"
        stored = json.loads(path.read_text(encoding="utf-8"))["programs"] if path.exists() else {}
        _cache[area] = {name: "\n".join(lines) for name, lines in stored.items()}
    return _cache[area]


def write_expected(results, version):
    """Store results ({name: text}); areas without a new result stay, programs that are gone are dropped."""
    known = set(programs_list())
    for area in sorted({name.split("/")[0] for name in results}):
        merged = {**_stored(area), **{n: normalise(t) for n, t in results.items() if n.startswith(area + "/")}}
        body = {
            "command": RECORD_COMMAND,
            "torch": version,
            "programs": {n: merged[n].split("\n") for n in sorted(merged) if n in known},
        }
        EXPECTED.mkdir(exist_ok=True)
        (EXPECTED / f"{area}.json").write_text(json.dumps(body, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    _cache.clear()


_NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")


def _same_line(got, want, rtol):
    if got == want:
        return True
    if not rtol or _NUMBER.sub("#", got).split() != _NUMBER.sub("#", want).split():
        return False
    pairs = zip(map(float, _NUMBER.findall(got)), map(float, _NUMBER.findall(want)))
    return all(abs(g - w) <= rtol * max(abs(w), 1e-2) for g, w in pairs)


def compare(got, want, rtol=0.0):
    """None where both texts agree, else (line number, expected line, line got).

    With `rtol`, numbers may differ that much (for accelerators, whose matrix products round differently).
    """
    got, want = normalise(got).split("\n"), normalise(want).split("\n")
    for i in range(max(len(got), len(want))):
        g = got[i] if i < len(got) else "(nothing)"
        w = want[i] if i < len(want) else "(nothing)"
        if not _same_line(g, w, rtol):
            return i + 1, w, g
    return None
