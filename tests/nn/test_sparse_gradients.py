"""Protects embeddings with sparse gradients and the optimizers that take them. The numbers are those of torch 2.13."""
import subprocess
import sys

import pytest

import torchshim as torch
from torchshim import nn


def embedding(cls=nn.Embedding, **kwargs):
    e = cls(5, 2, sparse=True, **kwargs)
    with torch.no_grad():
        e.weight.copy_(torch.arange(10.0).reshape(5, 2))
    return e


def test_gradients_are_sparse_and_add_up():
    e = embedding()
    out = e(torch.tensor([[1, 2], [1, 4]]))
    assert type(out.grad_fn).__name__ == "EmbeddingBackward0"
    out.sum().backward()
    g = e.weight.grad
    assert g.is_sparse and not g.is_coalesced() and g._indices().tolist() == [[1, 2, 1, 4]] and g.shape == (5, 2)
    e(torch.tensor([0])).sum().backward()
    assert e.weight.grad is g and g._indices().tolist() == [[1, 2, 1, 4, 0]]
    (e.weight * 2).sum().backward()
    assert not e.weight.grad.is_sparse and e.weight.grad[:, 0].tolist() == [3.0, 4.0, 3.0, 2.0, 3.0]
    g, = torch.autograd.grad(e(torch.tensor([3, 3])).sum(), e.weight)
    assert g.is_sparse and g._values().tolist() == [[1.0, 1.0]] * 2


def test_a_dense_pass_after_a_sparse_one_is_as_before():
    e, w = embedding(), torch.ones(2, 2, requires_grad=True)
    for _ in range(4):
        w.grad = None
        e(torch.tensor([0, 1])).mm(w).sum().backward()
        assert w.grad.tolist() == [[2.0, 2.0], [4.0, 4.0]]


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags(mode):
    bag, plain = embedding(nn.EmbeddingBag, mode=mode, padding_idx=1), nn.EmbeddingBag(5, 2, mode=mode, padding_idx=1)
    plain.load_state_dict(bag.state_dict())
    index, offsets, factors = torch.tensor([1, 2, 2, 4, 1]), torch.tensor([0, 3, 3]), torch.tensor([0.5, 1, 2, 3, 4], requires_grad=True)
    given = {"per_sample_weights": factors} if mode == "sum" else {}
    grads = []
    for b in (bag, plain):
        factors.grad = None
        (b(index, offsets, **given) ** 2).sum().backward()
        grads.append((b.weight.grad.to_dense(), factors.grad))
    assert torch.equal(grads[0][0], grads[1][0]) and (mode == "mean" or torch.equal(grads[0][1], grads[1][1]))
    with pytest.raises(ValueError, match="max mode does not support sparse weights"):
        nn.EmbeddingBag(5, 2, sparse=True, mode="max")(index, offsets)


@pytest.mark.parametrize("cls, options, rows", [
    (torch.optim.SGD, {"lr": 0.1}, [[0.432, 0.648], [3.072, 3.584]]),
    (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}, [[-1.08, -1.62], [0.372, 0.434]]),
    (torch.optim.SparseAdam, {"lr": 0.1}, [[1.7006, 2.7004], [5.7002, 6.7001]]),
    (torch.optim.SparseAdam, {"lr": 0.1, "maximize": True}, [[2.3004, 3.3003], [6.3001, 7.3001]]),
    (torch.optim.Adagrad, {"lr": 0.1}, [[1.7758, 2.7744], [5.7729, 6.7727]]),
])
def test_optimizers(cls, options, rows):
    e = embedding()
    optimizer = cls(e.parameters(), **options)
    for _ in range(3):
        optimizer.zero_grad()
        (e(torch.tensor([1, 3, 1])) ** 2).sum().backward()
        optimizer.step()
    torch.testing.assert_close(e.weight.detach()[[1, 3]], torch.tensor(rows), rtol=1e-4, atol=1e-4)
    assert e.weight[0].tolist() == [0.0, 1.0] and e.weight[4].tolist() == [8.0, 9.0]


def test_other_optimizers_refuse():
    e = embedding()
    e(torch.tensor([1])).sum().backward()
    for cls, text in ((torch.optim.Adam, "Adam does not support sparse gradients, please consider SparseAdam instead"),
                      (torch.optim.RMSprop, "RMSprop does not support sparse gradients")):
        with pytest.raises(RuntimeError, match=f"^{text}$"):
            cls(e.parameters()).step()


