"""Protects what functions say of fake tensors where only values would tell: the operator that asks for them, as in PyTorch."""
import pytest

import torchshim as torch
from torchshim._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException, FakeTensorMode

F = torch.nn.functional


@pytest.mark.parametrize("call, kind, operator", [
    (lambda x, i: torch.unique(x), DynamicOutputShapeException, "aten._unique2.default"),
    (lambda x, i: torch.unique(x, dim=0), DynamicOutputShapeException, "aten.unique_dim.default"),
    (lambda x, i: torch.bincount(i), DynamicOutputShapeException, "aten.bincount.default"),
    (lambda x, i: torch.repeat_interleave(x, i, 0), DynamicOutputShapeException, "aten.repeat_interleave.Tensor"),
    (lambda x, i: torch.nonzero(x), DynamicOutputShapeException, "aten.nonzero.default"),
    (lambda x, i: torch.allclose(x, x), DataDependentOutputException, "aten.allclose.default"),
    (lambda x, i: F.one_hot(i), DataDependentOutputException, "aten._local_scalar_dense.default"),
    (lambda x, i: torch.is_nonzero(x[0, 0]), DataDependentOutputException, "aten._local_scalar_dense.default")])
def test_what_asks_for_values_says_so(call, kind, operator):
    with FakeTensorMode() as mode:
        x, i = mode.from_tensor(torch.rand(3, 4)), mode.from_tensor(torch.tensor([1, 2, 0]))
        with pytest.raises(kind) as raised:
            call(x, i)
    assert str(raised.value) == operator


def test_repetitions_of_a_known_length_have_a_shape():
    with FakeTensorMode() as mode:
        x = mode.from_tensor(torch.rand(3, 4))
        assert torch.repeat_interleave(x, 2, 0).shape == (6, 4) and torch.cov(x).shape == (3, 3)
