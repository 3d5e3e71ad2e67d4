"""``import torch`` gives torchshim's own module objects, lazily and removably, and nothing private."""


NAMES = """
import sys
def names():
    return sorted(n for n in sys.modules if n == "torch" or n.startswith("torch."))
"""


def test_same_modules_by_every_form_of_import(check):
    check(
        """
import sys
import torch
import torch.nn.functional as F
from torch.utils.data import Dataset
from torch import nn
import torchshim, torchshim.utils.data
assert torch is torchshim and sys.modules["torch"] is torchshim
assert nn is torchshim.nn and sys.modules["torch.nn"] is torchshim.nn
assert F is torchshim.nn.functional
assert sys.modules["torch.utils.data"] is torchshim.utils.data is torch.utils.data
assert Dataset is torchshim.utils.data.Dataset
# Each module keeps its own spec and loader, so that reload, inspect and pkgutil work on it.
assert torch.__spec__.name == "torchshim" and torch.__name__ == "torch" and nn.__name__ == "torch.nn"   # array-API libraries ask for the name
assert torch.utils.data.__spec__.name == "torchshim.utils.data"
import importlib, importlib.machinery, inspect, pkgutil
for module in (nn, torch.utils.data):
    assert isinstance(module.__loader__, importlib.machinery.SourceFileLoader)
    assert module.__spec__.loader is module.__loader__
assert importlib.import_module("torch.nn") is nn
assert importlib.reload(torch.utils.data) is sys.modules["torch.utils.data"] is torchshim.utils.data
assert "Linear" in inspect.getsource(torch.nn.modules.Linear)
assert "nn" in [m.name for m in pkgutil.iter_modules(torch.__path__)]
import torch.replaced
assert sys.modules["torch.replaced"] is sys.modules["torchshim.replaced"]
assert sys.modules["torch.replaced"].answer == 42
"""
    )


def test_lazy(check):
    """Nothing is imported for having a name, and importing by either name makes both."""
    check(
        NAMES
        + """
assert "torch.fft" not in names() and "torch.utils" not in names()
import torch
assert torch.fft.fft(1) == 1 and "torch.fft" in names()
import torchshim.utils.data
assert {"torch.utils", "torch.utils.data"} <= set(names())
assert not any(n.split(".")[1:2] in (["engine"], ["tensor"], ["dropin"]) for n in names())
"""
    )


def test_what_is_not_there(check):
    check(
        """
import sys
def missing(name):
    try:
        __import__(name)
    except ModuleNotFoundError as error:
        assert name not in sys.modules
        return str(error), error.name
for name in ("torch.nope", "torch.nn.nope", "torch.engine", "torch.tensor", "torch.dropin",
             "torch.ops", "torch.__main__", "torch.engine.x"):
    shown = ".".join(name.split(".")[:2]) if name == "torch.engine.x" else name
    assert missing(name) == (f"No module named {shown!r}", shown), missing(name)
assert missing("torch.nope.deeper") == ("No module named 'torch.nope'", "torch.nope")
assert missing("torch.version.x") == (
    "No module named 'torch.version.x'; 'torch.version' is not a package", "torch.version.x")
# A missing requirement of ours is not disguised.
assert missing("torch.broken") == ("No module named 'nosuchmodule'", "nosuchmodule")
assert missing("torch.broken") and "torchshim.broken" not in sys.modules
try:
    from torch import nope
except ImportError as error:
    assert "cannot import name 'nope'" in str(error)
"""
    )


def test_a_name_that_pytorch_has_and_torchshim_lacks(check):
    """Whoever calls it reads that it is missing here; whoever probes for it goes on as with an older PyTorch."""
    check(
        """
import torch
assert not hasattr(torch, "cudnn_convolution") and getattr(torch, "cudnn_convolution", 3) == 3
try:
    torch.cudnn_convolution
except NotImplementedError as error:
    assert isinstance(error, AttributeError) and error.name == "cudnn_convolution"
    assert str(error) == "module 'torch' has no attribute 'cudnn_convolution': torchshim 0.1.0 lacks it"
try:
    from torch import cudnn_convolution
except ImportError as error:
    assert "cannot import name 'cudnn_convolution'" in str(error)
"""
    )


