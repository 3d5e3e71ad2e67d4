"""Calls that were taken though torch refuses them, and a few that were refused though it takes them. The expectations are torch's."""
import math

import pytest

import torchshim as torch
from torchshim.nn import functional as F

X = torch.arange(6.).reshape(3, 2)
I = torch.tensor([0, 1, 1])
NAN = float("nan")


@pytest.mark.parametrize("call, words", [
    (lambda: X.sum(keepdim=False), "received an invalid combination"), (lambda: X.mean(keepdim=False), "received an invalid combination"),
    (lambda: X.sum(keepdim=False, dtype=torch.float64), 'missing 1 required positional arguments: "dim"'),
    (lambda: torch.sum(X, out=torch.empty(())), "received an invalid combination"),
    (lambda: torch.prod(X, dtype=torch.float64, out=torch.empty(())), 'missing 1 required positional arguments: "dim"'),
    (lambda: torch.tensor_split(X, indices_or_sections=2), "received an invalid combination"),
    (lambda: F.adaptive_avg_pool1d(X, None), "'output_size' (position 2) must be tuple of ints, not NoneType"),
    (lambda: F.adaptive_max_pool1d(X, [True]), "but found element of type bool at pos 0"),
    (lambda: X.flip(dims=0), "argument 'dims' must be tuple of ints, not int"),
    (lambda: F.cross_entropy(X, I, None, None, "none"), "cross_entropy_loss(): argument 'ignore_index' (position 5) must be int, not str"),
    (lambda: F.nll_loss(X, I, ignore_index=1.0), "nll_loss_nd(): argument 'ignore_index' (position 5) must be int, not float"),
    (lambda: torch.gather(X[:, 0], 0, I, sparse_grad=1), "argument 'sparse_grad' must be bool, not int"),
    (lambda: X.clone().copy_(X, None), "argument 'non_blocking' (position 2) must be bool, not NoneType"),
    (lambda: torch.ones([True]), "but found element of type bool at pos 0"), (lambda: torch.zeros(True), "tuple of ints, not bool"),
    (lambda: torch.arange(2, None, 2), "received an invalid combination"), (lambda: torch.eye(2, None), "received an invalid combination"),
    (lambda: torch.bitwise_and(2, I, out=torch.empty(3, dtype=torch.int64)), "received an invalid combination"),
    (lambda: torch.linalg.matrix_exp(X[:2], out=X[:2]), "got an unexpected keyword argument 'out'")])
def test_arguments(call, words):
    with pytest.raises(TypeError) as refused:
        call()
    assert words in str(refused.value)


@pytest.mark.parametrize("call, error, words", [
    (lambda: torch.logsumexp(X, ()), RuntimeError, "output with shape [] doesn't match the broadcast shape [1, 1]"),
    (lambda: F.batch_norm(X, None, None, training=True, eps=0.0), ValueError, "batch_norm eps must be positive during training, but got 0.0"),
    (lambda: X.clone().cumsum_(0, dtype=torch.int64), RuntimeError,
     "Bad in-place call: input tensor dtype float and output tensor dtype long int should match"),
    (lambda: F.cosine_similarity(X, X, 1, -1), RuntimeError, "eps must be non-negative, got: -1"),
    (lambda: torch.full((2,), 2 ** 64), OverflowError, "int too big to convert"),
    (lambda: X.clone().masked_fill(X > 1, 2 ** 64), OverflowError, "int too big to convert"),
    (lambda: torch.index_put(X, (X.byte(),), torch.tensor(1.)), RuntimeError,
     "masked_fill_ only supports boolean masks, but got mask with dtype unsigned char")])
def test_values(call, error, words):
    with pytest.raises(error) as refused:
        call()
    assert words in str(refused.value)


def test_what_is_taken():
    assert torch.logsumexp(X, (), True).shape == (1, 1)
    assert torch.mean(X, out=torch.empty(())).item() == 2.5
    assert F.instance_norm(X[None], eps=0).shape == (1, 3, 2)
    assert torch.batch_norm(X[:1], None, None, None, None, True, 0.1, 1e-5, False).tolist() == [[0., 0.]]
    assert F.cross_entropy(X, I, ignore_index=torch.tensor(1)).item() == pytest.approx(1.3133, abs=1e-4)


