"""copy and deepcopy of tensors: whose memory, gradients and counts of writes they have."""
import copy

import pytest

import torchshim as torch


@pytest.mark.parametrize("made", [
    lambda: torch.ones(2, requires_grad=True), lambda: torch.ones(2, requires_grad=True) * 1, lambda: torch.ones(3)[1:],
    lambda: torch.ones(2).add_(1), lambda: torch.nn.Parameter(torch.ones(2))])
def test_a_copy_is_a_leaf_of_its_own_on_the_same_memory(made):
    x = made()
    before, values, marked = x._version, x.tolist(), type(x) is torch.nn.Parameter
    if x.is_leaf and x.requires_grad:
        (x * 2).sum().backward()
    y = copy.copy(x)
    assert (y.is_leaf, y.requires_grad, y.grad, y.grad_fn, y._version) == (True, x.requires_grad, None, None, int(not marked))
    assert type(y) is type(x) and not y._is_view()
    with torch.no_grad():
        y.add_(1)
    assert x.tolist() == [v + 1 for v in values] and (x._version, y._version) == (before, 1 + int(not marked))


def test_a_deep_copy_counts_one_write_and_aliases_each_for_itself():
    x = torch.ones(3, 2)
    a, b = copy.deepcopy([x, x[1:].t()])
    assert a._version == b._version == 1
    a += 1
    assert (a._version, b._version, b.tolist(), x._version) == (2, 1, [[2, 2], [2, 2]], 0)
    assert copy.deepcopy(torch.nn.BatchNorm1d(2)).weight._version == 0
