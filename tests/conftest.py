"""What the tests share."""
import pytest

from torchshim.engine.compile import cost


@pytest.fixture
def free_compiles(monkeypatch):
    """Compiling costs nothing, so that a trace is compiled when it is met for the second time."""
    monkeypatch.setattr(cost, "repetitions", lambda saved, price: 2)
