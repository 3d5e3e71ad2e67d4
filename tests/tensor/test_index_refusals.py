"""What is no index, in torch's words, and in which order it is told."""
import numpy as np
import pytest

import torchshim as torch

WORDS = "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got "


@pytest.mark.parametrize("index, name", [(np.float64(1), "numpy.float64"), (np.bool_(True), "numpy.bool"), (1.0, "float")])
def test_a_number_of_numpys_is_named_with_its_module(index, name):
    x = torch.zeros(2, 3)
    for use in (lambda: x[index], lambda: x.__setitem__(index, 1.0)):
        with pytest.raises(IndexError) as e:
            use()
        assert str(e.value) == WORDS + name + ")"


@pytest.mark.parametrize("index", [5, False, 1.0, "a", slice(None, None, -1), (0, 0, 0, 0)])
def test_a_complex_number_that_does_not_fit_is_told_first(index):
    with pytest.raises(RuntimeError, match="value cannot be converted to type float without overflow"):
        torch.zeros(2, 3)[index] = 1 + 2j
