"""Protects bags of embeddings, names of children that move, lazy parameters, and the layouts of what a checkpoint runs again."""
import collections

import pytest

import torchshim as torch
from torchshim import nn
from torchshim.nn import functional as F


@pytest.mark.parametrize("ids, offsets, mode, padding, want", [
    ([[5, 4, 4]], None, "sum", None, [0, 0, 0, 0, 1, 0.5]),
    ([[3, 3, 3], [1, 1, 0]], None, "mean", None, [1 / 3, 1 / 3, 0, 0.5, 0, 0]),
    ([2, 2, 5, 3, 3, 3, 1], [0, 2, 2, 5], "sum", 3, [0, 1, 1, 0, 0, 1 / 3]),
])
def test_bags_count_rows_as_torch_does(ids, offsets, mode, padding, want):
    """Its kernel divides by the count of another row; the figures are torch's."""
    w = torch.ones(6, 2, requires_grad=True)
    F.embedding_bag(torch.tensor(ids), w, offsets if offsets is None else torch.tensor(offsets), mode=mode, scale_grad_by_freq=True,
                    padding_idx=padding).sum().backward()
    torch.testing.assert_close(w.grad[:, 0], torch.tensor(want, dtype=torch.float32))


def test_bags_refuse_in_torchs_order():
    w = torch.ones(6, 2)
    for given, error, text in (
            ((torch.tensor([1, 2]), w), ValueError, "offsets has to be a 1D Tensor but got None"),
            ((torch.tensor([[1, 2]]), w), ValueError, "max mode does not support scaling the gradient by the frequency"),
            ((torch.tensor([1, 2]), w, torch.tensor([1])), ValueError, "max mode does not support scaling")):
        with pytest.raises(error, match=text):
            F.embedding_bag(*given, mode="max", scale_grad_by_freq=True, sparse=True)
    with pytest.raises(IndexError, match=r"select\(\): index 7 out of range for tensor of size \[6, 2\] at dimension 0"):
        F.embedding_bag(torch.tensor([[7]]), w, max_norm=1.0)
    bag = nn.EmbeddingBag(6, 2, mode="sum", sparse=True, scale_grad_by_freq=True)
    with pytest.raises(RuntimeError, match="embedding_backward: scale_grad_by_freq not supported with sparse gradients"):
        bag(torch.tensor([[1, 2]])).sum().backward()


def test_what_is_inserted_moves_the_names_behind():
    named = nn.Sequential(collections.OrderedDict(a=nn.ReLU(), b=nn.Tanh()))
    with pytest.raises(KeyError, match="'1'"):
        named.insert(1, nn.ELU())
    for kind in (nn.Sequential, lambda *m: nn.ModuleList(m)):
        m = kind(nn.ReLU(), nn.Tanh())
        m.insert(-1 if kind is nn.Sequential else 1, nn.ELU())
        assert [(n, type(c).__name__) for n, c in m.named_children()] == [("0", "ReLU"), ("1", "ELU"), ("2", "Tanh")]


def test_a_parameter_that_waits_for_its_shape_has_one_dimension():
    assert [p.ndim for p in nn.LazyLinear(3).parameters()] == [1, 1]


def test_checkpoints_run_again_on_arguments_that_lie_as_they_did():
    from torchshim.utils.checkpoint import checkpoint
    x = torch.randn(2, 3, 4).transpose(0, 1).requires_grad_()
    layer, seen = nn.Linear(4, 4), []

    def run(v):
        seen.append(v.stride())
        return layer(v)
    checkpoint(run, x, use_reentrant=False).sum().backward()
    assert seen == [(4, 12, 1)] * 2 and x.grad.stride() == (4, 12, 1)


def test_the_graph_of_a_batched_layer_ends_in_a_sum():
    """One row and a bias: torch's batching rule adds the bias last."""
    for bias, name in ((True, "AddBackward0"), (False, "SqueezeBackward5")):
        assert type(torch.vmap(nn.Linear(4, 3, bias=bias))(torch.ones(6, 4)).grad_fn).__name__ == name


def test_distributions_keep_what_was_given_first():
    for d in (torch.distributions.Bernoulli(torch.tensor([0.3])), torch.distributions.Categorical(logits=torch.ones(3))):
        assert [k for k, v in vars(d).items() if isinstance(v, torch.Tensor)][0] in ("probs", "logits")
