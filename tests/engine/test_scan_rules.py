"""Gradients of scans in NumPy get arrays of JAX where a program made them: in-place sums with these are no longer NumPy's."""
import jax.numpy as jnp
import numpy as np
import pytest

from torchshim.engine.interpret import scan_rules


@pytest.mark.parametrize("make, wanted", [(scan_rules.logsumexp_back, [3, 2, 1]), (scan_rules.product_back, [3, 2, 1])])
@pytest.mark.parametrize("at", range(3))
def test_arrays_of_a_program(make, wanted, at):
    args = [np.ones(3, np.float32) for _ in range(3)]
    args[at] = jnp.ones(3, jnp.float32)
    made, = make((3,), 0, np.dtype("float32"), None)(*args)
    assert isinstance(made, np.ndarray) and np.allclose(made, wanted)
