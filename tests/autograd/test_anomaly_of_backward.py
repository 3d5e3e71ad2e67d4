"""Anomaly mode tells of backward passes through what backward passes made."""
import warnings

import pytest

import torchshim as torch


class Outer(torch.autograd.Function):
    """Its backward makes a node of its own."""

    @staticmethod
    def forward(ctx, x):
        return x.sum(0, keepdim=True)

    @staticmethod
    def backward(ctx, g):
        return Inner.apply(g.expand(3))


class Inner(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * float("nan")


@pytest.mark.parametrize("forward_too", [True, False])
def test_what_induced_a_calculation_is_told(forward_too):
    """Where a node was made in the backward of another one, a second warning tells where that was made."""
    x = torch.ones(3, requires_grad=True)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with torch.autograd.set_detect_anomaly(forward_too):
            g, = torch.autograd.grad(Outer.apply(x), x, torch.ones(1, requires_grad=True), create_graph=True)
            with torch.autograd.detect_anomaly(), pytest.raises(RuntimeError, match="Function 'InnerBackward' returned nan values in its 0th"):
                g.sum().backward()
    texts = [str(w.message) for w in told if "Anomaly Detection has been" not in str(w.message)]
    if forward_too:
        assert len(texts) == 2 and "Inner.apply" in texts[0]
        assert texts[1].startswith("\n\nPrevious calculation was induced by OuterBackward. Traceback of forward call that induced the prev")
        assert "Outer.apply(x)" in texts[1]
    else:
        assert len(texts) == 1 and "No forward pass information available" in texts[0]


def test_a_warning_that_is_an_error_does_not_hide_the_error(capsys):
    """It is printed, and the error goes on."""
    with warnings.catch_warnings(), torch.autograd.set_detect_anomaly(True):
        warnings.simplefilter("error")
        x = torch.ones(2, requires_grad=True) + 1
        y = x ** 2
        x += 1
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()
    assert "UserWarning: Error detected in PowBackward0." in capsys.readouterr().err
