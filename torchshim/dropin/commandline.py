"""The command line of ``python -m torchshim``: which program to run, with what arguments."""

import sys
from dataclasses import dataclass

from torchshim.dropin.versions import TORCH_COMPAT, TORCHSHIM_VERSION

USAGE = "usage: python -m torchshim [-h | -V] [SCRIPT | -m MODULE | -c CODE | -] [ARG ...]"

HELP = f"""{USAGE}

Run a PyTorch program on JAX: inside it, `import torch` is torchshim.

  SCRIPT         a Python file, or a directory or zip file with a __main__.py
  -m MODULE      a module, as `python -m MODULE`
  -c CODE        a program given as text
  -              a program read from standard input (also when nothing is given;
                 an interactive prompt where standard input is a terminal)
  ARG ...        the program's own arguments, its sys.argv[1:]
  -h, --help     this text
  -V, --version  torchshim's version and the PyTorch version it follows

Set TORCHSHIM_EAGER=1 to run every operation at once, for debugging."""


@dataclass
class Program:
    """What to run: ``kind`` is script, module, code or stdin; ``argv`` its ``sys.argv``."""

    kind: str
    target: str
    argv: list[str]


def parse(args: list[str]) -> Program:
    """Read the arguments as ``python`` reads its own; answers help and errors by `SystemExit`."""
    if not args:
        return Program("stdin", "", [""])
    first, rest = args[0], args[1:]
    if first == "-":
        return Program("stdin", "", args)
    if not first.startswith("-"):
        return Program("script", first, args)
    if first in ("-h", "--help"):
        print(HELP)
        raise SystemExit(0)
    if first in ("-V", "--version"):
        print(f"torchshim {TORCHSHIM_VERSION} (PyTorch {TORCH_COMPAT})")
        raise SystemExit(0)
    option = first[:2]
    if option not in ("-c", "-m"):
        _usage_error(f"Unknown option: {first}")
    target = first[2:]  # -cCODE and -mMODULE in one word
    if not target:
        if not rest:
            _usage_error(f"Argument expected for the {option} option")
        target, rest = rest[0], rest[1:]
    return Program("code" if option == "-c" else "module", target, [option, *rest])


def _usage_error(message: str):
    print(f"{message}\n{USAGE}\nTry `python -m torchshim --help' for more information.", file=sys.stderr)
    raise SystemExit(2)
