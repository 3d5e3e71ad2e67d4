"""Sobol' points are PyTorch 2.13's, scrambled ones too; a draw goes on where the last one ended."""
import pytest

from torchshim.quasirandom import SobolEngine


def test_points():
    e = SobolEngine(3)
    assert e.draw(4).tolist() == [[0, 0, 0], [.5, .5, .5], [.75, .25, .25], [.25, .75, .75]]
    assert e.draw(2).tolist() == [[.375, .375, .625], [.875, .875, .125]]
    assert e.fast_forward(3).draw(1).tolist() == [[.6875, .8125, .4375]] and e.num_generated == 10
    assert e.reset().draw(1).tolist() == [[0, 0, 0]]
    assert SobolEngine(1111).draw(64).sum().item() == 34996.5


def test_scrambled():
    e = SobolEngine(2, scramble=True, seed=3)
    assert e.draw(3).flatten().tolist() == pytest.approx([.0685, .2245, .6215, .7231, .9612, .4931], abs=1e-4)
    assert e.shift.tolist() == [73513868, 241083994] and repr(e) == "SobolEngine(dimension=2, scramble=True, seed=3)"


def test_refusals():
    with pytest.raises(ValueError, match=r"Supported range of dimensionality for SobolEngine is \[1, 21201\]"):
        SobolEngine(30000)
    with pytest.raises(NotImplementedError, match="more than 1111 dimensions"):
        SobolEngine(2000)
    e = SobolEngine(1)
    e.draw(3)
    with pytest.raises(ValueError, match="n=3\\+2\\*\\*2=7"):
        e.draw_base2(2)
