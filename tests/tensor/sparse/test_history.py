"""Protects the graph of sparse tensors: which gradients are sparse and which dense, nodes' names, writes in place, hooks, gradients of
gradients. The expectations are those of torch 2.13.
"""
import pytest

import torchshim as torch

INDEX = torch.tensor([[0, 1, 1, 2], [2, 0, 2, 1]])


def coo(requires_grad=True):
    return torch.sparse_coo_tensor(INDEX, [1.5, -2.0, 3.0, 0.25], (3, 4), is_coalesced=True, dtype=torch.float64,
                                   requires_grad=requires_grad)


def dense(*shape):
    return torch.arange(1.0, 1 + torch.Size(shape).numel(), dtype=torch.float64).reshape(shape).requires_grad_()


def gradient(f, *leaves):
    out = f(*leaves)
    out.backward(torch.ones(out.shape, dtype=out.dtype) if out.layout is torch.strided else out.detach())
    return out, leaves[0].grad


@pytest.mark.parametrize("name, f, layout, nnz", [
    ("ToDenseBackward0", lambda s: s.to_dense(), torch.sparse_coo, 4),
    ("ToDenseBackward0", lambda s: s.to_dense(masked_grad=False), torch.sparse_coo, 12),
    ("SumBackward0", lambda s: s.sum(), torch.strided, None),
    ("SumBackward0", lambda s: torch.sparse.sum(s), torch.sparse_coo, 4),
    ("SparseSumBackward0", lambda s: torch.sparse.sum(s, 0), torch.sparse_coo, 4),
    ("MmBackward0", lambda s: s @ dense(4, 2), torch.strided, None),
    ("SparseAddmmBackward0", lambda s: torch.sparse.mm(s, dense(4, 2)), torch.sparse_coo, 4),
    ("MulBackward0", lambda s: s * 2, torch.sparse_coo, 4),
    ("MulBackward0", lambda s: s * dense(3, 4), torch.sparse_coo, 4),
    ("AddBackward0", lambda s: dense(3, 4) + s, torch.strided, None),
    ("ValuesBackward0", lambda s: s.values(), torch.sparse_coo, 4),
    ("ToSparseCsrBackward0", lambda s: s.to_sparse_csr(), torch.sparse_coo, 4),
    ("SparseSoftmaxBackward0", lambda s: torch.sparse.softmax(s, 1), torch.sparse_coo, 4),
    ("TransposeBackward0", lambda s: s.transpose(0, 1), torch.sparse_coo, 4),
    ("AbsBackward0", lambda s: s.abs(), torch.sparse_coo, 4),
])
def test_gradients_are_as_sparse_as_torchs(name, f, layout, nnz):
    out, g = gradient(f, coo())
    assert type(out.grad_fn).__name__ == name and g.layout is layout and (nnz is None or g._nnz() == nnz)


def test_values_of_gradients():
    m = coo(False).to_dense()
    _, g = gradient(lambda s: torch.sparse.mm(s, dense(4, 2)), coo())
    assert torch.equal(g.to_dense(), torch.where(m == 0, 0, torch.ones(3, 2, dtype=torch.float64) @ dense(4, 2).detach().t()))
    _, g = gradient(lambda s: s * dense(3, 4), coo())
    assert torch.equal(g.to_dense(), m * dense(3, 4).detach() ** 2)
    d = dense(3, 4)
    _, g = gradient(lambda x: x.to_sparse() * 3, d)
    assert torch.equal(g, 9 * d.detach())
    _, g = gradient(lambda x: x.sparse_mask(coo(False)), dense(3, 4))
    assert g.layout is torch.strided and torch.equal(g, torch.where(m == 0, 0, dense(3, 4).detach()))
    with pytest.raises(NotImplementedError, match="^Could not run 'aten::cos' with arguments from the 'SparseCPU' backend"):
        gradient(lambda s: s.sin(), coo())
    with pytest.raises(RuntimeError, match="^expand is unsupported for Sparse tensors$"):
        gradient(lambda s: s.sum(0), coo())


