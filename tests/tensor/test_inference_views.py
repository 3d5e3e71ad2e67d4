"""What is made of inference tensors: they have no views, in no mode."""
import torchshim as torch


def test_what_is_seen_of_an_inference_tensor_is_no_view():
    with torch.inference_mode():
        x = torch.stack([torch.ones(2), torch.ones(2)])
        inside = x[0]
    for y in (inside, x.view(-1), x[0], x[:], x.t(), x.detach(), x.chunk(2)[0], x.expand(3, 2, 2), x.unsqueeze(0)):
        assert y._base is None and not y._is_view() and y.is_inference()


def test_but_what_is_seen_in_inference_mode_of_another_is():
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        y = x.view(1, 2)
    assert y._base is x and y._is_view() and not y.is_inference() and y[0]._base is x


def test_pieces_made_in_inference_mode_count_for_themselves():
    x = torch.ones(4)
    with torch.inference_mode():
        pieces = x.unsafe_chunk(2)[0], x.unsafe_split(2)[0], x.unsafe_split_with_sizes([2, 2])[0], x.chunk(2)[0]
    x += 1
    assert [p._version for p in pieces] == [0, 0, 0, 1] and pieces[0].tolist() == [2, 2] and pieces[0]._base is x
    pieces[0].add_(1)
    assert (pieces[0]._version, x._version, x.tolist()) == (1, 1, [3, 3, 2, 2])