def test_missing_attribute(check):
    check(
        """
import copy, inspect, pickle, torch
def message(module, name):
    try:
        getattr(module, name)
    except AttributeError as error:
        assert error.name == name and error.obj is module
        return str(error)
assert message(torch, "foo") == "module 'torch' has no attribute 'foo'"
assert message(torch.nn, "Foo") == "module 'torch.nn' has no attribute 'Foo'"
assert message(torch, "__foo__") == "module 'torch' has no attribute '__foo__'"
assert not hasattr(torch, "foo") and getattr(torch, "foo", 3) == 3
assert inspect.unwrap(torch) is torch and inspect.getmodule(torch.Tensor) is torch
assert inspect.getdoc(torch) is None and inspect.getmembers(torch.nn)
for bad in (lambda: copy.deepcopy(torch), lambda: pickle.dumps(torch)):
    try:
        bad()
    except TypeError as error:
        assert "cannot pickle 'module' object" in str(error)
"""
    )


def test_find_spec_and_metadata(check):
    check(
        """
import importlib.metadata as metadata, importlib.util, os, sys
find = importlib.util.find_spec
import torchshim
for name in ("torch", "torch.nn", "torch.fft", "torch.utils.data"):
    spec = find(name)
    assert spec.loader is not None and os.path.exists(spec.origin), name
    assert (spec.submodule_search_locations is not None) == (name != "torch.fft"), name
assert "torch.fft" not in sys.modules and find("torch.fft").name == "torch.fft"
assert find("torch.fft").loader.get_source("torch.fft").startswith("def fft")
assert find("torch.nope") is None and find("torch.nn.nope") is None
assert metadata.version("torch") == "2.13.0" == str(torchshim.__version__)
found = metadata.distribution("torch")
assert found.metadata["Name"] == found.name == "torch" and found.version == "2.13.0"
assert found.requires is None and found.files is None and len(found.entry_points) == 0
assert metadata.version("Torch") == "2.13.0"
assert metadata.packages_distributions()["torch"] == ["torch"]
assert [d.name for d in metadata.distributions() if d.name == "torch"] == ["torch"]
assert not [d for d in metadata.distributions(path=["/nonexistent"])]
metadata.entry_points()
try:
    metadata.version("torchvision-nope")
except metadata.PackageNotFoundError:
    pass
else:
    raise AssertionError
"""
    )


def test_classes_say_torch_while_installed(check):
    lines = check(
        NAMES
        + """
import pickle
import torchshim
from torchshim.utils import data
pairs = [torchshim.Tensor, torchshim.nn.Linear, data.Dataset, torchshim.relu,
         torchshim.nn.functional.softmax, torchshim.__version__.__class__]
print([p.__module__ for p in pairs])
for thing in pairs + [torchshim.__version__]:
    assert pickle.loads(pickle.dumps(thing)) == thing
assert b"torchshim" not in pickle.dumps(pairs)
from torchshim.tensor.core import Hidden
print(Hidden.__module__)
stored = pickle.dumps(pairs)
torchshim.uninstall()
print([p.__module__ for p in pairs])
assert pickle.loads(pickle.dumps(pairs)) == pairs
torchshim.install()
assert pickle.loads(stored) == pairs
"""
    )
    assert lines == [
        "['torch', 'torch.nn.modules', 'torch.utils.data', 'torch', 'torch.nn.functional', "
        "'torch.torch_version']",
        "torchshim.tensor.core",
        "['torchshim', 'torchshim.nn.modules', 'torchshim.utils.data', 'torchshim', "
        "'torchshim.nn.functional', 'torchshim.torch_version']",
    ]


def test_uninstall_removes_what_install_added(check):
    check(
        NAMES
        + """
import importlib.metadata, importlib.util
import multiprocessing.spawn
original = multiprocessing.spawn.get_preparation_data
import torchshim
before = dict(sys.modules), list(sys.meta_path)
torchshim.uninstall()  # not installed: nothing to do
for _ in range(2):
    torchshim.install()
    torchshim.install()
    assert len(sys.meta_path) == len(before[1]) + 1
    import torch.utils.data, torch.fft
    assert torch is torchshim and len(names()) > 4
    assert multiprocessing.spawn.get_preparation_data is not original
    torchshim.uninstall()
    torchshim.uninstall()
    assert names() == [] and sys.meta_path == before[1]
    assert multiprocessing.spawn.get_preparation_data is original
    assert importlib.util.find_spec("torch") is None
    try:
        importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        pass
    else:
        raise AssertionError
    try:
        import torch.nn
    except ModuleNotFoundError as error:
        assert error.name == "torch"
    else:
        raise AssertionError
assert {n: m for n, m in sys.modules.items() if n in before[0]} == before[0]
""",
        shim=False,
    )


