"""Protects nested tensors on a buffer, which torchrl makes of split trajectories."""
import pytest

import torchshim as torch

SIZES = [[2, 3], [4, 3], [1, 3]]


def test_components_share_the_buffers_memory_and_gradients():
    sizes = torch.tensor(SIZES)
    strides, starts = torch._nested_compute_contiguous_strides_offsets(sizes)
    assert strides.tolist() == [[3, 1]] * 3 and starts.tolist() == [0, 6, 18] and strides.dtype is starts.dtype is torch.int64
    b = torch.arange(21.0)
    n = torch._nested_view_from_buffer(b, sizes, strides, starts)
    b[0] = 9
    assert (n.is_nested and n.layout is torch.strided and n[0].tolist() == [[9, 1, 2], [3, 4, 5]]
            and n.unbind()[2].tolist() == [[18, 19, 20]])
    n.unbind()[1].zero_()
    assert b[6:18].tolist() == [0] * 12
    b = torch.arange(23.0, requires_grad=True)
    (torch._nested_view_from_buffer(b, sizes, strides, starts + 2) * 2).to_padded_tensor(0.0).sum().backward()
    assert b.grad.tolist() == [0, 0] + [2] * 21


def test_components_that_lie_otherwise_are_refused():
    sizes = torch.tensor(SIZES)
    strides, starts = torch._nested_compute_contiguous_strides_offsets(sizes)
    with pytest.raises(NotImplementedError):
        torch._nested_view_from_buffer(torch.zeros(21), sizes, strides.flip(1), starts)
    with pytest.raises(RuntimeError):
        torch._nested_view_from_buffer(torch.zeros(20), sizes, strides, starts)
    assert [x.tolist() for x in torch._nested_compute_contiguous_strides_offsets(torch.tensor([[2], [4]]))] == [[[1], [1]], [0, 2]]


def test_references_of_rpc_have_a_class():
    assert not isinstance(3, torch._C._distributed_rpc.PyRRef)


def test_masked_select_takes_rows_along_the_last_dimension():
    x, mask = torch.arange(8.0).reshape(2, 2, 2), torch.tensor([[[1, 0], [1, 1]], [[0, 0], [0, 1]]], dtype=torch.bool)
    assert [r.tolist() for r in torch.nested.masked_select(x, mask).unbind()] == [[0.0], [2.0, 3.0], [], [7.0]]
    assert [r.tolist() for r in torch.nested.masked_select(x[0, 0], mask[0, 0]).unbind()] == [[0.0]]
