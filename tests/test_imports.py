"""Protects files from imports that nothing uses, and the start from imports that only some programs need.
What is imported for others, or for what importing it does, says so (noqa)."""
import ast
import contextlib
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def unused(path):
    """(line, name) of what a file imports and does not use, export or mark."""
    source = path.read_text(encoding="utf-8")
    tree, lines = ast.parse(source), source.splitlines()
    read = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            read |= {x.value for x in ast.walk(node.value) if isinstance(x, ast.Constant)}
    for node in ast.walk(tree):                # annotations in quotes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and "[" in node.value and "\n" not in node.value:
            with contextlib.suppress(SyntaxError, ValueError):
                read |= {x.id for x in ast.walk(ast.parse(node.value, mode="eval")) if isinstance(x, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)) and getattr(node, "module", "") != "__future__":
            if any("noqa" in line for line in lines[node.lineno - 1:node.end_lineno]):
                continue
            for alias in node.names:
                name = alias.asname or alias.name.partition(".")[0]
                if name not in read and name != "*" and alias.asname != alias.name:
                    yield node.lineno, name


@pytest.mark.parametrize("folder", ["torchshim", "tests", "compat"])
def test_what_is_imported_is_used(folder):
    wrong = [f"{path.relative_to(ROOT)}:{line} {name}" for path in sorted((ROOT / folder).rglob("*.py"))
             if path.name not in ("__init__.py", "_namespace.py") for line, name in unused(path)]
    assert not wrong, "\n".join(wrong)


def test_the_start_waits_for_nothing_that_only_some_programs_need():
    """`jax.extend` brings Pallas: 20 ms, as much as a fifth of our own import."""
    late = ("jax.extend", "torchshim.distributions", "torchshim.fx", "torchshim.optim", "torchshim.utils.data", "torchshim.func")
    program = f"import sys, torchshim; print(*[m for m in {late!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.split() == []


def test_the_garbage_collector_leaves_alone_what_was_imported_and_nothing_else():
    """Going through it at the end of a process took a third of an import."""
    program = ("import gc, weakref, torchshim as torch\n"
               "class Loop: pass\n"
               "a = Loop(); a.me, a.x = a, torch.ones(3); r = weakref.ref(a); del a\n"
               "gc.collect(); print(gc.get_freeze_count() > 50_000, gc.isenabled(), r() is None)")
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.split() == ["True", "True", "True"]
