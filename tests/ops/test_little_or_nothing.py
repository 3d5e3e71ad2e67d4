"""Tensors of no or one element: which of torch's checks come first, what has no kernel to refuse it, and their gradients. Texts, values
and names are PyTorch 2.13's."""
import math

import pytest

import torchshim as torch
import torchshim.nn.functional as F

nan, inf = math.nan, math.inf
pytestmark = pytest.mark.filterwarnings("ignore:.*degrees of freedom")


def zeros(*shape, dtype=torch.float32):
    return torch.zeros(shape, dtype=dtype, requires_grad=dtype.is_floating_point or dtype.is_complex)


@pytest.mark.parametrize("call, told", [
    (lambda c: torch.mode(c), "mode"), (lambda c: torch.kthvalue(c, 1), "kthvalue"), (lambda c: torch.cummax(c, 0), "cummax"),
    (lambda c: torch.cummin(c, 0), "cummin")])
def test_a_lone_complex_number_has_no_order_but_is_copied_and_its_gradient_refused(call, told):
    made = call(torch.tensor(2j))
    assert (made[0].item(), made[1].item()) == (2j, 0)
    with pytest.raises(RuntimeError, match=f"^{told} does not support automatic differentiation for outputs with complex dtype.$"):
        call(torch.tensor(2j, requires_grad=True))
    with pytest.raises(NotImplementedError, match=f"\"{told}_cpu\" not implemented for 'ComplexFloat'"):
        call(torch.zeros(3, dtype=torch.complex64, requires_grad=True))


def test_kernels_are_not_asked_for_nothing():
    assert torch.median(zeros(0, dtype=torch.bool)).item() is True
    assert math.isnan(torch.nanmedian(torch.zeros(0, dtype=torch.complex64)).item().real)
    for f, told in ((torch.median, "median"), (lambda c: torch.softmax(c, 0), "_softmax"), (lambda c: F.log_softmax(c, 0), "_log_softmax")):
        with pytest.raises(RuntimeError, match=f"^{told} does not support automatic differentiation for outputs with complex dtype.$"):
            f(zeros(0, dtype=torch.complex64))
    assert torch.einsum("i,i->", zeros(0, dtype=torch.bool), zeros(0, dtype=torch.bool)).item() is False
    for dtype in (torch.int64, torch.bool, torch.complex64):
        x = torch.zeros(0, dtype=dtype)
        assert [f.numel() for f in (x.exponential_(), x.log_normal_(), x.geometric_(0.5), x.normal_())] == [0] * 4
        with pytest.raises((RuntimeError, NotImplementedError)):
            x.cauchy_()
    assert F.gumbel_softmax(zeros(0, dtype=torch.int64)).dtype == torch.float32


@pytest.mark.parametrize("f", [torch.var, torch.std, lambda x: torch.var_mean(x)[0], lambda x: torch.std_mean(x)[0]])
def test_variance_of_one_number_has_torchs_gradient(f):
    x = torch.tensor(1 + 2j, requires_grad=True)
    f(x).backward()
    assert math.isnan(x.grad.real.item()) and x.grad.imag.item() == 0


def test_variance_with_less_than_no_degrees_of_freedom():
    x = torch.tensor([1., 2.], requires_grad=True)
    assert torch.autograd.grad(x.var(correction=3), x)[0].tolist() == [inf, inf]
    assert torch.autograd.grad(x.var(0, correction=3), x)[0].tolist() == [1., -1.]
    y = torch.tensor(1., requires_grad=True)
    assert math.isnan(torch.autograd.grad(torch.var_mean(y, -1, correction=2)[0], y)[0].item())