def test_hooks_zeros_and_scaled_losses():
    e = embedding()
    optimizer = torch.optim.SGD(e.parameters(), lr=0.5)
    seen = []
    e.weight.register_hook(lambda g: seen.append(g.is_sparse))
    e(torch.tensor([1])).sum().backward()
    optimizer.zero_grad(set_to_none=False)
    assert seen == [True] and e.weight.grad._nnz() == 0
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    scaler.scale(e(torch.tensor([1])).sum()).backward()
    scaler.step(optimizer)
    assert e.weight[1].tolist() == [1.5, 2.5] and e.weight[2].tolist() == [4.0, 5.0]


def test_sparse_gradients_are_added_as_their_values_lie():
    """Those of a sum lie on one element, and are strung together; others are walked through from the first place to the last."""
    w, at = torch.ones(10, 2, requires_grad=True), torch.tensor([7, 1, 3])
    for _ in range(2):
        torch.nn.functional.embedding(at, w, sparse=True).sum().backward()
    assert w.grad._indices().tolist() == [[7, 1, 3, 7, 1, 3]] and w.grad._values().eq(1).all()
    w.grad = None
    for _ in range(2):
        torch.nn.functional.embedding(at, w, sparse=True).square().sum().backward()
    assert w.grad._indices().tolist() == [[7, 1, 3]] and w.grad._values().eq(4).all()


def test_leaves_do_not_share_sparse_gradients():
    """A gradient that goes to two leaves is the first one's own; the other gets a copy."""
    a, b = torch.ones(10, 3, requires_grad=True), torch.ones(10, 3, requires_grad=True)

    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a + b

        @staticmethod
        def backward(ctx, g):
            return g, g
    bags = torch.nn.functional.embedding_bag(torch.tensor([1, 2, 4]), Both.apply(a, b), torch.tensor([0, 2]), sparse=True)
    bags.sum().backward()
    a.grad._values().mul_(5)
    assert b.grad._values().tolist() == [[0.5] * 3, [0.5] * 3, [1.0] * 3]


@pytest.mark.parametrize("rows", [0, 10])
def test_sparse_gradients_of_rows_without_elements(rows):
    """They have no places."""
    w = torch.ones(rows, 0, requires_grad=True)
    torch.nn.functional.embedding(torch.tensor([[0, 2], [4, 4]][:rows], dtype=torch.int64), w, sparse=True).sum().backward()
    assert w.grad.is_sparse and w.grad.shape == (rows, 0) and w.grad._indices().shape == (1, 0)


def test_a_dense_gradient_with_a_history_joins_a_sparse_one():
    """The sum is dense."""
    p = torch.tensor([1.5, 1.5], requires_grad=True)
    p.grad = torch.sparse_coo_tensor([[1, 1]], [1.0, 1.0], check_invariants=False)
    p.backward(torch.tensor([1.5, 1.5]), create_graph=True)
    assert p.grad.tolist() == [1.5, 3.5]


@pytest.mark.parametrize("held, given, made", [(True, False, [1.0, 3.0]), (False, True, [1.0, 3.0]), (True, True, [0.0, 4.0]), (None, True, [0.0, 2.0])])
def test_the_first_sparse_gradient_of_a_program(held, given, made):
    """Backward passes do not know of sparse gradients before there is one: one that is assigned, or given to backward, counts."""
    program = f"""
import torchshim as torch
sparse = lambda: torch.sparse_coo_tensor([[1, 1]], [1.0, 1.0], check_invariants=False)
p = torch.ones(2, requires_grad=True)
p.grad = {{True: sparse, False: lambda: torch.ones(2), None: lambda: None}}[{held}]()
p.backward(sparse() if {given} else torch.ones(2))
print(p.grad.to_dense().tolist())
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == str(made), done.stderr


def test_one_index_beside_a_padding_has_no_sparse_gradient():
    weight = torch.ones(5, 2, requires_grad=True)
    torch.nn.functional.embedding(torch.tensor(3), weight, sparse=True).sum().backward()
    assert weight.grad._indices().tolist() == [[3]]
    with pytest.raises(IndexError, match="^too many indices for tensor of dimension 0"):
        torch.nn.functional.embedding(torch.tensor(3), weight, padding_idx=1, sparse=True).sum().backward()
