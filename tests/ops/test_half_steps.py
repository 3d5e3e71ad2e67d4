"""Half types are computed in float32, except where torch rounds between the steps."""
import pytest

import torchshim as torch


@pytest.mark.parametrize("dtype, a, b, floor, trunc", [
    (torch.bfloat16, 636.0, -7.0, -92.0, -91.0), (torch.float16, 11648.0, 7.27734375, 1599.0, 1601.0)])
def test_rounded_quotients(dtype, a, b, floor, trunc):
    a, b = torch.tensor([a], dtype=dtype), torch.tensor([b], dtype=dtype)
    assert torch.div(a, b, rounding_mode="floor").item() == torch.floor_divide(a, b).item() == floor
    assert torch.div(a, b, rounding_mode="trunc").item() == trunc


def test_numbers_are_as_wide_as_torch_takes_them():
    assert torch.lerp(torch.zeros(1).half(), torch.full((1,), 0.1).half(), 70000).item() == 7000
    assert torch.nn.functional.hardshrink(torch.tensor([0.3, 0.31], dtype=torch.bfloat16), 0.3)[0].item() == 0


HALF, BF = torch.float16, torch.bfloat16


@pytest.mark.parametrize("call, expected", [
    (lambda x: torch.mul(torch.tensor(70000.3), x(BF)), [7.03125, 140288.0, 21102592.0]),
    (lambda x: torch.div(torch.tensor(70000.3), x(BF)), [700448768.0, 35072.0, 234.0]),
    (lambda x: torch.true_divide(torch.tensor(0.1), x(HALF)), [999.5, 0.04998779296875, 0.0003333091735839844]),
    (lambda x: torch.floor_divide(torch.tensor(1e10), x(HALF)).isnan(), [True] * 3),
    (lambda x: (10 ** 10 // x(HALF)).isnan(), [True] * 3),
    (lambda x: torch.floor_divide(x(BF), torch.tensor(0.1)), [0.0, 19.0, 2992.0]),
    (lambda x: torch.div(x(BF), torch.tensor(0.1), rounding_mode="floor"), [0.0, 19.0, 2992.0])])
def test_a_single_number_is_wide_only_as_the_second_operand(call, expected):
    assert call(lambda dtype: torch.tensor([1e-4, 2, 300.], dtype=dtype)).tolist() == expected


def test_factors_of_sums_are_short_and_whole_registers_round_once():
    """Of 40 numbers in a row the first 32 are rounded once, the rest at the product too, as is what does not lie in a row."""
    x, y = torch.arange(-20, 20).div(7).to(BF), torch.arange(40).div(11).sin().to(BF)
    digits = lambda t: t.double().mul(torch.arange(1., t.numel() + 1, dtype=torch.float64).reshape(t.shape)).sum().item()
    pairs, rows = (lambda t: torch.stack([t, t], -1)[:, 0]), (lambda t: t.reshape(1, 40).repeat(2, 1)[:, 1:])
    assert digits(torch.add(x, y, alpha=1 / 3)) == 822.848876953125 and digits(torch.sub(x, y, alpha=1 / 3)) == 582.938720703125
    assert digits(x.clone().add_(y, alpha=-.05)) == 684.373291015625
    assert digits(torch.rsub(x.half(), y.half(), alpha=.1)) == 289.5889892578125
    assert digits(torch.add(x.reshape(8, 5).mT, y.reshape(8, 5).mT, alpha=1 / 3)) == 320.0126953125
    assert digits(torch.add(pairs(x), y, alpha=1 / 3)) == 822.8515625
    assert digits(torch.add(rows(x), y[1:], alpha=1 / 3)) == 1909.973876953125
    assert digits(torch.add(x, 2.3, alpha=.1)) == 891.78662109375
    x.requires_grad_(), y.requires_grad_()
    torch.add(x, y, alpha=.1).sum().backward()
    assert x.grad[0].item() == 1 and y.grad[0].item() == 0.10009765625          # the gradient is multiplied by the factor itself