def test_norms_of_nothing_tell_the_mean_zero():
    for mean, scale in (torch.native_group_norm(zeros(2, 0, 3), None, None, 2, 0, 3, 2, 1e-5)[1:],
                        torch.native_layer_norm(zeros(2, 0), (0,), None, None, 1e-5)[1:]):
        assert mean.abs().sum() == 0 and scale.isnan().all()
    x = zeros(0, 2)
    assert [t.shape for t in torch.native_group_norm(x, None, None, 0, 2, 1, 1, 1e-5)] == [(0, 2), (0, 1), (0, 1)]
    assert [t.shape for t in torch.var_mean(zeros(0, 1, 2), 2)] == [(0, 1), (0, 1)]
    with pytest.raises(RuntimeError, match="at least one element"):
        torch.native_batch_norm(zeros(0, 2, 3), None, None, zeros(2), zeros(2), True, 0.1, 1e-5)
    with pytest.raises(RuntimeError, match="num groups to be greater than 0"):
        torch.group_norm(zeros(2, 4), 0)


@pytest.mark.parametrize("shape, smoothing", [((0,), 0.), ((0, 3), 0.), ((3, 0), 0.), ((3, 0, 2), 0.1)])
def test_cross_entropy_of_no_probabilities(shape, smoothing):
    x = zeros(*shape)
    mean = F.cross_entropy(x, x, label_smoothing=smoothing)
    assert math.isnan(mean.item()) and mean.grad_fn.name() == "NegBackward0"
    assert F.cross_entropy(x, x, reduction="sum", label_smoothing=smoothing).item() == 0


def test_integrals_of_nothing():
    made = torch.trapezoid(zeros(2, 0), torch.zeros(0, dtype=torch.float64))
    assert made.tolist() == [0, 0] and made.dtype == torch.float32 and made.grad_fn is None
    assert torch.trapezoid(torch.zeros(0, dtype=torch.bool)).dtype == torch.bool
    assert torch.trapezoid(zeros(0, 3)).grad_fn.name() == "MulBackward1"


@pytest.mark.parametrize("shape", [(2, 0, 3), (2, 3, 0), (0, 2, 3), (1, 2, 0, 3)])
def test_attention_over_nothing(shape):
    x = zeros(*shape)
    assert F.scaled_dot_product_attention(x, x, x).grad_fn.name() == "AddBackward0"


def none(*shape):
    return torch.zeros(shape)