def test_a_division_that_is_refused_for_its_shapes_fails_nothing_else():
    x, zeros = torch.arange(12).reshape(3, 4), torch.zeros(4, 7, dtype=torch.int64) * 1
    for divide in (lambda: x // zeros, lambda: x % zeros, lambda: torch.remainder(x, zeros), lambda: torch.fmod(x, zeros)):
        with pytest.raises(RuntimeError, match="must match the size"):
            divide()
        assert (X + 1).sum().item() == 21
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        (x // (zeros[:, :4] * 1)[:3]).tolist()


def test_infinities_have_singular_values_which_are_nan():
    m = torch.tensor([[1., math.inf], [0, 1]])
    assert torch.linalg.svdvals(m).isnan().all() and torch.linalg.matrix_rank(m).item() == 0 and torch.linalg.matrix_norm(m, 2).isnan()
    with pytest.raises(RuntimeError, match=r"linalg.svd: \(Batch element 1\): The algorithm failed to converge"):
        torch.linalg.svdvals(torch.stack([m, m * 0])).tolist()


def test_sums_over_none_are_sums_over_dimensions():
    x = X.clone().requires_grad_()
    names = [type(y.grad_fn).__name__ for y in (x.sum(), x.sum(None), x.sum(()), x.mean(None), x.sum(dim=None, keepdim=True))]
    assert names == ["SumBackward0", "SumBackward1", "SumBackward1", "MeanBackward1", "SumBackward1"]
    assert x.sum(axis=0, keepdims=True).tolist() == [[6., 9.]]


def test_operands_of_which_one_has_no_data_stay_apart():
    x, m = torch.ones(3, 4), torch.ones(3, 4, device="meta")
    for call in (lambda: m.lt_(x), lambda: m.pow_(x), lambda: F.mse_loss(m, x), lambda: torch.cat([m, x]), lambda: F.layer_norm(m, (4,), x[0]),
                 lambda: torch.mv(m, x[0]), lambda: m.masked_fill(x > 0, 2), lambda: F.l1_loss(x, m)):
        with pytest.raises(RuntimeError, match="is not on the expected device"):
            call()
    for call in (lambda: m.add_(x), lambda: m.copy_(x), lambda: torch.mm(m, x.t()), lambda: torch.gather(m, 0, x.long()), lambda: m + x[0, 0]):
        assert call().device.type == "meta"


def test_running_means_are_lost_at_infinities():
    inf = math.inf
    means = [torch.var_mean(torch.tensor(v))[1].item() for v in ([1., inf], [1., 2., -inf], [inf, 1.], [inf, inf], [-inf, 1., 2.])]
    assert means[:2] == [inf, -inf] and all(map(math.isnan, means[2:]))
    assert str(torch.std_mean(torch.tensor([1 + 1j, complex(inf)]))[1].item()) == "(inf+0.5j)"


def test_out_of_frequencies_and_what_has_no_history():
    assert torch.fft.fftfreq(4, out=torch.empty(4, dtype=torch.float64)).dtype == torch.float64
    assert torch.fft.rfftfreq(2).tolist() == [0., .5] and torch.fft.fftfreq(2).tolist() == [0., -.5]
    with pytest.raises(RuntimeError, match=r"dtype Double does not match dtype of out parameter \(Float\)"):
        torch.fft.fftfreq(2, dtype=torch.float64, out=torch.empty(2))
    x = X.clone().requires_grad_()
    assert not x.view(torch.float32).requires_grad and x.view(torch.float32).data_ptr() == x.data_ptr()
    with torch.autograd.forward_ad.dual_level(), pytest.raises(NotImplementedError, match="forward AD with embedding_renorm_"):
        torch.embedding_renorm_(torch.autograd.forward_ad.make_dual(X.clone(), torch.ones_like(X)), I, 1., 2.)
    with pytest.raises(RuntimeError, match="kl_div: Integral inputs not supported"):
        torch.kl_div(X, X.int())


def test_methods_that_are_written_in_python_name_their_class():
    with pytest.raises(TypeError, match=r"^Tensor.split\(\) missing 1 required positional argument: 'split_size'$"):
        X.split()
    assert torch.Tensor.unflatten.__qualname__ == "Tensor.unflatten" and torch.Tensor.istft is not torch.istft


@pytest.mark.parametrize("call, words", [
    (lambda: F.avg_pool1d(X, (1, 1)), "avg_pool1d() argument 'kernel_size' should contain one int (got 2)"),
    (lambda: F.max_pool1d(X, 1, 1, (1, 1)), "max_pool1d() padding must be an int, list of ints, or tuple of ints of size 1 but got size 2"),
    (lambda: F.max_pool1d(X, (), return_indices=True), "max_pool1d() argument 'kernel_size' should contain one int (got 0)"),
    (lambda: torch.convolution(X[None], X, None, [1], [1], [1], False, [1], 1), "weight should have at least three dimensions"),
    (lambda: torch.convolution(X[None], X[None], None, [1], [1], [1], False, [2, 3], 1), "but got output_padding=[2, 3]"),
    (lambda: torch.stft(X[None, None], 2, center=False, return_complex=True, align_to_window=False), "align_to_window=0)")])
def test_words(call, words):
    with pytest.raises(RuntimeError) as refused:
        call()
    assert words in str(refused.value)


@pytest.mark.parametrize("call, text", [
    (lambda: F.softshrink(torch.ones(2), NAN), "lambda must be in range [0, 3.40282e+38] for input dtype Float, but found nan"),
    (lambda: F.softshrink(torch.ones(2).half(), 70000), "lambda must be in range [0, 65504] for input dtype Half, but found 70000"),
    (lambda: F.softshrink(torch.ones(2).double(), -1), "lambda must be in range [0, 1.79769e+308] for input dtype Double, but found -1"),
    (lambda: torch.pdist(torch.ones(3, 4), NAN), "pdist only supports non-negative p values"),
    (lambda: torch.cdist(torch.ones(3, 4), torch.ones(3, 4), NAN), "cdist only supports non-negative p values"),
    (lambda: torch.renorm(torch.ones(3, 4), NAN, 1, -2), "renorm: non-positive-norm not supported"),
    (lambda: torch.ones(3, 4).renorm_(2, 1, NAN), "renorm: expected maxnorm to be >= 0 but got nan"),
    (lambda: torch.renorm(torch.ones(3, 4), 2, 1, 2j), "renorm: maxnorm must be real-valued"),
    (lambda: F.cosine_similarity(torch.ones(3, 4), torch.ones(3, 4), 1, NAN), "eps must be non-negative, got: nan"),
])
def test_what_is_no_number_lies_in_no_range(call, text):
    with pytest.raises(RuntimeError) as raised:
        call()
    assert str(raised.value) == text