def test_another_torch(check, tmp_path):
    """An installed PyTorch is passed over; one already imported is an error, or replaced on demand."""
    (tmp_path / "torch" / "extra").mkdir(parents=True)
    (tmp_path / "torch" / "__init__.py").write_text("import torch.only_there\n")
    (tmp_path / "torch" / "only_there.py").write_text("")
    (tmp_path / "torch" / "extra" / "__init__.py").write_text("")
    check(
        NAMES
        + """
import torchshim
torchshim.install()
import torch
assert torch is torchshim
for name in ("torch.only_there", "torch.extra"):
    try:
        __import__(name)
    except ModuleNotFoundError as error:
        assert error.name == name
    else:
        raise AssertionError
torchshim.uninstall()

import torch
assert torch is not torchshim and torch.only_there
try:
    torchshim.install()
except RuntimeError as error:
    assert "another torch is already imported" in str(error) and torch.__file__ in str(error)
else:
    raise AssertionError
assert sys.modules["torch"] is torch and "torch.only_there" in names()
assert torchshim.dropin.is_installed() is False

other = dict((n, sys.modules[n]) for n in names())
torchshim.install(force=True)
import torch
assert torch is torchshim and "torch.only_there" not in names()
torchshim.uninstall()
assert {n: sys.modules[n] for n in names()} == other
""",
        shim=False,
    )


def test_programs_own_stubs_stay(check):
    """A module that the program itself puts under torch.* is neither replaced nor removed."""
    check(
        """
import sys, types
stub = sys.modules["torch.fft"] = types.ModuleType("torch.fft")
import torchshim.fft
assert sys.modules["torch.fft"] is stub
torchshim.uninstall()
assert sys.modules["torch.fft"] is stub
"""
    )


def test_module_run_by_its_torch_name(processes, tmp_path):
    done = processes.shim("-m", "torch.utils.tool", "x", cwd=tmp_path)
    assert (done.returncode, done.stdout.split()) == (0, [b"tool", b"__main__", b"['x']"])
    done = processes.shim("-m", "torch.nope", cwd=tmp_path)
    assert done.returncode == 1 and b"No module named torch.nope" in done.stderr


def test_threads_import_together(check):
    check(
        """
import sys, threading
seen, start = [], threading.Barrier(8)
def work(i):
    start.wait()
    if i % 2:
        import torch.utils.data as data
    else:
        import torchshim.utils.data as data
    seen.append(data)
threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
for t in threads: t.start()
for t in threads: t.join()
assert len(seen) == 8 and len({id(m) for m in seen}) == 1, [(m, id(m), m.__spec__) for m in seen]
"""
    )


def test_alias_that_appears_while_it_is_looked_for(check):
    """One thread looks for torch.x while another begins to execute torchshim.x: still one module, executed once."""
    check(
        """
import importlib, importlib.util, sys, threading
finder = next(f for f in sys.meta_path if type(f).__name__ == "TorchFinder")
name = "torchshim.utils.data"
started, looking, there = threading.Event(), threading.Event(), threading.Event()
executed, alias, find = [], finder._on_start, importlib.util.find_spec
def on_start(n, module):
    if n == name:
        executed.append(module)
        started.set()
        looking.wait(10)
    alias(n, module)
    if n == name:
        there.set()
def find_spec(n, package=None):
    if n == name:
        looking.set()
        there.wait(10)
    return find(n, package)
finder._on_start, importlib.util.find_spec = on_start, find_spec
other = threading.Thread(target=importlib.import_module, args=(name,))
other.start()
started.wait(10)
import torch.utils.data as data
other.join()
assert executed == [data] and sys.modules[name] is sys.modules["torch.utils.data"] is data, executed
assert data.__spec__.name == name and not data.__spec__._initializing
"""
    )
