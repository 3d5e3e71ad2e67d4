"""Protects the layering: a module imports only from its own layer or from lower ones, wherever the import stands."""
import ast
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent / "torchshim"
#: Lower first. Everything that is not named is above them all.
LAYERS = {"engine": 0, "ops": 1, "tensor": 2, "interop": 2, "autograd": 3, "random": 3}
TOP = 4
#: Methods of Tensor that start what lies above it; they import it when they are called.
UPWARDS = {("tensor/core/tensor.py", "autograd"), ("tensor/core/tensor.py", "_tensor")}


def imports(path):
    """(line, part of torchshim) for every import of our own."""
    package = path.relative_to(ROOT).parts[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            if node.level:
                base = package[:len(package) - (node.level - 1)]
                module = base + tuple(node.module.split(".") if node.module else ())
                names = [module] if module else [(a.name,) for a in node.names]
            elif node.module and node.module.split(".")[0] == "torchshim":
                names = [tuple(node.module.split(".")[1:])] if "." in node.module else [(a.name,) for a in node.names]
            else:
                continue
        elif isinstance(node, ast.Import):
            names = [tuple(a.name.split(".")[1:]) for a in node.names if a.name.split(".")[0] == "torchshim"]
        else:
            continue
        for n in names:
            yield node.lineno, n[0] if n else ""


def layer(part):
    return LAYERS.get(part, TOP)


@pytest.mark.parametrize("part", sorted(LAYERS))
def test_imports_point_downwards(part):
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        where = path.relative_to(ROOT)
        own = where.parts[0].removesuffix(".py")
        if own != part:
            continue
        for line, target in imports(path):
            if layer(target) > layer(own) and target != "dropin" and (where.as_posix(), target) not in UPWARDS:
                wrong.append(f"{where}:{line} imports {target or 'torchshim'}")
    assert not wrong, "\n".join(wrong)


def test_the_engine_knows_nothing_of_torch():
    for path in (ROOT / "engine").rglob("*.py"):
        assert {t for _, t in imports(path)} <= {"engine"}, path


def test_no_private_jax():
    for path in ROOT.rglob("*.py"):
        assert "jax._src" not in path.read_text(encoding="utf-8"), path
