"""Forward derivatives through views in place, scatters and unpooling. Expectations are PyTorch 2.13's."""
import pytest

import torchshim as torch

fw = torch.autograd.forward_ad


@pytest.mark.parametrize("f, tangent_of", [
    (lambda x: x.view(2, 2).clone().transpose_(0, 1), [[1.0, 3.0], [2.0, 4.0]]),
    (lambda x: (x * 2).unsqueeze_(0), [[2.0, 4.0, 6.0, 8.0]]),
    (lambda x: torch.select_scatter(torch.zeros(2, 4), x, 0, 1), [[0.0] * 4, [1.0, 2.0, 3.0, 4.0]]),
    (lambda x: torch.diagonal_scatter(x.view(2, 2), x[:2]), [[1.0, 2.0], [3.0, 2.0]]),
    (lambda x: torch.slice_scatter(x, x[:2] * 3, 0, 1, 3), [1.0, 3.0, 6.0, 4.0]),
    (lambda x: torch.stft(x, 2, 1, center=False, window=torch.ones(2), return_complex=True).real, [[3.0, 5.0, 7.0], [-1.0, -1.0, -1.0]]),
    (lambda x: torch.nn.functional.max_unpool1d(x[None, None], torch.tensor([[[0, 2, 2, 3]]]), 1)[0, 0], [1.0, 0.0, 3.0, 4.0])])
def test_tangents_alone_pass_writes_and_views_in_place(f, tangent_of):
    """Of several values that max_unpool puts in one place the last stays, and so does its tangent."""
    with fw.dual_level():
        assert torch.allclose(fw.unpack_dual(f(fw.make_dual(torch.ones(4), torch.tensor([1.0, 2.0, 3.0, 4.0]))))[1], torch.tensor(tangent_of))
