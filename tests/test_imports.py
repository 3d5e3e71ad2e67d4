"""Protects files from imports that nothing uses. What is imported for others, or for what importing it does, says so (noqa)."""
import ast
import contextlib
import pathlib

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
