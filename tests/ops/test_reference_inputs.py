"""What PyTorch's own reference inputs and error inputs for its operators found, as torch 2.13 answers."""
import math

import pytest

import torchshim as torch
from torchshim.nn import functional as F

t = torch.arange(3)


@pytest.mark.parametrize("call, error, text", [
    (lambda: torch.special.zeta(2, 3), TypeError, r"special_zeta\(\) received an invalid combination of arguments - got \(int, int\)"),
    (lambda: torch.rsub(2, 3), TypeError, r"rsub\(\) received an invalid combination of arguments - got \(int, int\), but expected one "
                                          r"of:\n "
                                          r"\* \(Tensor input, Tensor other, \*, Number alpha = 1\)\n"),
    (lambda: torch.float_power(2, 3), TypeError, r"float_power\(\) received an invalid combination of arguments"),
    (lambda: torch.narrow_copy(torch.tensor(1.0), 0, 0, 1), RuntimeError, r"narrow\(\) cannot be applied to a 0-dim tensor."),
    (lambda: torch.narrow_copy(torch.ones(10), 0, 0, -1), RuntimeError, r"start \(0\) \+ length \(-1\) exceeds dimension size \(10\)."),
    (lambda: torch.hsplit(torch.ones(5, 5), 0), RuntimeError, "the size of the dimension 5 is not divisible by the split_size 0!"),
    (lambda: torch.masked_fill(t, t > 1, torch.tensor(1j) + 1), RuntimeError, "value cannot be converted to type int64_t without overflow"),
    (lambda: torch.Tensor.__radd__(2, t), TypeError, "descriptor '__radd__' for 'torch._C.TensorBase' objects doesn't apply to a 'int' "
                                                     "object"),
    (lambda: torch.linspace(torch.ones(2), torch.tensor(1), 2), RuntimeError,
     r"got start with 1 dimension\(s\) and end with 0 dimension\(s\)."),
    (lambda: F.multi_margin_loss(torch.ones(5, 4), torch.ones(5)), RuntimeError, "expected scalar type Long but found Float"),
    (lambda: F.adaptive_avg_pool1d(torch.ones(1, 2, 3), []), RuntimeError, r"argument 'output_size' should contain one int \(got 0\)"),
    (lambda: F.adaptive_max_pool1d(torch.ones(1, 1, 1), -1), RuntimeError, r"negative dimension -1: \[1, 1, 1, -1\]"),
    (lambda: F.max_pool1d(torch.ones(1, 1, 49), 2, padding=4, return_indices=True), RuntimeError,
     "pad should be at most half of effective kernel size, but got pad=4, kernel_size=2 and dilation=1"),
    (lambda: F.conv2d(torch.ones(1, 1, 4, 3), torch.ones(1, 2, 2), padding="same"), RuntimeError,
     r"Expected 3-dimensional input for 3-dimensional weight\[1, 2, 2\], but got 4-dimensional input of size \[1, 1, 4, 3\] instead"),
    (lambda: torch.as_strided_scatter(torch.ones(4, 4), torch.ones(2, 2), (2, 2), (200, 200)), RuntimeError,
     "requiring a storage size of 1604 are out of bounds for storage of size 64"),
    (lambda: torch.multinomial(torch.ones(2 ** 24 + 1), 3), RuntimeError, r"number of categories cannot exceed 2\^24"),
    (lambda: torch.ldexp(torch.ones(3), t > 0), NotImplementedError, "not implemented for 'Bool'"),
])
def test_error_inputs(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_logspace_counts_in_the_results_dtype():
    assert torch.logspace(0.5, 2.5, 6, dtype=torch.int64).tolist() == [1, 2, 6, 15, 39, 100]
    assert torch.logspace(-2, 2, 5, dtype=torch.uint8).tolist() == [0, 0, 0, 0, 100]
    assert torch.logspace(1, 1.2, 4, dtype=torch.bfloat16).tolist() == [10.0, 11.6875, 13.6875, 15.9375]


def test_logaddexp_of_complex_numbers_at_infinity():
    inf, nan = math.inf, math.nan
    x = torch.tensor([complex(inf, 0), complex(-inf, 1), complex(0, nan), complex(inf, 0)])
    y = torch.tensor([complex(inf, -1), complex(-inf, 2), complex(inf, 0), complex(inf, inf)])
    got = torch.logaddexp(x, y).tolist()
    assert got[0].real == inf and abs(got[0].imag + math.pi / 4) < 1e-6 and got[1] == complex(-inf, 2)
    assert math.isnan(got[2].real) and math.isnan(got[2].imag) and got[3].real == inf and math.isnan(got[3].imag)
    assert torch.ldexp(t > 0, t > 1).tolist() == [0.0, 1.0, 2.0]


def test_incomplete_gamma_functions_far_below_a_huge_parameter():
    a, x = torch.tensor([1e20, 1e20, 1e12]), torch.tensor([501.0, 0.0, 1e30])
    assert torch.igamma(a, x).tolist() == [0.0, 0.0, 1.0] and torch.igammac(a, x).tolist() == [1.0, 1.0, 0.0]


def test_complex_powers_of_two_at_infinity_and_angles_in_order():
    inf = math.inf
    z = torch.tensor([complex(inf, 0), complex(inf, -1), complex(-inf, inf)])
    assert torch.exp2(z).tolist() == [complex(inf, 0), complex(inf, -inf), 0]
    x = torch.zeros(2, 5, 5, dtype=torch.complex64).permute(1, 2, 0)
    assert x.angle().stride() == (10, 2, 1) and torch.zeros(2, 5, 5).permute(1, 2, 0).angle().stride() == (5, 1, 25)


def test_coordinates_are_int64():
    rows, columns = torch.unravel_index(torch.tensor([1, 3], dtype=torch.uint8), (2, 2))
    assert rows.dtype is torch.int64 and rows.tolist() == [0, 1] and columns.tolist() == [1, 1]
    assert torch.unravel_index(torch.tensor([], dtype=torch.int32), (0, 2))[0].shape == (0,)


def test_zeta_has_its_poles_for_nan_too():
    nan, inf = math.nan, math.inf
    got = torch.special.zeta(torch.tensor([nan, 1.0, nan, 2.0, 0.5, nan]), torch.tensor([0.0, nan, 1.0, nan, nan, -inf])).tolist()
    assert got[0] == got[1] == got[5] == inf and all(math.isnan(x) for x in got[2:5])


@pytest.mark.parametrize("call, error, text", [
    (lambda c: c.scatter_reduce(0, torch.zeros(3, dtype=torch.int64), c, "sum"), RuntimeError, "scatter_reduce does not support automatic "
     "differentiation for outputs with complex dtype."),
    (lambda c: c.slice_scatter(c[:1], 0, 0, 1), RuntimeError, "slice_scatter does not support automatic differentiation"),
    (lambda c: F.soft_margin_loss(torch.ones(2, 1), torch.ones(2, 2)), RuntimeError,
     r"output with shape \[2, 1\] doesn't match the broadcast shape \[2, 2\]"),
    (lambda c: t.round(decimals=0), NotImplementedError, "\"round_vml_cpu\" not implemented for 'Long'"),
    (lambda c: torch.histc(c.detach(), 4, 0, 1), NotImplementedError, "\"histogram_cpu\" not implemented for 'ComplexFloat'"),
    (lambda c: F.avg_pool2d(torch.ones(1, 1, 4, 4), 2, None, 5), RuntimeError, "pad should be at most half of effective kernel size"),
])
def test_refusals_of_rare_arguments(call, error, text):
    with pytest.raises(error, match=text):
        call(torch.ones(3, dtype=torch.complex64, requires_grad=True))


@pytest.mark.parametrize("p", [0.5, 1, 2, 3, -2, math.inf])
def test_the_norm_of_one_number_is_its_absolute_value(p):
    """Its power may be infinite."""
    assert torch.linalg.vector_norm(torch.tensor([[-1e30], [2.5]]), p, 1).tolist() == [1.0000000150474662e+30, 2.5]
    assert torch.linalg.vector_norm(torch.tensor([-1e30]), 0).item() == 1


def test_the_curvature_of_smooth_losses_where_there_is_no_difference():
    x = torch.tensor([0., 0.5, 1., -0.5, 2.], dtype=torch.float64, requires_grad=True)
    for beta, expected in ((0.5, [2., 0., 0., 0., 0.]), (1.0, [1., 1., 0., 1., 0.])):
        g, = torch.autograd.grad(F.smooth_l1_loss(x, torch.zeros(5, dtype=torch.float64), reduction="sum", beta=beta), x, create_graph=True)
        assert torch.autograd.grad(g.sum(), x)[0].tolist() == expected


@pytest.mark.parametrize("call, error, text", [
    (lambda: torch.geqrf(torch.ones(2, 2, requires_grad=True))[0].sum().backward(), NotImplementedError,
     "the derivative for 'geqrf' is not implemented."),
    (lambda: torch.gradient(torch.tensor(1.), dim=-1), IndexError, "Dimension specified as -1 but tensor has no dimensions"),
    (lambda: torch.var_mean(torch.ones(()), (0, 0)), RuntimeError, "dim 0 appears multiple times in the list of dims")])
def test_more_refusals_of_rare_arguments(call, error, text):
    with pytest.raises(error, match=text):
        call()
