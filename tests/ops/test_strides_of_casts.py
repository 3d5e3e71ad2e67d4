"""Operands that are cast lie as their copies do when torch decides how the result lies. Expectations are PyTorch 2.13's."""
import pytest

import torchshim as torch


@pytest.mark.parametrize("f, a, b, strides", [
    (torch.atan2, torch.ones(3, 4).to(torch.uint8)[:1].expand(3, 4), torch.ones(4, 3).t(), (4, 1)),
    (torch.eq, torch.ones(1, 4).bool().expand(3, 4), torch.ones(4, 3).t(), (4, 1)),
    (torch.xlogy, torch.ones(2, 1).expand(2, 4), torch.ones(4, 2).double().t(), (4, 1)),
    (torch.maximum, torch.ones(1, 4).double().expand(3, 4), torch.ones(4, 3).long().t(), (1, 3)),
    (torch.mul, torch.ones(1, 4).double().expand(3, 4), torch.ones(4, 3).double().t(), (1, 3))])
def test_a_stretched_operand(f, a, b, strides):
    assert f(a, b).stride() == strides
