"""Processes for the drop-in's tests, quick ones: a package torchshim whose body does not load JAX."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

# The drop-in is the project's own; what it aliases is made up here.
_PACKAGE = {
    "__init__.py": """
__path__.append({real!r})
from torchshim.dropin import (
    TORCH_COMPAT as __torch_compat__, TORCH_VERSION as __version__, install, missing_attribute,
    uninstall,
)
from torchshim.tensor.core import Tensor, relu, tensor
from torchshim import nn, version
__getattr__ = missing_attribute(__name__, lazy=("fft",))
""",
    "engine/__init__.py": "",
    "tensor/__init__.py": "",
    "tensor/core.py": """
import torchshim.engine
class Tensor:
    __module__ = "torchshim"
class Hidden: pass
def relu(x): return x
def tensor(x): return x
relu.__module__ = tensor.__module__ = "torchshim"
""",
    "nn/__init__.py": """
from torchshim.dropin import missing_attribute
from torchshim.nn import functional
from torchshim.nn.modules import Linear
__getattr__ = missing_attribute(__name__)
""",
    "nn/functional.py": "def softmax(x): return x\n",
    "nn/modules.py": "class Linear: pass\n",
    "fft.py": "def fft(x): return x\n",
    "version.py": "__version__ = '2.13.0'\n",
    "torch_version.py": "from torchshim.dropin import TorchVersion\n",
    "utils/__init__.py": "",
    "utils/data/__init__.py": "class Dataset: pass\n",
    "utils/tool.py": "import sys\nprint('tool', __name__, sys.argv[1:])\n",
    "broken.py": "import nosuchmodule\n",
    "replaced.py": """
import sys, types
sys.modules[__name__] = types.SimpleNamespace(answer=42)
""",
}


class Processes:
    """Runs ``python`` with the quick package in reach; ``shim`` puts ``-m torchshim`` before."""

    def __init__(self, root: Path):
        self.root = root
        self.env = {
            **os.environ,
            "PYTHONPATH": str(root),
            "PYTHONDONTWRITEBYTECODE": "1",
            "COLUMNS": "100",
        }
        self.env.pop("PYTHONSAFEPATH", None)

    def python(self, *args, cwd, stdin=b"", prefix=()):
        if isinstance(stdin, str):
            stdin = stdin.encode()
        return subprocess.run(
            [sys.executable, *prefix, *map(str, args)],
            cwd=cwd,
            env=self.env,
            input=stdin,
            capture_output=True,
            timeout=120,
        )

    def shim(self, *args, **options):
        return self.python(*args, prefix=(*options.pop("prefix", ()), "-m", "torchshim"), **options)


@pytest.fixture(scope="session")
def processes(tmp_path_factory):
    root = tmp_path_factory.mktemp("light")
    found = importlib.util.find_spec("torchshim").submodule_search_locations
    real = str(Path(found[0]).resolve())
    for name, text in _PACKAGE.items():
        file = root / "torchshim" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.replace("{real!r}", repr(real)))
    return Processes(root)


@pytest.fixture
def check(processes, tmp_path):
    """Run a program text under the runner; its assertions are the test. Gives its output lines."""

    def check(text, *, shim=True):
        (tmp_path / "program.py").write_text(text)
        run = processes.shim if shim else processes.python
        done = run("program.py", cwd=tmp_path)
        assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()
        return done.stdout.decode().splitlines()

    return check
