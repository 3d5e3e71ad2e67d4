"""Protects the layering: a module imports only from its own layer or from lower ones, wherever the import stands."""
import ast
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent / "torchshim"
#: Lower first. Everything that is not named is above them all.
LAYERS = {"engine": 0, "ops": 1, "tensor": 2, "interop": 2, "autograd": 3, "random": 3}
TOP = 4
#: Methods of Tensor that start what lies above it; they import it when they are called.
UPWARDS = {("tensor/core/tensor.py", "autograd"), ("tensor/core/tensor.py", "_tensor"), ("tensor/core/tensor.py", "overrides"),
           ("tensor/api/overloads.py", "overrides"), ("autograd/batched.py", "func")}


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


#: Within a layer, lower first: a file imports nothing of a later group when it is itself imported.
WITHIN = [("engine/record", "engine/compile", "engine/execute"), ("engine/record", "engine/interpret", "engine/execute"),
          ("tensor/core", "tensor/api"), ("nn/functional", "nn/modules")]


def modules():
    """{module: file} of the package, modules as paths without a suffix."""
    found = {}
    for path in ROOT.rglob("*.py"):
        name = path.relative_to(ROOT).with_suffix("").as_posix()
        found[name.removesuffix("/__init__")] = path
    return found


def imported_at_once(name, path, known):
    """The modules of ours that importing this one imports, but for the packages it lies in."""
    package = tuple(name.split("/"))
    package = package if path.name == "__init__.py" else package[:-1]
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[:len(package) - (node.level - 1)] + tuple(node.module.split(".") if node.module else ())
            for alias in node.names:
                target = "/".join([*base, alias.name])
                target = target if target in known else "/".join(base)
                if target and not (name + "/").startswith(target + "/"):
                    yield target


def test_groups_within_a_layer_point_downwards():
    known, wrong = modules(), []
    for groups in WITHIN:
        for k, low in enumerate(groups):
            for name, path in known.items():
                if (name + "/").startswith(low + "/"):
                    wrong += [f"{name} imports {t}" for t in imported_at_once(name, path, known)
                              if any((t + "/").startswith(high + "/") for high in groups[k + 1:])]
    assert not wrong, wrong


def test_no_circles_between_files():
    known = modules()
    needs = {name: set(imported_at_once(name, path, known)) for name, path in known.items()}
    while True:                                # what needs nothing that is left can be imported; a circle stays
        free = {name for name, targets in needs.items() if not targets & needs.keys()}
        if not free:
            break
        for name in free:
            del needs[name]
    assert not needs, needs


def test_no_private_jax():
    for path in ROOT.rglob("*.py"):
        assert "jax._src" not in path.read_text(encoding="utf-8"), path
