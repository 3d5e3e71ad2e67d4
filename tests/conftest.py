"""What the tests share."""
import jax
import pytest

jax.config.update("jax_num_cpu_devices", 3)    # two of them stand in for GPUs, see second_device.py

from torchshim.engine.compile import cost  # noqa: E402
from torchshim.tensor.core import settings  # noqa: E402

from . import second_device  # noqa: E402


@pytest.fixture
def free_compiles(monkeypatch):
    """Compiling costs nothing, so that a trace is compiled when it is met for the second time."""
    monkeypatch.setattr(cost, "repetitions", lambda saved, price: 2)


@pytest.fixture
def cuda(monkeypatch):
    """"cuda" is a device other than the CPU: a GPU, or the host's second device in its place."""
    second_device.imitate(monkeypatch.setattr)
    return "cuda"


@pytest.fixture(autouse=True)
def begins_recording():
    """What a test computes at once, and what it records, does not depend on the tests before it."""
    from torchshim.engine import context
    context.record_all()


@pytest.fixture(autouse=True)
def warns_anew():
    """What warns once in a process warns once in each test, whichever test of the process came first."""
    settings._said.clear()