REFUSED = [
    (lambda: torch.max(torch.zeros(0, dtype=torch.complex64), 0), IndexError, "max(): Expected reduction dim 0 to have non-zero size."),
    (lambda: torch.aminmax(torch.tensor(1j), dim=0), RuntimeError, "aminmax not implemented for ComplexFloat"),
    (lambda: torch.histc(torch.zeros(0, dtype=torch.complex64)), NotImplementedError,
     "\"histogram_cpu\" not implemented for 'ComplexFloat'"),
    (lambda: torch.histc(torch.zeros(3, dtype=torch.uint8)), RuntimeError, "value cannot be converted to type uint8_t without overflow"),
    (lambda: torch.histc(torch.tensor([3, 5], dtype=torch.uint8)), NotImplementedError, "\"histogram_cpu\" not implemented for 'Byte'"),
    (lambda: torch.gradient(torch.zeros(0, dtype=torch.bool)), RuntimeError,
     "torch.gradient expected each dimension size to be at least edge_order+1"),
    (lambda: torch.trapezoid(torch.tensor(1.), torch.tensor(1.)), IndexError, "Dimension specified as 0 but tensor has no dimensions"),
    (lambda: torch.cumulative_trapezoid(torch.tensor(1.), dim=3), IndexError, "slice() cannot be applied to a 0-dim tensor."),
    (lambda: torch.cumulative_trapezoid(torch.tensor(True)), RuntimeError,
     "cumulative_trapezoid: received a bool input for `y`, but bool is not supported"),
    (lambda: F.nll_loss(torch.zeros(0, dtype=torch.int64), torch.tensor(0)), NotImplementedError,
     "\"nll_loss_out_frame\" not implemented for 'Long'"),
    (lambda: F.cross_entropy(torch.zeros(0, dtype=torch.complex64), torch.tensor(0)), NotImplementedError,
     "\"nll_loss_out_frame\" not implemented for 'ComplexFloat'"),
    (lambda: F.cross_entropy(none(2, 0, 3), torch.zeros(2, 3, dtype=torch.int64)), RuntimeError,
     "size mismatch (got input: [2, 0, 0, 0] , target: [2, 1, 3]"),
    (lambda: F.poisson_nll_loss(torch.ones(3), torch.zeros(3, dtype=torch.complex64), full=True), NotImplementedError,
     "\"le_cpu\" not implemented for 'ComplexFloat'"),
    (lambda: F.embedding(torch.tensor([0, 1]), torch.tensor(1., requires_grad=True), 0), IndexError,
     "Dimension specified as 0 but tensor has no dimensions"),
    (lambda: F.embedding(torch.tensor([0, 1]), none(0), 0), RuntimeError, "'weight' must be 2-D"),
    (lambda: F.conv2d(none(), none(2, 2, 1), padding="same"), RuntimeError,
     "Expected 3D (unbatched) or 4D (batched) input to conv2d, but got input of size: []"),
    (lambda: F.conv2d(none(2, 2, 3), none(2, 2, 1), padding="same"), RuntimeError,
     "Expected 3-dimensional input for 3-dimensional weight[2, 2, 1], but got 4-dimensional input of size [1, 2, 2, 3] instead"),
    (lambda: F.conv1d(none(1, 2, 0), none(2, 2, 2), padding=1), RuntimeError,
     "Only zero batch or zero channel inputs are supported, but got input shape: [1, 2, 1, 0]"),
    (lambda: F.rms_norm(torch.tensor(1), ()), RuntimeError, "Expected normalized_shape to be at least 1-dimensional, i.e., containing at "
     "least one element, but got normalized_shape = []"),
    (lambda: F.batch_norm(none(2, 0, 3), none(0), none(0), none(0)), IndexError,
     "select(): index 0 out of range for tensor of size [0] at dimension 0"),
    (lambda: F.max_pool1d(none(2, 0, 3), 2, return_indices=True), RuntimeError,
     "Expected 3D or 4D (batch mode) tensor with optional 0 dim batch size for input, but got:[2, 0, 1, 3]"),
    (lambda: F.adaptive_avg_pool3d(none(2, 0), 2), RuntimeError, "adaptive_avg_pool3d(): Expected input to have non-zero size for "
     "non-batch dimensions, but input has sizes [2, 0] with dimension 1 being empty"),
    (lambda: F.adaptive_avg_pool1d(zeros(2, 0, 3), 2).sum().backward(), RuntimeError, "adaptive_avg_pool2d_backward(): Expected grad_output "
     "to have non-zero size for non-batch dimensions, but grad_output has sizes [2, 0, 1, 2] with dimension 1 being empty"),
]


@pytest.mark.parametrize("call, kind, told", REFUSED, ids=[told[:40] for _, _, told in REFUSED])
def test_refusals_come_in_torchs_order(call, kind, told):
    with pytest.raises(kind) as error:
        call()
    assert type(error.value) is kind and str(error.value).split("\n")[0] == told


def test_complex_gradients_that_torch_lacks():
    c = torch.ones(3, 4, dtype=torch.complex64, requires_grad=True)
    for f, told in ((lambda: F.embedding(torch.tensor([0]), c), "embedding"),
                    (lambda: F.bilinear(c, c, torch.ones(2, 4, 4, dtype=torch.complex64)), "_trilinear"),
                    (lambda: torch.amax(zeros(2, 0, 4, dtype=torch.complex64), 0), "amax")):
        with pytest.raises(RuntimeError, match=f"^{told} does not support automatic differentiation for outputs with complex dtype.$"):
            f()
    assert torch.amax(torch.zeros(2, 0, 4, dtype=torch.complex64), 0).shape == (0, 4)


def test_the_slope_of_a_complex_root_at_zero():
    x = torch.tensor([0j, 4], requires_grad=True)
    slope = torch.autograd.grad(x.sqrt(), x, torch.ones(2, dtype=torch.complex64))[0]
    assert slope[0].real.item() == inf and math.isnan(slope[0].imag.item()) and slope[1].item() == 0.25


