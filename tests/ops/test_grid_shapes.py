"""Grids sampled at ever new shapes are traced once, whichever of the sizes happen to be equal."""
import pytest

import torchshim as torch
from torchshim import nn
from torchshim.engine import counters

SHAPES = [(2, 3, 4, 5, 6), (3, 3, 3, 3, 3), (2, 4, 4, 2, 3), (4, 2, 3, 3, 2), (5, 2, 2, 5, 5)]


def _traced(shape, mode, padding):
    """How often something was traced for sampling at the places of the pixels, and back."""
    before = counters["traces"]
    x = torch.arange(float(torch.Size(shape).numel())).reshape(shape).requires_grad_()
    grid = nn.functional.affine_grid(torch.eye(3, 4).expand(shape[0], 3, 4), list(shape), align_corners=False).requires_grad_()
    made = nn.functional.grid_sample(x, grid, mode, padding, align_corners=False)
    made.sum().backward()
    torch.testing.assert_close(made, x, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(x.grad, torch.ones(shape), rtol=1e-4, atol=1e-4)
    assert grid.grad.shape == grid.shape
    return counters["traces"] - before


@pytest.mark.parametrize("padding", ["border", "reflection"])
def test_sizes_that_are_equal_by_chance_are_not_traced_anew(padding):
    for shape in SHAPES:                       # what is around it
        _traced(shape, "nearest", padding)
    traces = [_traced(shape, "bilinear", padding) for shape in SHAPES]
    assert traces[0] and not any(traces[2:]), traces
