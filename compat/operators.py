"""The table of operators, from the registry: `python -m compat.operators [REGEX]` prints it as Markdown.

A row for each public name of torch, Tensor, nn.functional, linalg, fft and special that computes: its forms, how its gradient comes about,
where it is written. "declared" operators have a declaration in torchshim/ops, "composite" ones are written in terms of these, "missing"
ones raise NotImplementedError with their name.
"""
from __future__ import annotations

import argparse
import collections
import inspect
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))

import torchshim as torch  # noqa: E402
from torchshim.ops.registry import OPS  # noqa: E402
from torchshim.tensor.api.bind import FUNCTIONS, NAMESPACES  # noqa: E402

PACKAGE = pathlib.Path(torch.__file__).resolve().parent


def place(path, line):
    """file:line within the package."""
    path = pathlib.Path(path).resolve()
    return f"{path.relative_to(PACKAGE)}:{line}" if path.is_relative_to(PACKAGE) else ""


def gradient_of(ops):
    """How the gradients of these overloads come about."""
    kinds = {"none" if o.grad is None else "refused, as by torch" if o.grad == "NotImplemented" else
             "own rule" if o.partials is not None or "rule" in vars(o) else "jax.vjp of the body" for o in ops}
    return ", ".join(sorted(kinds))


def declared():
    """{(namespace, name): row} of the declared operators."""
    groups = collections.defaultdict(list)
    for op in OPS.values():
        if (op.namespace, op.name) in OPS:
            groups[op.namespace, op.public].append(op)
    rows = {}
    for (space, name), ops in groups.items():
        forms = [form for form, has in (("function", any([o.function for o in ops])),
                                        ("method", any([o.method and not space for o in ops])), ("in place", any([o.inplace for o in ops])),
                                        ("out=", any([o.function and o.out for o in ops]))) if has]
        if forms:
            rows[space, name] = "declared", ", ".join(forms), gradient_of(ops), place(ops[0].file, ops[0].line)
    return rows


def written():
    """{(namespace, name): row} of what is written by hand."""
    spaces = {None: FUNCTIONS, **NAMESPACES}
    spaces["nn.functional"] = {n: f for n, f in vars(torch.nn.functional).items() if inspect.isfunction(f)}
    spaces["Tensor"] = {n: f for n, f in vars(torch.Tensor).items() if inspect.isfunction(f) and n not in FUNCTIONS}
    rows = {}
    for space, functions in spaces.items():
        for name, f in functions.items():
            f = inspect.unwrap(f)
            if name.startswith("_") or not hasattr(f, "__code__"):
                continue
            missing = getattr(f, "__unimplemented__", False)
            where = place(f.__code__.co_filename, f.__code__.co_firstlineno)
            if where.startswith("ops/"):
                continue                       # a form, or another name, of what is declared there
            rows[space, name] = "missing" if missing else "composite", "method" if space == "Tensor" else "function", "its parts'", where
    return rows


def table():
    """[(name, state, forms, gradient, place)], sorted; a declaration wins over what is made of it."""
    rows = written() | declared()
    return sorted((f"{space}.{name}" if space else name, *row) for (space, name), row in rows.items())


def main(argv=None):
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m compat.operators", description=__doc__.split("\n")[0])
    parser.add_argument("only", nargs="?", default="", metavar="REGEX", help="operators whose name matches")
    only = re.compile(parser.parse_args(argv).only)
    rows = [row for row in table() if only.search(row[0])]
    print("| operator | state | forms | gradient | where |\n|---|---|---|---|---|")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    states = collections.Counter(row[1] for row in rows)
    print(f"\n{len(rows)} operators: " + ", ".join(f"{n} {state}" for state, n in sorted(states.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
