"""torch.native_*_norm return the statistics too, differentiable as PyTorch 2.13's are; bernoulli passes a gradient of zeros."""
import torchshim as torch

X = torch.arange(24.).reshape(2, 4, 3)


def test_statistics():
    x = X.clone().requires_grad_()
    out, mean, rstd = torch.native_layer_norm(x, (3,), None, None, 1e-5)
    assert mean.shape == (2, 4, 1) and not mean.requires_grad and mean[0, 1].tolist() == [4] and out.requires_grad
    out, mean, rstd = torch.native_group_norm(x, None, None, 2, 4, 3, 2, 1e-5)
    assert mean.tolist() == [[2.5, 8.5], [14.5, 20.5]] and rstd.requires_grad
    out, mean, rstd = torch.native_batch_norm(x, None, None, torch.zeros(4), torch.ones(4), False, .1, 1e-5)
    assert mean.shape == rstd.shape == (0,)


def test_bernoulli():
    p = torch.tensor([0., 1.], requires_grad=True)
    y = torch.bernoulli(p)
    assert y.tolist() == [0, 1] and y.grad_fn.name() == "BernoulliBackward0"
    y.sum().backward()
    assert p.grad.tolist() == [0, 0]
