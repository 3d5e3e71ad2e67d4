"""How gradients lie: torch's kernels write most of them contiguous, some as channels_last, whatever lies otherwise."""
import pytest

import torchshim as torch
import torchshim.nn.functional as F

PLAIN = {
    "mse": lambda x: F.mse_loss(x, x.detach() + 1), "unfold": lambda x: F.unfold(x, 2), "pixel_shuffle": lambda x: F.pixel_shuffle(x, 2),
    "softmax": lambda x: x.softmax(1), "layer_norm": lambda x: F.layer_norm(x, (4,)), "max": lambda x: x.max(),
    "max_dim": lambda x: x.max(1)[0], "median": lambda x: x.median(1)[0], "huber": lambda x: F.huber_loss(x, x.detach() + 1),
    "pad": lambda x: F.pad(x, (-1, 1)),
}
KEPT = {
    "conv": lambda x: F.conv2d(x, torch.ones(4, 4, 2, 2)), "max_pool": lambda x: F.max_pool2d(x, 2),
    "avg_pool": lambda x: F.avg_pool2d(x, 2), "group_norm": lambda x: F.group_norm(x, 2),
    "batch_norm": lambda x: F.batch_norm(x, None, None, training=True), "adaptive": lambda x: F.adaptive_max_pool2d(x, 2),
}


def strides(f, x):
    x = x.detach().requires_grad_()
    y = f(x)
    return torch.autograd.grad(y, x, torch.ones(y.shape))[0].stride()


@pytest.mark.parametrize("name", [*PLAIN, *KEPT])
def test_gradients(name):
    f = PLAIN.get(name) or KEPT[name]
    x = torch.randn(2, 4, 4, 4)
    assert strides(f, x.transpose(1, 3)) == (64, 16, 4, 1)
    last = strides(f, x.contiguous(memory_format=torch.channels_last))
    assert last == ((64, 1, 16, 4) if name in KEPT else (64, 16, 4, 1))


def test_names():
    x, half = torch.randn(2, 3, requires_grad=True), torch.randn(2, 3, dtype=torch.bfloat16, requires_grad=True)
    assert (type(F.rms_norm(half, (3,)).grad_fn).__name__ == "ToCopyBackward0"
            and type(F.rms_norm(x, (3,)).grad_fn).__name__ == "MulBackward0")
    assert type(F.pairwise_distance(x, x.detach() + 1).grad_fn).__name__ == "NormBackward1"


def test_attention_of_what_is_transposed_inside():
    """torch's kernel wants rows side by side; otherwise it multiplies matrices."""
    q = torch.randn(2, 3, 2, 4, requires_grad=True)
    t = torch.randn(2, 3, 4, 2).transpose(-1, -2)
    for given in ((t, q, q), (q, t, q), (q, q, t)):
        out = F.scaled_dot_product_attention(*given)
        assert type(out.grad_fn).__name__ == "UnsafeViewBackward0" and out.stride() == (24, 8, 4, 1)
    assert type(F.scaled_dot_product_attention(q, q, q).grad_fn).__name__ == "ScaledDotProductFlashAttentionForCpuBackward0"


@pytest.mark.parametrize("call, text", [
    (lambda: F.avg_pool2d(torch.ones(1, 2, 4, 4, dtype=torch.int32), 2), "\"avg_pool2d\" not implemented for 'Int'"),
    (lambda: F.nll_loss(torch.ones(3, 4, dtype=torch.int64), torch.zeros(3, dtype=torch.int64)), "\"nll_loss_out_frame\" not implemented "
     "for 'Long'"),
    (lambda: F.binary_cross_entropy_with_logits(*[torch.ones(3, dtype=torch.int32)] * 2), "\"log_sigmoid_cpu\" not implemented for 'Int'"),
])
def test_integers_are_refused(call, text):
    with pytest.raises(NotImplementedError) as caught:
        call()
    assert str(caught.value) == text


def test_gradients_of_products_of_stacks_and_of_resizing_are_contiguous():
    """However the operands lie; `.grad` lies as its tensor does."""
    import torchshim as torch
    turned = lambda *shape: torch.ones(shape[::-1]).permute(*range(len(shape))[::-1]).requires_grad_()
    for f, shapes in ((torch.bmm, [(2, 3, 4), (2, 4, 5)]), (torch.mv, [(3, 4), (4,)]), (torch.addmv, [(3,), (3, 4), (4,)]),
                      (torch.baddbmm, [(2, 3, 5), (2, 3, 4), (2, 4, 5)]),
                      (lambda x: torch.nn.functional.interpolate(x, scale_factor=2), [(2, 3, 4, 5)])):
        xs = [turned(*shape) for shape in shapes]
        assert all([g.is_contiguous() for g in torch.autograd.grad(f(*xs).sum(), xs)])
        f(*xs).sum().backward()
        assert all([x.grad.stride() == x.stride() for x in xs])
