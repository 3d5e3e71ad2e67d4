"""Protects which functions have no out=: torch refuses it, and a program that passes it is wrong there, too."""
import pytest
import torchshim as torch

X, FOUR = torch.rand(3, 4), torch.rand(1, 4, 2, 2)


@pytest.mark.parametrize("name, args", [
    ("channel_shuffle", (FOUR, 2)), ("constant_pad_nd", (X, [1, 1], 1)), ("diag_embed", (X,)), ("diagonal_scatter", (X, X[0, :3])),
    ("select_scatter", (X, X[0], 0, 0)), ("nn.functional.glu", (X, 1)), ("pixel_shuffle", (FOUR, 2)), ("pixel_unshuffle", (FOUR, 2)),
    ("roll", (X, 1, 1)), ("rot90", (X,)), ("pdist", (X,)), ("prelu", (X, X[0, :1])), ("dist", (X, X)), ("corrcoef", (X,)), ("cov", (X,)),
    ("logdet", (X[:, :3],)), ("bilinear", (X, X, torch.rand(2, 4, 4))), ("scalar_tensor", (2,))])
def test_refused(name, args):
    f = torch
    for part in name.split("."):
        f = getattr(f, part)
    f(*args)
    with pytest.raises(TypeError, match=rf"^{name.rpartition('.')[2]}\(\) got an unexpected keyword argument 'out'$"):
        f(*args, out=torch.empty(0))


def test_a_scalars_tensor_is_made_as_told():
    assert torch.scalar_tensor(2, requires_grad=True).requires_grad and torch.scalar_tensor(2, layout=torch.strided).item() == 2
    assert torch.slice_scatter(X, X, out=torch.empty(0)).shape == X.shape
