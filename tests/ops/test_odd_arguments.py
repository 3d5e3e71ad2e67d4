"""What calls with odd arguments did differently from torch: dtypes, strides, refusals. The expectations are torch's."""
import pytest

import torchshim as torch
from torchshim.nn import functional as F


def test_lerp_takes_a_single_weight_of_any_dtype():
    x = torch.zeros(3)
    for weight in (torch.tensor(2), torch.tensor(2., dtype=torch.float64), torch.tensor(2.).half(), torch.tensor(2.).bfloat16()):
        made = torch.lerp(x, x + 1, weight)
        assert made.dtype == torch.float32 and made.tolist() == [2.] * 3
    assert torch.lerp(x.double(), x.double() + 1, torch.tensor(.5)).dtype == torch.float64
    assert torch.lerp(x, x + 1, torch.tensor(2j)).dtype == torch.complex64
    with pytest.raises(RuntimeError, match="expected dtype float for `weight` but got dtype double"):
        torch.lerp(x, x, x.double())


@pytest.mark.parametrize("call", [
    lambda x: torch.addcmul(x, x, x, value=2j), lambda x: torch.addcdiv(x, x, x + 1, value=2j), lambda x: F.threshold(x, 2, 2j),
    lambda x: F.leaky_relu(x, 2j), lambda x: F.elu(x, 2j), lambda x: F.softplus(x, 2j), lambda x: torch.addr(x, x, x, beta=2j)])
def test_a_complex_parameter_of_a_real_operator_is_refused(call):
    with pytest.raises(RuntimeError, match="value cannot be converted to type float without overflow"):
        call(torch.ones(3))
    assert torch.addcmul(torch.ones(1, dtype=torch.complex64), torch.ones(1), torch.ones(1), value=2j).item() == 1 + 2j


def test_weights_of_a_cross_entropy_do_not_enlarge_it():
    x = torch.ones(3) / 2
    for loss in (F.binary_cross_entropy, F.binary_cross_entropy_with_logits):
        with pytest.raises(RuntimeError, match=r"output with shape \[3\] doesn't match the broadcast shape \[2, 3\]"):
            loss(x, x, torch.ones(2, 3))
        assert loss(x, x, torch.ones(1), reduction="none").shape == (3,)
    with pytest.raises(RuntimeError, match=r"output with shape \[\] doesn't match the broadcast shape \[1\]"):
        F.binary_cross_entropy_with_logits(x[0], x[0], pos_weight=x[:1])


def test_an_expanded_tensor_can_be_resized_and_written():
    x = torch.ones(1).expand(3, 4)
    assert x.resize_(3).shape == (3,) and x.stride() == (1,)
    out = torch.ones(1).expand(3, 4)
    with pytest.warns(UserWarning, match="was resized"):
        torch.mv(torch.ones(3, 4), torch.ones(4), out=out)
    assert out.tolist() == [4.] * 3


def test_copies_with_a_view_written_lie_as_the_tensor():
    x = torch.ones(4, 3).t()
    for made in (torch.diagonal_scatter(x, torch.zeros(3)), torch.select_scatter(x, torch.zeros(4), 0, 1),
                 torch.slice_scatter(x, torch.zeros(1, 4), 0, 1, 2)):
        assert made.stride() == (1, 3)


def test_comparisons_write_into_what_requires_grad():
    x, out = torch.ones(2), torch.zeros(2, requires_grad=True)
    assert torch.eq(x, x, out=out) is out and out.tolist() == [1., 1.] and out.is_leaf and out.requires_grad
    torch.logical_not(x, out=out)
    assert out.tolist() == [0., 0.]
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        torch.add(x, x, out=out)


def test_a_tensor_is_no_bool():
    x = torch.ones(2, 2)
    for flag in (torch.tensor(1), torch.tensor(True)):
        with pytest.raises(TypeError, match=r"argmax\(\): argument 'keepdim' \(position 2\) must be bool, not Tensor"):
            x.argmax(1, flag)


def test_a_number_that_names_no_reduction_reduces_nothing():
    x = torch.ones(3)
    assert torch.kl_div(x, x, 3).shape == torch.hinge_embedding_loss(x, x, 1., 7).shape == (3,)
    assert torch.kl_div(x, x, 2).shape == ()