def test_gradients_of_one_leaf_add_up():
    s = coo()
    for _ in range(2):
        torch.sparse.mm(s, torch.ones(4, 1, dtype=torch.float64)).sum().backward()
    assert s.grad.is_sparse and s.grad.coalesce().values().tolist() == [2.0] * 4
    s.sum().backward()
    assert s.grad.layout is torch.strided and torch.equal(s.grad, 1 + 2 * (s.detach().to_dense() != 0))
    g, = torch.autograd.grad((s * 3).to_dense().sum(), s)
    assert g.is_sparse and g.coalesce().values().tolist() == [3.0] * 4


def test_what_is_no_leaf_has_a_history_of_its_own():
    s, seen = coo(), []
    t = s * 2
    t.retain_grad()
    t.register_hook(lambda g: seen.append(g.layout))
    assert (not t.is_leaf and t.requires_grad and s.is_leaf and s.grad_fn is None
            and t.grad_fn.next_functions[0][0].name().endswith("AccumulateGrad"))
    torch.sparse.sum(t).backward()
    assert seen == [torch.sparse_coo] and t.grad.is_sparse and s.grad.coalesce().values().tolist() == [2.0] * 4
    with pytest.raises(RuntimeError, match="^Trying to backward through the graph a second time"):
        y = s * dense(3, 4)
        y.to_dense().sum().backward()
        y.to_dense().sum().backward()


def test_writes_in_place():
    s = coo()
    with pytest.raises(RuntimeError, match="^a leaf Variable that requires grad is being used in an in-place operation"):
        s.mul_(2)
    t = s.clone().mul_(3)
    assert type(t.grad_fn).__name__ == "MulBackward0" and t._version == 1
    torch.sparse.sum(t).backward()
    assert s.grad.coalesce().values().tolist() == [3.0] * 4
    u = s.detach().clone()
    d = dense(3, 4)
    product = d * u
    u.zero_()
    with pytest.raises(RuntimeError, match="has been modified by an inplace operation"):
        product.to_dense().sum().backward()
    x = dense(3, 4)
    y = x.clone()
    y.add_(coo())
    assert type(y.grad_fn).__name__ == "AddBackward0"
    y.sum().backward()
    assert x.grad.tolist() == [[1.0] * 4] * 3


def test_gradients_of_gradients():
    s, d = coo(), dense(4, 2)
    g, = torch.autograd.grad((torch.sparse.mm(s, d) ** 2).sum(), d, create_graph=True)
    g.sum().backward()
    m, e = s.detach().to_dense().requires_grad_(), d.detach().requires_grad_()
    h, = torch.autograd.grad(((m @ e) ** 2).sum(), e, create_graph=True)
    h.sum().backward()
    at = tuple(INDEX)
    assert torch.allclose(d.grad, e.grad) and s.grad.layout is torch.strided and torch.allclose(s.grad[at], m.grad[at])
    assert s.grad[0].tolist() == [33.0, 33.0, 66.0, 33.0]        # the gradient of a product is counted everywhere, that of sparse.mm is not


def test_a_function_of_the_users_may_take_and_give_sparse_tensors():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2
    s = coo()
    y = Double.apply(s)
    assert y.is_sparse and type(y.grad_fn).__name__ == "DoubleBackward"
    torch.sparse.sum(y).backward()
    assert s.grad.coalesce().values().tolist() == [2.0] * 4


def test_what_is_known_of_indices_is_forgotten_when_they_are_written():
    s = torch.sparse_coo_tensor([[0, 1], [1, 2]], [1.0, 2.0], (3, 3))
    x = torch.tensor([[1.0], [10.0], [100.0]], requires_grad=True)
    for _ in range(2):
        torch.sparse.mm(s, x).sum().backward()
        assert torch.sparse.mm(s, x).flatten().tolist() == [10.0, 200.0, 0.0]
    assert x.grad.flatten().tolist() == [0.0, 2.0, 4.0]
    s._indices()[1, 0] = 0
    assert torch.sparse.mm(s, x).flatten().tolist() == [1.0, 200.0, 0.0]
    x.grad = None
    torch.sparse.mm(s, x).sum().backward()
    assert x.grad.flatten().tolist() == [1.0, 0.0, 2.0]
    s.mul_(2).copy_(torch.sparse_coo_tensor([[2], [2]], [5.0], (3, 3)))
    assert torch.sparse.mm(s, x).flatten().tolist() == [0.0, 0.0, 500.0]
