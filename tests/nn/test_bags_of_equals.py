"""embedding_bag of rows that are equally large, or no numbers."""
import pytest

import torchshim as torch

NAN, INF = float("nan"), float("inf")
ROWS = [[1.0, 2.0], [1.0, 3.0], [0.0, 3.0], [NAN, 1.0]]


@pytest.mark.parametrize("bag, out, grad", [
    ([0, 1, 2], [1.0, 3.0], [[1, 0], [0, 1], [0, 0], [0, 0]]), ([2, 1, 0], [1.0, 3.0], [[0, 0], [1, 0], [0, 1], [0, 0]]),
    ([0, 0, 1], [1.0, 3.0], [[1, 0], [0, 1], [0, 0], [0, 0]]), ([0, 3, 1], [1.0, 3.0], [[1, 0], [0, 1], [0, 0], [0, 0]]),
    ([3, 0], [NAN, 2.0], [[0, 1], [0, 0], [0, 0], [1, 0]]), ([3, 3], [NAN, 1.0], [[0, 0], [0, 0], [0, 0], [1, 1]])])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_the_first_of_the_largest_gets_the_gradient(bag, out, grad, dtype):
    """All of it; a nan that comes first stays, a later one does not count."""
    w = torch.tensor(ROWS, dtype=dtype, requires_grad=True)
    made = torch.nn.functional.embedding_bag(torch.tensor([bag]), w, mode="max")
    made.sum().backward()
    assert made[0].nan_to_num(7.0).tolist() == [7.0 if x != x else x for x in out] and w.grad.tolist() == grad


def test_bags_without_rows_and_rows_without_bounds():
    """An empty bag, and one of nothing but a padding row, give zeros; -inf is a maximum like others."""
    w = torch.tensor([[-INF, 2.0], [-INF, 3.0]], requires_grad=True)
    made = torch.nn.functional.embedding_bag(torch.tensor([0, 1]), w, torch.tensor([0, 0, 2]), mode="max")
    torch.autograd.backward(made, torch.ones(3, 2))
    assert made.tolist() == [[0, 0], [-INF, 3.0], [0, 0]] and w.grad.tolist() == [[1, 0], [0, 1]]
    padded = torch.nn.functional.embedding_bag(torch.tensor([0, 1, 1]), w, torch.tensor([0, 2]), mode="max", padding_idx=1)
    assert padded.tolist() == [[-INF, 2.0], [0, 0]]
