"""torch.nested: what PyTorch 2.13 says of the same calls."""
import copy
import io

import pytest

import torchshim as torch
from torchshim import nn
from torchshim.nn import functional as F

A, B = torch.arange(6.0).reshape(2, 3), torch.arange(12.0).reshape(4, 3) / 10
LAYOUTS = pytest.mark.parametrize("layout", [torch.strided, torch.jagged], ids=str)


def nested(*parts, layout=torch.jagged, **kwargs):
    return torch.nested.nested_tensor(list(parts or (A, B)), layout=layout, **kwargs)


def shapes(nt):
    return [tuple(p.shape) for p in nt.unbind()]


def sums(nt):
    return [round(float(p.detach().double().sum()), 4) for p in nt.unbind()]


@LAYOUTS
def test_what_it_is(layout):
    nt = nested(layout=layout)
    assert nt.is_nested and nt.layout is layout and nt.dtype is torch.float32 and nt.dim() == 3 and nt.numel() == 18 and nt.nbytes == 72
    assert isinstance(nt, torch.Tensor) and nt.size(0) == 2 and nt.size(-1) == 3 and nt.is_leaf and not nt.requires_grad
    assert torch.equal(nt[1], B) and torch.equal(nt[1, 2], B[2]) and [p.shape for p in nt] == [A.shape, B.shape]
    assert nt.to_padded_tensor(-1.0).tolist()[0][2:] == [[-1] * 3] * 2
    assert torch.nested.to_padded_tensor(nt, 0.0, (2, 5, 3)).shape == (2, 5, 3)
    if layout is torch.strided:
        with pytest.raises(RuntimeError, match="Given dimension 1 is irregular and does not have a size."):
            nt.size(1)
        with pytest.raises(RuntimeError, match="NestedTensorImpl doesn't support sizes"):
            nt.shape
        assert repr(nested(torch.ones(1), layout=layout)) == "nested_tensor([\n  tensor([1.])\n])"
        with pytest.raises(RuntimeError, match="Truncation is not supported"):
            nt.to_padded_tensor(0.0, (2, 3, 3))
    else:
        assert nt.size(1) == (nt + 1).size(1) != nested().size(1) and nt.shape == (2, nt.size(1), 3)
        assert repr(nt) == f"NestedTensor(size=(2, {nt.size(1)}, 3), offsets=tensor([0, 2, 6]), contiguous=True)"
        assert nt.offsets().tolist() == [0, 2, 6] and nt.lengths() is None and nt.values().shape == (6, 3)


@LAYOUTS
@pytest.mark.parametrize("f, expected", [
    (lambda nt: nt + nt, [30.0, 13.2]), (lambda nt: 2 * nt - 1, [24.0, 1.2]), (lambda nt: nt / (nt + 1), [3.55, 3.8361]),
    (lambda nt: F.relu(nt - 1), [10.0, 0.1]), (F.gelu, [14.7917, 5.0862]), (lambda nt: nt > 1, [4, 1]), (torch.sin, [0.1762, 5.9051]),
    (lambda nt: F.softmax(nt, -1), [2.0, 4.0]), (lambda nt: F.softmax(nt, 1), [3.0, 3.0]), (lambda nt: nt.transpose(1, 2), [15.0, 6.6]),
    (lambda nt: F.linear(nt, torch.ones(5, 3), torch.ones(5)), [85.0, 53.0]), (lambda nt: nt.sum(-1, keepdim=True), [15.0, 6.6]),
    (lambda nt: torch.cat([nt, nt], -1), [30.0, 13.2]), (lambda nt: nt.unsqueeze(-1).squeeze(-1), [15.0, 6.6]), (torch.ones_like, [6, 12]),
    (lambda nt: nt.masked_fill(nt > 1, 0.0), [1.0, 5.5]), (lambda nt: nt.clone().add_(1), [21.0, 18.6]),
    (lambda nt: nt.to(torch.float64), [15.0, 6.6]), (lambda nt: F.dropout(nt, 0.0), [15.0, 6.6]),
    (lambda nt: F.layer_norm(nt, (3,), torch.ones(3), torch.ones(3)), [6.0, 12.0]),
])
def test_functions(layout, f, expected):
    made = f(nested(layout=layout))
    assert made.layout is layout and sums(made) == expected


