"""torch._dynamo.testing: backends that count, and comparisons."""
from __future__ import annotations

from ..dropin import missing_attribute as _missing_attribute
from .backends.registry import lookup_backend
from .graphs import reset  # noqa: F401  (torch has it here too)

__getattr__ = _missing_attribute(__name__)


def _calls(gm):
    return sum(["call" in n.op for n in gm.graph.nodes])


class CompileCounter:
    """A backend that counts the graphs that it gets (`frame_count`) and the calls in them (`op_count`)."""

    def __init__(self):
        self.clear()

    def __call__(self, gm, example_inputs):
        self.frame_count += 1
        self.op_count += _calls(gm)
        return gm.forward

    def clear(self):
        """Count from 0 again."""
        self.frame_count = self.op_count = 0


class CompileCounterWithBackend:
    """The same in front of another backend; `graphs` keeps the graphs."""

    def __init__(self, backend):
        self.backend = backend
        self.clear()

    def __call__(self, gm, example_inputs):
        self.frame_count += 1
        self.op_count += _calls(gm)
        self.graphs.append(gm)
        return lookup_backend(self.backend)(gm, example_inputs)

    def clear(self):
        """Count from 0 again, and forget the graphs."""
        self.frame_count, self.op_count, self.graphs = 0, 0, []


class EagerAndRecordGraphs:
    """A backend that keeps the graphs, and runs them as they are."""

    def __init__(self):
        self.graphs = []

    def __call__(self, gm, example_inputs):
        self.graphs.append(gm)
        return gm.forward


def rand_strided(size, stride, dtype=None, device="cpu", extra_size=0):
    """Random numbers with given strides."""
    from .. import float32, rand, randint
    dtype = dtype or float32
    count = sum([(n - 1) * s for n, s in zip(size, stride)]) + 1 + extra_size
    made = rand(count, dtype=dtype, device=device) if dtype.is_floating_point else randint(0, 1, (count,), dtype=dtype, device=device)
    return made.as_strided(size, stride)
