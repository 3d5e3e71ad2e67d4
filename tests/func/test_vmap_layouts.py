"""How the results of vmap lie in memory: as torch's, which batches elementwise operators where their operands lie."""
import pytest

import torchshim as torch


@pytest.mark.parametrize("f, dims, out, strides", [
    (lambda x: x * 2, 1, 2, (12, 1, 4)), (lambda x: x.sin(), 2, 0, (1, 12, 4)), (lambda x: x.cos() * 2, 1, 1, (12, 4, 1)),
    (lambda x: x.sum(0), 2, 0, (3, 1)), (lambda x: x @ x.t(), 2, 0, (4, 2, 1)), (lambda x: x.cumsum(0), 2, 0, (6, 3, 1)),
    (lambda x: x.t() + 1, 2, 0, (1, 4, 12)), (torch.exp, 2, 0, (1, 12, 4)), (lambda x: 1 / x, 2, 0, (1, 12, 4))])
def test_elementwise_functions_leave_the_batch_where_it_is(f, dims, out, strides):
    x = torch.arange(24.0).reshape(2, 3, 4)
    made = torch.func.vmap(f, in_dims=dims, out_dims=out)(x)
    assert made.stride() == strides
    assert torch.equal(made, torch.stack([f(e) for e in x.unbind(dims)], out))


def test_the_first_operand_says_how_two_lie():
    x, y = torch.ones(2, 3, 4), torch.ones(4, 2, 3)
    assert torch.func.vmap(torch.mul, in_dims=(2, 0))(x, y).stride() == (1, 12, 4)
    assert torch.func.vmap(torch.mul, in_dims=(0, 2))(y, x).stride() == (6, 3, 1)


def test_a_batch_that_is_last_of_one_dimension_is_not_moved():
    x = torch.ones(2, requires_grad=True)
    assert torch.func.vmap(lambda x: x * 2, in_dims=-1, out_dims=-1)(x).grad_fn.name() == "MulBackward0"
    assert torch.func.vmap(lambda x: x * 2, in_dims=-1, out_dims=-1)(x.expand(2, 2)).grad_fn.name() == "PermuteBackward0"
