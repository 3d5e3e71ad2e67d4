"""channels_last through normalisation and dropout; linear's bias of another dtype; gradients of convolutions as functions;
bytes resized."""
import pytest

import torchshim as torch
import torchshim.nn.functional as F


def test_channels_last_stays():
    x = torch.rand(2, 4, 3, 3).contiguous(memory_format=torch.channels_last)
    for y in (F.batch_norm(x, None, None, training=True), F.batch_norm(x, torch.zeros(4), torch.ones(4)), F.group_norm(x, 2),
              F.dropout(x, 0.5), F.dropout2d(x[:, :, :, ::2], 0.5)):
        assert y.is_contiguous(memory_format=torch.channels_last)
    assert F.instance_norm(x).is_contiguous()


def test_attention_lies_as_its_query():
    """What is drawn for it afterwards, as by dropout, is drawn in the order of its memory."""
    q, k = torch.rand(2, 5, 3, 4, 6).permute(2, 0, 3, 1, 4)[1], torch.rand(2, 4, 5, 6)
    assert F.scaled_dot_product_attention(q, k, k).stride() == (120, 6, 24, 1)
    one = torch.rand(2, 5, 1, 6).transpose(1, 2)
    assert F.scaled_dot_product_attention(one, one, one).stride() == (30, 6, 6, 1)
    assert F.scaled_dot_product_attention(k, q, q).stride() == (120, 30, 6, 1)


def test_one_place_in_channels_last_lies_so():
    x = torch.rand(2, 8, 7, 7).contiguous(memory_format=torch.channels_last).requires_grad_()
    y = F.adaptive_avg_pool2d(x, 1)
    assert y.stride() == (8, 1, 8, 8) and y.grad_fn.name() == "AsStridedBackward1"
    y.sum().backward()
    assert x.grad.stride() == x.stride() and torch.allclose(x.grad, torch.full((), 1 / 49))
    assert F.adaptive_avg_pool2d(x.detach().contiguous(), 1).stride() == (8, 1, 1, 1)


def test_a_part_of_channels_last_keeps_the_order():
    x = torch.rand(2, 8, 7, 7).contiguous(memory_format=torch.channels_last)[:, :4]
    assert x.sort(1)[0].stride() == F.prelu(x, torch.ones(4)).stride() == (196, 1, 28, 4)


def test_bias_of_another_dtype():
    x, w, b = torch.rand(2, 3, 4).double(), torch.rand(5, 4).double(), torch.rand(5).half()
    with pytest.raises(RuntimeError, match="self and mat2 must have the same dtype, but got Half and Double"):
        F.linear(x, w, b)
    assert F.linear(x.transpose(0, 1), w, b).dtype == torch.float64        # torch adds it in place there


def test_gradients_of_convolutions():
    x, w = torch.rand(2, 2, 5, 5, requires_grad=True), torch.rand(3, 2, 3, 3, requires_grad=True)
    y = F.conv2d(x, w, stride=2, padding=1)
    ct = torch.rand(y.shape)
    gx, gw = torch.autograd.grad(y, (x, w), ct)
    assert torch.equal(torch.nn.grad.conv2d_input(x.shape, w, ct, stride=2, padding=1), gx)
    assert torch.equal(F.grad.conv2d_weight(x, w.shape, ct, stride=2, padding=1), gw)


def test_bags_of_rows():
    w = torch.rand(4, 3, requires_grad=True)
    bags = torch.tensor([1, 2]), w, torch.tensor([0, 1])
    y = F.embedding_bag(*bags, sparse=True)
    assert torch.equal(y, F.embedding_bag(*bags))
    y.sum().backward()
    assert w.grad.is_sparse
    with pytest.raises(RuntimeError, match="padding_idx must be within the number of embeddings, -4 through 3, but got 4"):
        F.embedding_bag(*bags, padding_idx=4)
    with pytest.raises(RuntimeError, match=r"offsets\[-1\] can not be greater than input's length 2"):
        F.embedding_bag(*bags[:2], torch.tensor([0, 3]))


@pytest.mark.parametrize("mode, antialias, size, rows", [
    ("bilinear", False, (3, 5), [[10, 21, 33, 44, 55], [90, 101, 113, 124, 135], [170, 181, 193, 204, 215]]),
    ("bilinear", True, (3, 5), [[18, 29, 41, 52, 63], [90, 101, 113, 124, 135], [162, 173, 185, 196, 207]]),
    ("bicubic", False, (7, 2), [[0, 33], [23, 56], [60, 93], [96, 129], [132, 165], [169, 202], [192, 225]]),
    ("bicubic", True, (3, 5), [[11, 21, 34, 46, 57], [89, 100, 113, 125, 136], [168, 179, 192, 204, 215]])])
def test_bytes_are_interpolated_in_fixed_point(mode, antialias, size, rows):
    x = torch.arange(16).byte().view(1, 1, 4, 4) * 15
    assert F.interpolate(x, size=size, mode=mode, antialias=antialias).tolist() == [[rows]]


def test_embedding_bag_of_torch_says_where_its_rows_come_from():
    w, ids, starts = torch.tensor([[0., 9], [1, 1], [2, 0], [0, 3], [4, 4]]), torch.tensor([1, 2, 3, 4]), torch.tensor([0, 2])
    out, bag, sizes, rows = torch.embedding_bag(w, ids, starts, mode=2)
    assert (out.tolist() == [[2, 1], [4, 4]] and bag.tolist() == [0, 0, 1, 1] and sizes.tolist() == [2, 2]
            and rows.tolist() == [[2, 1], [4, 4]])
    out, bag, sizes, more = torch.embedding_bag(w, ids, starts, False, 1, False, None, False, 2)
    assert out.tolist() == [[1, 1], [2, 3.5]] and sizes.tolist() == more.tolist() == [1, 2]
    out, bag, sizes, _ = torch.embedding_bag(w, ids, starts)
    assert out.tolist() == [[3, 1], [4, 7]] and bag.tolist() == [] and sizes.tolist() == [0, 0]


def test_channels_last_stays_where_torch_joins_differences():
    x = torch.arange(72.0).reshape(2, 3, 4, 3).contiguous(memory_format=torch.channels_last)
    assert [y.is_contiguous(memory_format=torch.channels_last) for y in torch.gradient(x, dim=(1, 2, 3))] == [True] * 3
    first, _, _, last = torch.gradient(x[..., :2].contiguous(memory_format=torch.channels_last))       # no difference lies between two
    assert first.is_contiguous() and last.is_contiguous()


def test_channels_last_is_not_cloned_by_rms_norm():
    x = torch.ones(2, 3, 4, 2).contiguous(memory_format=torch.channels_last).requires_grad_()
    assert F.rms_norm(x, (2,)).grad_fn.name() == "MulBackward0"
    assert F.rms_norm(x.transpose(0, 1), (2,)).grad_fn.name() == "CloneBackward0"


def test_a_batch_norm_looks_past_dimensions_of_one_element():
    x = torch.arange(6.0).reshape(1, 3, 2, 1).permute(0, 2, 1, 3)
    assert x.stride() == (6, 1, 2, 1)
    for layer in (torch.nn.BatchNorm2d(2), torch.nn.BatchNorm2d(2).eval()):
        assert layer(x).stride() == (6, 1, 2, 2) and layer(x.contiguous()).stride() == (6, 3, 1, 1)