def test_jagged_functions():
    nt, n3 = nested(), nested(torch.ones(2, 4, 6), torch.ones(3, 4, 6))
    assert sums(nt * torch.ones(2, 1, 3)) == sums(nt * torch.ones(3)) == [15.0, 6.6] and sums(nt @ torch.ones(3, 2)) == [30.0, 13.2]
    assert nt.sum().item() == pytest.approx(21.6) and nt.sum(1).tolist()[0] == [3, 5, 7] and shapes(nt.mean(-1)) == [(2,), (4,)]
    assert shapes(n3.unflatten(-1, (2, 3))) == [(2, 4, 2, 3), (3, 4, 2, 3)] and shapes(n3.flatten(2)) == [(2, 24), (3, 24)]
    assert shapes(n3.view(2, -1, 2, 12)) == shapes(n3.view(2, n3.size(1), 2, 12)) == [(2, 2, 12), (3, 2, 12)]
    assert [shapes(c) for c in n3.chunk(2, -1)] == [[(2, 4, 3), (3, 4, 3)]] * 2 and shapes(n3[..., :2]) == [(2, 4, 2), (3, 4, 2)]
    assert shapes(F.embedding(nested(torch.tensor([0, 1]), torch.tensor([2])), torch.ones(3, 4))) == [(2, 4), (1, 4)]
    q = n3.transpose(1, 2)
    assert shapes(F.scaled_dot_product_attention(q, q, q)) == shapes(q) == [(4, 2, 6), (4, 3, 6)] and not q.is_contiguous()
    assert torch.equal(nested(A, A).unbind()[0] @ nested(A, A).transpose(1, 2).unbind()[0], A @ A.mT)
    with pytest.raises(RuntimeError, match="cannot call binary pointwise function"):
        nt + nested(B, A)
    with pytest.raises(RuntimeError, match="does not support broadcasting when given a NestedTensor"):
        nested(layout=torch.strided) + nested(B, A, layout=torch.strided)
    with pytest.raises(NotImplementedError, match="sort of a nested tensor"):
        nt.sort()
    with pytest.raises(NotImplementedError, match="conv1d of a nested tensor"):
        F.conv1d(nt, torch.ones(1, 1, 1))


@LAYOUTS
def test_gradients(layout):
    nt, w = nested(layout=layout, requires_grad=True), torch.ones(5, 3, requires_grad=True)
    y = F.relu(F.linear(nt, w)) * 2
    assert y.requires_grad and not y.is_leaf and type(y.grad_fn).__name__ == "MulBackward0"
    y.to_padded_tensor(0.0).sum().backward()
    assert sums(nt.grad) == [60, 120] and w.grad.sum().item() == pytest.approx(216)
    a, b = A.clone().requires_grad_(), B.clone().requires_grad_()
    made = torch.nested.as_nested_tensor([a, b], layout=layout)
    (made * made).backward(torch.ones_like(made))
    assert torch.equal(a.grad, 2 * A) and torch.equal(b.grad, 2 * B)
    (g,) = torch.autograd.grad((nt * nt).to_padded_tensor(0.0).sum(), nt)
    assert sums(g) == [30.0, 13.2]


def test_constructors():
    v, offsets = torch.arange(18.0).view(6, 3), torch.tensor([0, 2, 6])
    x, y = (torch.nested.nested_tensor_from_jagged(t, offsets) for t in (v, 2 * v))
    assert (x.shape == y.shape and sums(x + y) == [45, 414]
            and sums(torch.nested.nested_tensor_from_jagged(v, lengths=torch.tensor([2, 4]))) == [15, 138])
    gaps = torch.nested.nested_tensor_from_jagged(v, torch.tensor([0, 3, 6]), torch.tensor([1, 2]))
    assert shapes(gaps) == [(1, 3), (2, 3)] and sums(gaps * 2) == [6, 138] and not gaps.is_contiguous()
    with pytest.raises(RuntimeError, match="At least one of offsets or lengths"):
        torch.nested.nested_tensor_from_jagged(v)
    with pytest.raises(RuntimeError, match="must have the same dimension. Found dimension 1 for Tensor at index 1 and dimension 2"):
        torch.nested.nested_tensor([A, torch.ones(3)])
    with pytest.raises(RuntimeError, match="only allows for a single ragged dimension"):
        nested(A, torch.ones(3, 4))
    with pytest.raises(TypeError, match="Only lists"):
        torch.nested.nested_tensor(3)
    assert (shapes(nested(A, torch.ones(3, 4), layout=torch.strided)) == [(2, 3), (3, 4)]
            and shapes(torch.nested.nested_tensor([[1, 2], [3.0]])) == [(2,), (1,)])
    chosen = torch.nested.masked_select(torch.arange(6.0).view(2, 3), torch.tensor([[True, False, True], [True, True, True]]))
    assert sums(chosen) == [2, 12]
    cut = torch.nested.narrow(torch.arange(24.0).view(2, 4, 3), 1, torch.tensor([0, 1]), torch.tensor([2, 3]), layout=torch.jagged)
    assert sums(cut) == [15, 171]
    mask = torch.tensor([[True, True, False], [True, True, True]])
    assert shapes(torch._nested_tensor_from_mask(torch.ones(2, 3, 4), mask)) == [(2, 4), (3, 4)]
    with pytest.raises(RuntimeError, match="left-aligned"):
        torch._nested_tensor_from_mask(torch.ones(2, 3, 4), ~mask)


