"""Protects indices of integers, slices, new dimensions and an ellipsis, which are looked up: they mean what the general reading says."""
import pytest

import torchshim as torch
from torchshim.tensor.api import indexing

KEYS = [None, ..., (None,), (...,), (None, 0), (slice(None), None), (..., None), (..., None, slice(1, 3)), (..., slice(None, None, 2)),
        (0, ..., 1), slice(None, None, 2), slice(1, None, 3), (slice(None, None, 2), None, 1), (None, ..., None), (1, 2, 3, ...),
        (..., 1, 2, 3), (slice(3, 1, 2), ...), (slice(None, None, 1), ...), (slice(0, None), None), (slice(-3, -1), ..., -1),
        (None, None, slice(1, 2), 2), (slice(1, 3), 2), (..., slice(1, 3), 2), (..., slice(1, 3)), slice(1, 3), (slice(None, 2, 2), 1),
        (None, slice(None, 2), 2, 1)]


def seen(x, key):
    y = x[key]
    z = x.detach().clone()
    z[key] = 7.0
    return y.tolist(), y.shape, y.stride(), y.storage_offset(), y.grad_fn and y.grad_fn.name(), y._base is None, z.tolist()


@pytest.mark.parametrize("base", (lambda x: x, lambda x: x.transpose(0, 2), lambda x: x[:, 1:]))
def test_looked_up_indices_mean_what_the_general_reading_says(base, monkeypatch):
    x = base(torch.arange(120.0).reshape(4, 5, 6).requires_grad_())
    found = [seen(x, key) for key in KEYS]
    assert found == [seen(x, key) for key in KEYS]
    monkeypatch.setattr(indexing, "basic_index", lambda m, key: None)
    assert found == [seen(x, key) for key in KEYS]


@pytest.mark.parametrize("key",
    ((0, 0, 0, 0), (..., 9), (None, 4), (..., 0, 0, 0, 0), slice(None, None, -1), (..., slice(None, None, 0)), (None, 0, 0, 0, 0)))
def test_what_is_out_of_range_is_refused(key):
    with pytest.raises((IndexError, ValueError)):
        torch.zeros(4, 5, 6)[key]
