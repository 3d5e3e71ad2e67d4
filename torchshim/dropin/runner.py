"""``python -m torchshim``: run a program as ``python`` would, with ``import torch`` as torchshim.

The program gets a fresh ``__main__`` module, ``sys.argv`` and ``sys.path[0]`` of its own; it runs
in the main thread of this process, and ends it as it would end ``python``.
"""

import builtins
import gc
import importlib.util
import linecache
import os
import pkgutil
import runpy
import sys
import types
import warnings
from importlib.machinery import BuiltinImporter, SourceFileLoader, SourcelessFileLoader

from torchshim.dropin.commandline import Program, parse
from torchshim.dropin.ending import end_by_exception
from torchshim.dropin.install import install


def main(args: list[str] | None = None) -> None:
    """Run the program that ``args`` (default: the command line) name; exit as it exits."""
    program = parse(sys.argv[1:] if args is None else args)
    install()
    _use_persistent_cache()
    # JAX warns of forks since a child waits for XLA's threads; torchshim computes without them there
    warnings.filterwarnings("ignore", r"os\.fork\(\) was called", RuntimeWarning)
    _collect_as_often_as_torch()
    error = None
    try:
        _run(program)
    except SystemExit:
        raise
    except BaseException as raised:
        error = raised
    # Outside the except block: the program's excepthook must see no exception being handled.
    if error is not None:
        end_by_exception(error, hide_file=__file__)


def _collect_as_often_as_torch() -> None:
    """Let the garbage collector run after five times as many new objects: a tensor with its history is five objects here where it is one in
    torch, and what tracing makes counts besides. Programs of many operators spent a sixth of their time on looking for garbage."""
    young, *older = gc.get_threshold()
    gc.set_threshold(5 * young, *older)


def _use_persistent_cache() -> None:
    """Let JAX keep compiled programs between runs; imported here, as the runner works for a package without an engine too."""
    if importlib.util.find_spec("torchshim.engine.compile") is not None:
        from torchshim.engine.compile.cache import use_persistent_cache

        use_persistent_cache("1")


def _run(program: Program) -> None:
    sys.argv = program.argv
    if program.kind == "script":
        _run_script(program.target)
    elif program.kind == "module":
        _set_path0(os.getcwd())
        _new_main(BuiltinImporter)
        # The function behind `python -m`: same search, messages, warnings and namespace.
        runpy._run_module_as_main(program.target)
    elif program.kind == "code":
        _set_path0("")
        source = program.target + "\n"
        if sys.version_info >= (3, 13):       # whose tracebacks show the lines of such programs
            linecache.cache["<string>"] = len(source), None, source.splitlines(keepends=True), "<string>"
        _execute(source, "<string>", _new_main(BuiltinImporter))
    else:
        _run_stdin()


def _run_script(path: str) -> None:
    absolute = os.path.join(os.getcwd(), path)  # as python: not normalised
    if pkgutil.get_importer(absolute) is not None:  # a directory or a zip file
        if sys.flags.safe_path:
            sys.path.insert(0, absolute)
        else:
            sys.path[0] = absolute
        _new_main(BuiltinImporter)
        runpy._run_module_as_main("__main__", alter_argv=False)
        return

    _set_path0(os.path.dirname(os.path.realpath(absolute)))
    if path.endswith(".pyc"):
        loader = SourcelessFileLoader("__main__", absolute)
        code = _read(path, absolute, lambda: loader.get_code("__main__"))
        exec(code, vars(_new_main(loader, absolute)))
    else:
        source = _read(path, absolute, lambda: _bytes_of(absolute))
        _execute(source, absolute, _new_main(SourceFileLoader("__main__", absolute), absolute))


def _run_stdin() -> None:
    _set_path0("")
    main_module = _new_main(BuiltinImporter, "<stdin>")
    if sys.stdin is not None and sys.stdin.isatty():
        import code

        banner = f"Python {sys.version} on {sys.platform}\n`import torch` is torchshim."
        code.interact(banner, local=vars(main_module), exitmsg="")
    elif sys.stdin is not None:
        _execute(sys.stdin.buffer.read(), "<stdin>", main_module)


def _execute(source: str | bytes, filename: str, main_module: types.ModuleType) -> None:
    exec(compile(source, filename, "exec", dont_inherit=True), vars(main_module))


def _new_main(loader, filename: str | None = None) -> types.ModuleType:
    """Put a new, empty ``__main__`` in place of the runner's, with what python would set on it."""
    module = types.ModuleType("__main__")
    module.__builtins__ = builtins
    module.__loader__ = loader
    if sys.version_info < (3, 14):
        module.__annotations__ = {}
    if filename is not None:
        module.__file__ = filename
        module.__cached__ = None
    sys.modules["__main__"] = module
    return module


def _set_path0(directory: str) -> None:
    # With -P or PYTHONSAFEPATH python puts nothing at the front.
    if not sys.flags.safe_path:
        sys.path[0] = directory


def _bytes_of(path: str) -> bytes:
    import io

    with io.open_code(path) as file:
        return file.read()


def _read(path: str, absolute: str, read):
    try:
        return read()
    except OSError as error:
        program = sys.orig_argv[0] if sys.orig_argv else sys.executable
        message = f"{program}: can't open file {absolute!r}: [Errno {error.errno}] {error.strerror}"
        print(message, file=sys.stderr)
        raise SystemExit(2) from None