@LAYOUTS
def test_copies_and_files(layout):
    nt, file = nested(layout=layout), io.BytesIO()
    torch.save(nt, file)
    file.seek(0)
    for other in (copy.deepcopy(nt), torch.load(file, weights_only=False)):
        assert other.layout is layout and sums(other) == sums(nt) and shapes(other) == shapes(nt)


def test_encoders_in_evaluation():
    torch.manual_seed(0)
    encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2).eval()
    parts = torch.randn(3, 8), torch.randn(5, 8)
    nt = nested(*parts, layout=torch.strided)
    with torch.no_grad():
        for got, part in zip(encoder(nt).unbind(), parts):
            torch.testing.assert_close(got, encoder(part[None])[0])
    with pytest.raises(AssertionError, match="outside of its fast path.*requires_grad"):
        encoder.layers[0].self_attn(nt, nt, nt)
    assert not torch.overrides.has_torch_function((nt,)) and torch.overrides.has_torch_function((nested(),))


def test_text_in_format_strings():
    nt = torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(1, 3)])
    assert f"{nt}" == str(nt)
    with pytest.raises(TypeError, match="unsupported format string"):
        f"{nt:.2f}"


def test_sizes_are_compared_with_nested_tensors_alone():
    nested, dense = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]), torch.ones(2)
    assert nested.is_same_size(torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]))
    for a, b in ((nested, dense), (dense, nested)):
        with pytest.raises(RuntimeError, match="Expected both self and other to be nested tensors."):
            a.is_same_size(b)


@LAYOUTS
def test_dropout_draws_for_every_probability(layout):
    """In training torch drops from nested tensors with native_dropout, which draws numbers also where nothing or everything is dropped."""
    nt = torch.nested.nested_tensor([torch.ones(3, 4), torch.ones(2, 4)], layout=layout)
    for f in (F.dropout, torch.dropout, lambda x, p, train: torch.native_dropout(x, p, train)[0]):
        for p, train in ((0.0, True), (1.0, True), (0.3, True), (0.3, False)):
            torch.manual_seed(0)
            got = torch.cat(f(nt, p, train).unbind())
            after = torch.rand(1)
            torch.manual_seed(0)
            want = torch.native_dropout(torch.ones(5, 4), p, train)[0]
            assert torch.equal(got, want) and torch.equal(after, torch.rand(1))


def test_the_first_strided_one_says_that_it_is_a_prototype(monkeypatch):
    monkeypatch.setattr(torch.nested, "_said", [])
    with pytest.warns(UserWarning, match="^The PyTorch API of nested tensors is in prototype stage") as found:
        for _ in range(2):
            torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
            torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)
    assert len(found) == 1


def test_shapes_of_jagged_ones_are_sizes():
    nt = torch.nested.nested_tensor([torch.ones(3, 2), torch.ones(2, 2)], layout=torch.jagged)
    j = nt.size(1)
    assert type(nt.shape) is torch.Size and repr(nt.shape) == f"torch.Size([2, {j}, 2])"
    assert repr(nt).startswith(f"NestedTensor(size=(2, {j}")
    assert type(nt.shape[1:]) is torch.Size and torch.Size([2, j]) + (2,) == nt.shape and nt.view(nt.shape).shape == nt.shape
    with pytest.raises(RuntimeError, match=rf"with inputs of shapes torch.Size\(\[2, {j}, 2\]\) and torch.Size\(\[5, 5\]\)$"):
        nt + torch.ones(5, 5)
    with pytest.raises(RuntimeError, match=rf"^view\(\): cannot view shape \(2, {j}, 2\) as \[3\]$"):
        nt.view(3)
    with pytest.raises(TypeError, match="takes an iterable of 'int'"):
        torch.Size([2, "a"])
