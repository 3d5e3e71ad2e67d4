"""gradcheck's fast mode looks along torch's random direction, once, and says what torch says."""
import pytest

import torchshim as torch
from torchshim.autograd import Function, gradcheck, gradgradcheck
from torchshim.autograd.gradcheck import GradcheckError

DOUBLE = dict(dtype=torch.float64, requires_grad=True)
NUMERICAL = -1.3831705659450937               # torch's


class _Wrong(Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * a

    @staticmethod
    def backward(ctx, g):
        return 3 * g * ctx.saved_tensors[0]

    @staticmethod
    def jvp(ctx, t):
        return t * 7


def test_right_gradients_pass_in_all_modes():
    x, w = torch.arange(12., **DOUBLE).reshape(3, 4).detach().requires_grad_(), torch.linspace(-1, 1, 8, **DOUBLE)
    f = lambda a, b: ((a @ b.reshape(4, 2)).sin(), a.exp())
    assert gradcheck(f, (x, w), fast_mode=True, check_forward_ad=True)
    assert gradgradcheck(lambda a: (a * a).sin(), (w,), fast_mode=True, check_fwd_over_rev=True)
    z = torch.tensor([1 + 2j, -.5j, 3], dtype=torch.complex128, requires_grad=True)
    assert gradcheck(lambda a: (a * a.conj() * 1j).exp(), (z,), fast_mode=True, check_forward_ad=True)
    assert gradcheck(lambda a: a * 2, (torch.zeros(0, **DOUBLE),), fast_mode=True, check_forward_ad=True)


def test_it_costs_a_few_calls():
    calls = []
    f = lambda a: calls.append(1) or a.sin()
    assert gradcheck(f, (torch.ones(20, 20, **DOUBLE),), fast_mode=True, check_forward_ad=True)
    assert len(calls) < 20


def test_mismatches_are_told_with_torchs_numbers():
    x = torch.tensor([0.5, -1.5, 2.0], **DOUBLE)
    with pytest.raises(GradcheckError) as told:
        gradcheck(_Wrong.apply, (x,), fast_mode=True)
    first, _, rest = str(told.value).partition("\nanalytical:")
    numerical, analytical = float(first.split("numerical:")[1]), float(rest.split("\n")[0])
    assert first.startswith("Jacobian mismatch for output 0 with respect to input 0,\n")
    assert abs(numerical - NUMERICAL) < 1e-8 and abs(analytical - 1.5 * NUMERICAL) < 1e-8
    assert "Below, we recompute numerical and analytical jacobians in slow mode:\n\nNumerical:\n tensor([[ 1.0000,  0.0000" in rest
    assert "The max per-element difference (slow mode) is: " in rest and "might've passed" not in rest
    with pytest.raises(GradcheckError, match="Jacobian computed with forward mode mismatch for output 0"):
        gradcheck(_Wrong.apply, (x,), fast_mode=True, check_forward_ad=True, check_backward_ad=False)
    assert not gradcheck(_Wrong.apply, (x,), fast_mode=True, raise_exception=False)


def test_the_users_random_numbers_are_left_alone():
    torch.manual_seed(0)
    expected = torch.rand(2)
    torch.manual_seed(0)
    gradcheck(lambda a: a.sin(), (torch.ones(3, **DOUBLE),), fast_mode=True, check_forward_ad=True)
    gradcheck(lambda a: a.sin(), (torch.ones(3, **DOUBLE),), check_forward_ad=True)
    assert torch.equal(torch.rand(2), expected)
