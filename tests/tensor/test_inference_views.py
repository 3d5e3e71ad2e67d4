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
