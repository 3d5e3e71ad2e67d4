"""The modules that a text of Python imports."""
from __future__ import annotations

import ast

__all__ = ["find_files_source_depends_on"]


def find_files_source_depends_on(src, package):
    """[(module, name or None)] of the imports in a text: for `from a import b` (a, b), for `import a` (a, None). `package` is what names
    that begin with points are counted from."""
    found = {}
    for node in ast.walk(ast.parse(src)):
        if isinstance(node, ast.Import):
            found.update({(alias.name, None): True for alias in node.names})
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")
                parts = parts[:len(parts) - (node.level - 1)]
                base = ".".join([*parts, *([node.module] if node.module else [])])
            for alias in node.names:
                found[(base, None) if alias.name == "*" else (base, alias.name)] = True
    return list(found)