def test_factors_of_addr_suit_the_result():
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="Boolean beta only supported for Boolean results"):
        torch.addr(x, x, x, beta=True)
    with pytest.raises(RuntimeError, match="argument alpha must not be a floating point number"):
        torch.addr(x.long(), x.long(), x.long(), alpha=1.5)
    assert torch.addr(x.bool(), x.bool(), x.bool(), alpha=True, beta=False).dtype == torch.bool
    assert torch.frobenius_norm(torch.ones(2, 2), ()).item() == 2


@pytest.mark.filterwarnings("ignore:torch.cholesky is deprecated")
def test_results_copied_into_what_is_resized_do_not_lie_as_they_would():
    """torch's older functions of matrices, which write a copy."""
    a = torch.eye(4) * 2
    assert torch.cholesky(a, out=torch.zeros(0)).stride() == torch.linalg.tensorinv(a, 1, out=torch.zeros(0)).stride() == (4, 1)
    assert torch.cholesky_solve(a, a, out=torch.zeros(0)).stride() == (4, 1)
    assert torch.linalg.cholesky(a, out=torch.zeros(0)).stride() == (1, 4)
    assert torch.svd(torch.ones(2, 3, 4), compute_uv=False).V.stride() == (16, 1, 4)


def test_a_dimension_of_zero_and_less_than_no_samples():
    assert torch.frobenius_norm(torch.ones(3, 4), 0).shape == (4,)
    assert torch.fft.rfftfreq(-1, 0.5).tolist() == [0.] and torch.fft.rfftfreq(-3, 0.5).tolist() == []
    assert torch.var(torch.tensor([1., 2.]), 0, correction=float("nan")).item() == float("inf")


def t(*shape):
    return (torch.arange(torch.Size(shape).numel()) * 7 % 11).reshape(shape) * 0.75


def test_numbers_that_are_tensors_without_dimensions():
    x = t(3, 4)
    assert torch.rsub(x, torch.tensor(2), 2).equal(2 - 2 * x)
    at = torch.tensor([0, 1, 1])
    assert torch.index_add(x, 0, at, x, alpha=torch.tensor(2)).equal(torch.index_add(x, 0, at, x, alpha=2))
    assert t(3, 4).fill_diagonal_(torch.tensor(2)).diagonal().tolist() == [2., 2., 2.]
    assert torch.gradient(x, dim=torch.tensor(1))[0].equal(torch.gradient(x, dim=1)[0])


@pytest.mark.filterwarnings("ignore:torch.cholesky is deprecated")
def test_what_nothing_is_asked_of():
    assert torch.gather(t(5), 0, t(0)).tolist() == []
    assert torch.linspace(0, 2, 1, dtype=torch.bool).tolist() == [False] and torch.logspace(0, 2, 1, dtype=torch.bool).tolist() == [True]
    assert torch.cholesky(torch.zeros(0, 4)).shape == (0, 4)
    for n in (-1, -2):
        with pytest.raises(RuntimeError, match=rf"^Trying to create tensor with negative dimension {n}: \[{n}\]$"):
            torch.fft.fftfreq(n)


def test_older_spellings_take_more():
    F = torch.nn.functional
    made = F.elu_(t(3, 4) - 4, 2, scale=3, input_scale=2)[0, :3]
    torch.testing.assert_close(made, torch.tensor([-5.9979872, 3.75, -5.818816]))
    assert F.elu_(t(3, 4), 2, 1, 1).equal(F.elu(t(3, 4), 2))
    assert torch.embedding(t(3, 4), torch.tensor([1, 0]), 100).equal(t(3, 4)[[1, 0]])
    assert torch.margin_ranking_loss(t(3, 4), t(1), t(3, 4), 0.5, 1).ndim == 0
    assert torch.scatter_reduce(t(5), 0, torch.tensor([0, 1, 1]), t(5), b"sum").equal(
        torch.scatter_reduce(t(5), 0, torch.tensor([0, 1, 1]), t(5), "sum"))
    assert F.adaptive_avg_pool2d(t(3, 4), 1).item() == t(3, 4).mean().item()


