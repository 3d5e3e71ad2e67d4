"""torch.nn.utils.rnn: sequences of different lengths side by side."""
import pytest

import torchshim as torch
from torchshim.nn.utils.rnn import pad_sequence


def test_rows_are_copied_into_the_result_which_is_shaped_as_the_first_sequence():
    """A later sequence is expanded to the first one's further dimensions, in values and gradients."""
    one, two = torch.ones(2, 2), torch.full((3, 1), 5.0, requires_grad=True)
    made = pad_sequence([one, two])
    assert made.tolist() == [[[1, 1], [5, 5]], [[1, 1], [5, 5]], [[0, 0], [5, 5]]]
    made.sum().backward()
    assert two.grad.tolist() == [[2], [2], [2]]


@pytest.mark.parametrize("shapes, message", [
    ([(2, 1), (3, 2)], "output with shape [3, 1] doesn't match the broadcast shape [3, 2]"),
    ([(2,), (3, 2)], "The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 1"),
    ([(2, 3), (3, 3, 1)], "output with shape [3, 3] doesn't match the broadcast shape [3, 3, 3]"),
    ([(), (3,)], "ArrayRef: invalid slice, N = 1; size = 0"),
])
def test_what_cannot_be_expanded_is_refused_as_by_copy(shapes, message):
    with pytest.raises(RuntimeError) as e:
        pad_sequence([torch.ones(s) for s in shapes])
    assert str(e.value) == message
