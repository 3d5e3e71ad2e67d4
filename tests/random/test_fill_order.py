"""In which order random numbers fill what does not lie row by row. Numbers are PyTorch 2.13's."""
import pytest

import torchshim as torch


def t(*shape):
    return (torch.arange(torch.Size(shape).numel()) * 7 % 11).reshape(shape) * 0.75


@pytest.mark.parametrize("made, first", [
    (lambda: torch.normal(t(3, 4), 0.5, out=t(4, 3).t()), [0.7704980373382568, 5.534215450286865, 2.4516735076904297, 7.298328399658203]),
    (lambda: torch.randn(4, 5, out=t(5, 4).t()), [1.5409960746765137, -1.0845223665237427, -0.7192575931549072, -0.8566746115684509]),
    (lambda: torch.rand(4, 5, out=t(5, 4).t()), [0.49625658988952637, 0.30742281675338745, 0.455627977848053, 0.022325754165649414]),
    (lambda: torch.randint(9, (4, 5), out=t(5, 4).t()), [8, 7, 1, 6]),
    (lambda: torch.normal(2., 1., (4, 5), out=t(5, 4).t()), [3.5409960746765137, 0.9154776334762573, 1.2807424068450928, 1.1433254480361938]),
    (lambda: torch.alpha_dropout(t(4, 3).t(), 0.5, True),
     [-0.7791939377784729, -0.7791939377784729, 6.762426853179932, 6.097622871398926]),
    (lambda: torch.normal(t(3, 4).bfloat16(), t(3, 4)), [0., 3.71875, -2.625, 11.75])])
def test_fills_follow_the_memory_they_fill(made, first):
    torch.manual_seed(0)
    assert made()[0, :4].double().tolist() == pytest.approx(first, rel=1e-6)
