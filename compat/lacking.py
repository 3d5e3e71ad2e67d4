"""`python -m compat.lacking --torch PYTHON`: write down which public names PyTorch's modules have and torchshim's do not.

The list, `torchshim/dropin/lacking.json`, is what tells a user who meets such a name from one who mistyped: see `dropin/attributes.py`.
A name that has been built since is never looked up there.
"""
import argparse
import importlib
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

#: What the other library runs: {module: the names it has of its own}, of the modules named on stdin that it has.
THEIRS = """
import importlib, json, sys, types, warnings
warnings.simplefilter("ignore")
found = {}
def own(value):
    home = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    return not isinstance(home, str) or home.partition(".")[0] in ("torch", "functorch", "torch_C", "builtins")
for name in json.load(sys.stdin):
    try:
        module = importlib.import_module(name)
    except Exception:
        continue
    public = getattr(module, "__all__", None) if name != "torch" else None
    found[name] = sorted(n for n, value in vars(module).items() if not n.startswith("_") and own(value) and (public is None or n in public))
print(json.dumps(found))
"""


def modules():
    """The names that torchshim's public modules have in PyTorch."""
    from torchshim.dropin.names import is_private, to_torch
    for file in sorted((ROOT / "torchshim").rglob("*.py")):
        name = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if not is_private(name) and "._" not in name:
            yield to_torch(name)


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m compat.lacking", description=__doc__.split("\n")[0])
    parser.add_argument("--torch", default=os.environ.get("TORCHSHIM_REAL_TORCH"), metavar="PYTHON", help="interpreter that has real torch")
    args = parser.parse_args(argv)
    if not args.torch:
        parser.error("--torch PYTHON is needed: the names are PyTorch's")
    from torchshim.dropin.names import to_torchshim
    output = subprocess.run([args.torch, "-c", THEIRS], input=json.dumps(list(modules())), stdout=subprocess.PIPE, text=True, check=True).stdout
    lacking = {}
    for name, names in json.loads(output.splitlines()[-1]).items():
        ours = importlib.import_module(to_torchshim(name))
        missing = [n for n in names if not hasattr(ours, n)]
        if missing:
            lacking[name] = " ".join(missing)
    path = ROOT / "torchshim" / "dropin" / "lacking.json"
    path.with_suffix(".tmp").write_text(json.dumps(lacking, indent=0) + "\n", encoding="utf-8")
    os.replace(path.with_suffix(".tmp"), path)
    print(f"{sum(len(names.split()) for names in lacking.values())} names of {len(lacking)} modules: {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
