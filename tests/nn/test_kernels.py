"""Kernels under private names: values and errors are those of PyTorch 2.13."""
import pytest

import torchshim as torch

X = torch.tensor([[1.0, 2.0, 0.5], [0.0, -1.0, 3.0]])


def test_softmax_kernels():
    x = X.clone().requires_grad_()
    assert torch.equal(torch._softmax(x, 1, False), x.softmax(1)) and torch.equal(torch._log_softmax(x, 0, False), x.log_softmax(0))
    assert type(torch.ops.aten._softmax(x, 1, False).grad_fn).__name__ == "SoftmaxBackward0"
    for kernel in (torch._softmax, torch._log_softmax):
        with pytest.raises(RuntimeError, match="^softmax with half to float conversion is not supported on CPU"):
            kernel(x, 1, True)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_their_gradients(name):
    x, g = X.clone().requires_grad_(), X.flip(0)
    for dim in (0, -1):
        y = getattr(x, name)(dim)
        got = getattr(torch, f"_{name}_backward_data")(g, y, dim, torch.float32)
        torch.testing.assert_close(got.detach(), torch.autograd.grad(y, x, g)[0])
        assert type(got.grad_fn).__name__ == {"softmax": "SoftmaxBackwardDataBackward0",
                                              "log_softmax": "LogSoftmaxBackwardDataBackward0"}[name]
    assert getattr(torch, f"_{name}_backward_data")(g, X, 0, torch.float64).dtype == torch.float64


def test_safe_softmax_of_nothing_is_zero():
    x = torch.tensor([[-torch.inf] * 2, [1.0, 2.0]], requires_grad=True)
    y = torch._safe_softmax(x, 1)
    assert y[0].tolist() == [0, 0]
    torch.testing.assert_close(y[1], x[1].softmax(0))
    y[1, 0].backward()
    assert x.grad[0].tolist() == [0, 0] and x.grad[1].isfinite().all()


def test_chunk_cat():
    got = torch._chunk_cat([torch.arange(6.0).reshape(3, 2), torch.arange(4.0).reshape(2, 2)], 0, 2)
    assert got.tolist() == [[0, 1, 2, 3, 0, 1], [4, 5, 0, 0, 2, 3]]
    with pytest.raises(RuntimeError, match="expects positive num_chunks"):
        torch._chunk_cat([X], 0, 0)
    with pytest.raises(RuntimeError, match="expects a non-empty input tensor list"):
        torch._chunk_cat([], 0, 1)


def test_masked_index_may_be_out_of_range_where_the_mask_is_false():
    places = [torch.tensor([0, 7]), torch.tensor([1, 9])]
    assert torch._unsafe_masked_index(X, torch.tensor([True, False]), places, -1).tolist() == [2, -1]


def test_native_batch_norm_legit():
    mean, var = torch.zeros(3), torch.ones(3)
    out, means, scales = torch._native_batch_norm_legit(X, None, None, mean, var, True, 0.1, 1e-5)
    torch.testing.assert_close(means, X.mean(0))
    torch.testing.assert_close(scales, (X.var(0, correction=0) + 1e-5).rsqrt())
    torch.testing.assert_close(out, (X - means) * scales)
    torch.testing.assert_close(mean, 0.1 * means)
    assert [r.shape for r in torch._native_batch_norm_legit(X, None, None, mean, var, False, 0.1, 1e-5)] == [(2, 3), (0,), (0,)]
    assert torch.equal(torch._native_batch_norm_legit(X, None, None, True, 0.1, 1e-5)[0], out)


def test_embedding_bag():
    places, offsets = torch.tensor([0, 1, 1]), torch.tensor([0, 2])
    for ours, public in zip(torch._embedding_bag(X, places, offsets, mode=1), torch.embedding_bag(X, places, offsets, mode=1)):
        assert torch.equal(ours, public)


def test_masked_running_sums_keep_their_integers():
    x, mask = torch.arange(6, dtype=torch.uint8).reshape(2, 3), torch.tensor([[True, False, True], [True, True, False]])
    for name, want in (("cumsum", [[0, 0, 2], [3, 7, 7]]), ("cumprod", [[0, 0, 0], [3, 12, 12]])):
        got = getattr(torch.masked, name)(x, 1, mask=mask)
        assert got.dtype == torch.uint8 and got.tolist() == want


@pytest.mark.parametrize("n, kernel", [(0, "digamma"), (1, "trigamma"), (2, "polygamma")])
def test_polygamma_of_complex_numbers_names_the_kernel(n, kernel):
    with pytest.raises(NotImplementedError, match=f"^\"{kernel}\" not implemented for 'ComplexFloat'"):
        torch.polygamma(n, torch.ones(2, dtype=torch.complex64))
