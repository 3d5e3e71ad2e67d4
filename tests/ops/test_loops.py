"""Bodies are traced with jit switched off, in which JAX runs its loops in Python: those of operators stay loops all the same."""
import numpy as np
import pytest

from torchshim.engine import default_device, meta_of
from torchshim.ops.registry import OPS, T

CASES = {
    "linalg_matrix_exp": ("scan[", (T,), ((8, 8), "float32")),
    "gcd": ("while[", (T, T), ((40,), "int64"), ((40,), "int64")),
    "logcumsumexp": ("scan[", (T, 0), ((40,), "complex64")),
}


@pytest.mark.parametrize("name", CASES)
def test_a_loop_stays(name):
    loop, layout, *shapes = CASES[name]
    op = next(o for o in OPS.values() if o.full_name == name)
    inst = op.resolve(layout, tuple([meta_of(s, np.dtype(d), default_device()) for s, d in shapes]), "")
    assert loop in str(inst.jaxpr)