def test_variances_of_complex_numbers_are_those_of_their_parts():
    x = torch.tensor([1 + 0j, 2, 3])
    assert math.isnan(torch.var(x, 0, correction=3).item())                 # inf + 0 / 0
    assert torch.var(x * (1 + 1j), 0, correction=3).item() == inf


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_single_element_takes_numbers_beyond_its_range(dtype):
    assert torch.zeros(1, 1, dtype=dtype).fill_(1e40).item() == torch.full((1,), 1e40, dtype=dtype).item() == inf
    with pytest.raises(RuntimeError, match="value cannot be converted to type c10::"):
        torch.zeros(2, dtype=dtype).fill_(1e40)


def test_where_results_lie_and_what_they_are_called():
    x = torch.ones(4, 3, requires_grad=True).t()
    assert F.rms_norm(x, (4,)).grad_fn.name() == "CloneBackward0"
    assert F.rms_norm(torch.ones(3, 1, requires_grad=True).expand(3, 4), (4,)).grad_fn.name() == "MulBackward0"
    assert torch.gru_cell(x, x, torch.ones(12, 4), torch.ones(12, 4)).stride() == (1, 3)
    assert F.fold(torch.ones(4, 4, dtype=torch.bool), (3, 3), 2).dtype == torch.bool
    w = torch.ones(4, 4, dtype=torch.int64)
    assert torch.rnn_tanh_cell(w, w, w, w).dtype == torch.float32


def channels(dtype):
    return torch.zeros(2, 3, 4, 4, dtype=dtype).contiguous(memory_format=torch.channels_last)


MORE = [
    (lambda: F.max_pool3d(channels(torch.float32), 2), RuntimeError,
     "Unsupported memory format. Supports only ChannelsLast3d, Contiguous"),
    (lambda: F.max_pool2d(channels(torch.bool), 2), NotImplementedError, "\"max_pool2d_channels_last\" not implemented for 'Bool'"),
    (lambda: F.adaptive_avg_pool2d(channels(torch.int64), 2), NotImplementedError,
     "\"adaptive_avg_pool2d_channels_last\" not implemented for 'Long'"),
    (lambda: F.adaptive_max_pool2d(zeros(1, 3, 4, 4), 0).sum().backward(), RuntimeError, "adaptive_max_pool2d_backward(): Expected "
     "grad_output to have non-zero size for non-batch dimensions, but grad_output has sizes [1, 3, 0, 0] with dimension 2 being empty"),
    (lambda: F.max_pool1d(none(1, 3, 1), 2, return_indices=True), RuntimeError,
     "Given input size: (3x1x1). Calculated output size: (3x1x0). Output size is too small"),
    (lambda: F.batch_norm(torch.zeros(4, 3, dtype=torch.int64).t(), None, None, training=True), RuntimeError,
     "mean(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: Long"),
    (lambda: F.local_response_norm(torch.zeros(2, 3, 4, dtype=torch.complex64), 2), NotImplementedError,
     "\"avg_pool2d\" not implemented for 'ComplexFloat'"),
    (lambda: torch.gru_cell(*[torch.ones(3, 4, dtype=torch.int64)] * 2, *[torch.ones(12, 4, dtype=torch.int64)] * 2), RuntimeError,
     "result type Float can't be cast to the desired output type Long"),
    (lambda: F.bilinear(none(2, 0), none(2, 0), none(2, 0, 0)), RuntimeError, "cannot reshape tensor of 0 elements into shape [-1, 0] "
     "because the unspecified dimension size -1 can be any value and is ambiguous"),
    (lambda: torch.unique_consecutive(torch.zeros(2, 4, dtype=torch.complex64), dim=1), NotImplementedError,
     "\"unique_dim\" not implemented for 'ComplexFloat'"),
    (lambda: F.embedding_bag(torch.zeros(2, 2, dtype=torch.int64), torch.ones(3, 4, dtype=torch.bool)), RuntimeError,
     "Expected tensor for argument #1 'weight' to have one of the following scalar types: Half, BFloat16, Float, Double; but got "
     "CPUBoolType instead (while checking arguments for embedding_bag)"),
]


@pytest.mark.parametrize("call, kind, told", MORE, ids=[told[:40] for _, _, told in MORE])
def test_refusals_by_layout_and_dtype(call, kind, told):
    test_refusals_come_in_torchs_order(call, kind, told)
