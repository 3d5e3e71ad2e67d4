"""The drop-in with the real package behind it: the names that scripts see, and where things say they live."""

import subprocess
import sys

from torchshim.dropin.versions import TORCHSHIM_VERSION


def run(*args):
    done = subprocess.run([sys.executable, *args], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_version_names():
    run(
        "-m",
        "torchshim",
        "-c",
        """if True:
        import importlib.metadata, sys
        import torch, torchshim, torch.version
        from torch.torch_version import TorchVersion
        assert torch is torchshim and torch.__torch_compat__ == "2.13"
        assert type(torch.__version__) is TorchVersion and torch.__version__ >= (2, 13)
        assert torch.version.__version__ == torch.__version__ == importlib.metadata.version("torch")
        assert torch.version.cuda is None or isinstance(torch.version.cuda, str)
        assert not hasattr(torch, "no_such_thing")
        try:
            torch.no_such_thing
        except AttributeError as error:
            assert str(error) == "module 'torch' has no attribute 'no_such_thing'"
        """,
    )


def test_install_is_off_until_asked_for():
    run(
        "-c",
        """if True:
        import sys
        import torchshim
        assert not [n for n in sys.modules if n.partition(".")[0] == "torch"]
        torchshim.install()
        import torch.nn.functional as F
        assert F is torchshim.nn.functional and sys.modules["torch.nn"] is torchshim.nn
        torchshim.uninstall()
        assert not [n for n in sys.modules if n.partition(".")[0] == "torch"]
        """,
    )


def test_public_names_resolve():
    """Whatever says that it is torch.x.Y is found there: pickles and printed classes depend on it."""
    wrong = run(
        "-m",
        "torchshim",
        "-c",
        """if True:
        import importlib, sys, types
        import torch, torch.nn.functional, torch.optim, torch.autograd
        for name, module in sorted(sys.modules.copy().items()):
            if name.partition(".")[0] != "torchshim":
                continue
            for value in list(vars(module).values()):
                if not isinstance(value, (type, types.FunctionType)):
                    continue
                home, path = value.__module__, value.__qualname__
                if home.partition(".")[0] != "torch" or "<locals>" in path or path.startswith("_"):
                    continue
                try:
                    found = importlib.import_module(home)
                except ImportError:
                    found = None
                for part in path.split("."):
                    found = getattr(found, part, None)
                if found is not value:
                    print(f"{name}: {home}.{path}")
        """,
    )
    assert wrong == ""


def test_distribution_is_torchshim():
    """The project's own version is what the build took from the source text."""
    import importlib.metadata

    import pytest

    try:
        version = importlib.metadata.version("torchshim")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("not installed: run from the source tree")
    assert version == TORCHSHIM_VERSION


def test_functorch_stands_beside_torch():
    run("-m", "torchshim", "-c", """if True:
        import functorch, torch
        from functorch.experimental import replace_all_batch_norm_modules_
        assert functorch.__version__ == torch.__version__ and functorch.make_functional.__module__ == "functorch.stateless"
    """)


def test_every_lazy_name_is_there():
    """What a module says it imports when asked is imported when asked: `hasattr` raises nothing else."""
    run(
        "-W",
        "ignore",
        "-c",
        """if True:
        import importlib, pathlib, torchshim
        root = pathlib.Path(torchshim.__file__).parent
        checked = 0
        for file in sorted(root.rglob("*.py")):
            name = ".".join(("torchshim", *file.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
            if name.endswith("__main__") or "missing_attribute(__name__," not in file.read_text(encoding="utf-8"):
                continue
            module = importlib.import_module(name)
            asked = module.__getattr__
            if asked.__closure__ is None:           # a function of the module's own, which asks the shared one
                asked = module._missing
            held = dict(zip(asked.__code__.co_freevars, (cell.cell_contents for cell in asked.__closure__)))
            for lazy in (*held.get("lazy", ()), *held.get("elsewhere", ())):
                getattr(module, lazy)
                checked += 1
        assert checked > 500, checked
        """,
    )
