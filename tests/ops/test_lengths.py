"""Lengths of complex numbers and of pairs are rounded once, as torch's are; isclose computes with them, and with the default dtype."""
import numpy as np
import pytest

import torchshim as torch

RE = [-1.2, 0.3, 2.7, 1e-30, 3e30, -0.7]
IM = [0.5, -2.1, 0.9, 2e-30, -1e30, 0.1]
EXACT = ["0x1.c034da35b003bp-2", "0x1.09e552ca9a8f2p-1", "0x1.1206c845f138fp+0", "0x1.9a8eaead77347p+0",
         "0x1.c37e98b6ccfa9p+0", "0x1.86d1dccd690cbp-2", "0x1.05b3f61ea4028p+1", "0x1.e4f795d7d63c5p-1"]
LENGTHS = ["0x1.4cccce0p+0", "0x1.0f876c0p+1", "0x1.6c4b5e0p+1", "0x1.6ad2a20p-99", "0x1.3f4ef60p+101", "0x1.6a09e60p-1"]


def test_abs_of_complex64_is_rounded_once():
    """NumPy's and XLA's are off by one in the last place for every third number."""
    z = torch.complex(torch.tensor(RE), torch.tensor(IM))
    assert z.abs().tolist() == [float.fromhex(h) for h in LENGTHS]
    assert torch.linalg.vector_norm(z[:3], float("inf")).item() == float.fromhex(LENGTHS[2])


def test_lengths_of_doubles_are_rounded_once():
    """Compared with 64 bits more; far from 1, where squares overflow or vanish, too."""
    g = np.random.default_rng(0)
    x, y = g.standard_normal((2, 2000))
    exact = np.array([float.fromhex(h) for h in EXACT])
    assert (torch.hypot(torch.tensor(x[:8]), torch.tensor(y[:8])).numpy() == exact).all()
    z = torch.complex(torch.tensor(x), torch.tensor(y))
    for scale in (1.0, 2.0 ** 700, 2.0 ** -700):
        assert np.abs(torch.abs(z * scale).numpy() / scale - np.hypot(x, y)).max() < 5e-16


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_lengths_at_infinity_nan_and_zero(dtype):
    """An infinite part decides, whatever the other one is."""
    inf, nan = float("inf"), float("nan")
    x, y = torch.tensor([0.0, -0.0, inf, nan, -inf, nan, 3.0], dtype=dtype), torch.tensor([0.0, 0.0, nan, 1.0, 1.0, -inf, 4.0], dtype=dtype)
    expected = torch.tensor([0.0, 0.0, inf, nan, inf, inf, 5.0], dtype=dtype)
    for made in (torch.hypot(x, y), torch.complex(x, y).abs()):
        assert torch.equal(made.nan_to_num(7.0, posinf=9.0), expected.nan_to_num(7.0, posinf=9.0)) and not made.signbit()[:2].any()


def test_the_slope_of_abs_is_a_direction():
    """Each part over the length; 0 at 0."""
    z = torch.tensor([3 + 4j, 0j, -1j], requires_grad=True)
    z.abs().sum().backward()
    assert z.grad.tolist() == [0.6000000238418579 + 0.800000011920929j, 0j, -1j]


@pytest.mark.parametrize("a, b, near", [(2 + 4j, 1 + 8.8523607j, True), (2 + 4j, 1 + 8.8523617j, False),
                                        (-2 ** 0.5 * (1 - 1j), -0.5 ** 0.5 * (1 - 1j), True), (1 + 99j, 4 + 100j, True)])
@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_isclose_of_complex_numbers_at_the_bound(a, b, near, dtype):
    """The last digit of a length decides."""
    assert torch.isclose(torch.tensor([a], dtype=dtype), torch.tensor([b], dtype=dtype), rtol=0.5, atol=0.5).item() is near


def test_isclose_of_integers_computes_in_the_default_dtype():
    """There 2**24 + 1 is 2**24; bools are numbers too."""
    a, b = torch.tensor([2 ** 24 + 1]), torch.tensor([2 ** 24])
    assert torch.isclose(a, b, rtol=0, atol=0.5).item() and not torch.isclose(a, b, rtol=0, atol=0).item()
    assert torch.isclose(torch.tensor([True]), torch.tensor([False]), atol=1).item()
    try:
        torch.set_default_dtype(torch.float64)
        assert not torch.isclose(a, b, rtol=0, atol=0.5).item()
    finally:
        torch.set_default_dtype(torch.float32)