@pytest.mark.parametrize("name", ["airy_ai", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0"])
def test_special_functions_of_x(name):
    """torch calls their argument x, that of the others input."""
    f = getattr(torch.special, name)
    assert f(x=t(2)).equal(f(t(2)))
    with pytest.raises(TypeError, match=rf"^special_{name}\(\): argument 'x' \(position 1\) must be Tensor, not int$"):
        f(2)
    assert torch.special.bessel_j0(input=t(2)).equal(torch.special.bessel_j0(t(2)))


UNFIT = "value cannot be converted to type {} without overflow"
UNSIGNED = "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote Bool and UInt64"


@pytest.mark.parametrize("call, error, text", [
    (lambda: torch.tensor([2], dtype=torch.uint8) ** 256, RuntimeError, UNFIT.format("uint8_t")),
    (lambda: torch.pow(torch.tensor([], dtype=torch.int8), 300), RuntimeError, UNFIT.format("int8_t")),
    (lambda: torch.tensor([2], dtype=torch.int32).pow_(10 ** 10), RuntimeError, UNFIT.format("int")),
    (lambda: torch.pow(torch.ones(1).half(), 70000), RuntimeError, UNFIT.format("c10::Half")),
    (lambda: torch.pow(torch.ones(1).bfloat16(), 1e39), RuntimeError, UNFIT.format("c10::BFloat16")),
    (lambda: torch.ones(1) + 2 ** 64, OverflowError, "int too big to convert"),
    (lambda: torch.ones(1) == 2 ** 64, OverflowError, "int too big to convert"),
    (lambda: torch.tensor([True]) + 2 ** 63, RuntimeError, UNSIGNED),
    (lambda: torch.tensor([True]) == 2 ** 63, RuntimeError, UNSIGNED),
    (lambda: torch.clamp(torch.tensor([True]), True), NotImplementedError, "\"clamp_min_scalar_cpu\" not implemented for 'Bool'"),
    (lambda: torch.clamp_max(torch.tensor([True]), True), NotImplementedError, "\"clamp_max_scalar_cpu\" not implemented for 'Bool'"),
    (lambda: torch.clamp(torch.tensor([True]), True, True), NotImplementedError, "\"clamp_scalar_cpu\" not implemented for 'Bool'"),
    (lambda: torch.clamp(torch.tensor([1]), 1j), NotImplementedError, "clamp is not supported for complex types"),
    (lambda: torch.clamp(torch.ones(1) + 0j, 1e300), NotImplementedError, "clamp is not supported for complex types"),
    (lambda: torch.nansum(torch.ones(3), dtype=torch.complex64), NotImplementedError, "\"nansum_cpu\" not implemented for 'ComplexFloat'")])
def test_numbers_that_fit_no_kernel(call, error, text):
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value) == text


def test_truths_as_exponents_of_complex_numbers():
    x = torch.tensor([0, 1, 3], dtype=torch.complex64)
    assert repr(torch.pow(x, True).tolist()) == "[0j, (1+0j), (3+0j)]" and torch.pow(x, False).tolist() == [1, 1, 1]
    assert torch.clamp(torch.tensor([True, False]), 1).tolist() == [1, 1] and torch.ones(1).add(2 ** 63).item() == 2 ** 63


@pytest.mark.parametrize("call, error, text", [
    (lambda x: torch.histogram(x.long(), x), RuntimeError, "torch.histogramdd: input tensor and bins tensors should have the same dtype, but got "
                                                          "input with dtype long int and bins for dimension 0 with dtype float"),
    (lambda x: torch.histogram(x.long(), x.long()), NotImplementedError, "\"histogram_cpu\" not implemented for 'Long'"),
    (lambda x: torch.histogram(x.long(), 3), NotImplementedError, "\"histogramdd\" not implemented for 'Long'"),
    (lambda x: torch.norm(torch.eye(2).half(), "nuc"), RuntimeError, "linalg.matrix_norm: Low precision dtypes not supported. Got Half"),
    (lambda x: torch.linalg.lu_solve(torch.eye(2).long(), torch.ones(2).int(), torch.eye(2).long()), RuntimeError,
     "torch.linalg.lu_solve: Expected a floating point or complex tensor as input. Got Long"),
    (lambda x: torch.linalg.ldl_solve(torch.eye(2).half(), torch.ones(2).int(), torch.eye(2).half()), NotImplementedError,
     "\"ldl_solve_kernel_cpu\" not implemented for 'Half'")])
def test_dtypes_without_a_kernel(call, error, text):
    with pytest.raises(error) as raised:
        call(torch.ones(3))
    assert str(raised.value) == text
