"""Fourier transforms: values against NumPy, sizes, norms, layouts, gradients, errors; stft and its inverse; windows.
Expectations are PyTorch 2.13's."""
import warnings

import numpy as np
import pytest

import torchshim as torch

X = torch.randn(4, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
Z = torch.randn(4, 6, dtype=torch.complex128, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("norm", [None, "forward", "ortho"])
@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
def test_values(name, norm):
    x = X if name in ("rfft", "ihfft") else Z
    for n, dim in ((None, -1), (5, 0), (9, 1)):
        ours = getattr(torch.fft, name)(x, n, dim, norm)
        assert np.allclose(ours.resolve_conj().numpy(), getattr(np.fft, name)(x.numpy(), n, dim, norm))
    if name in ("fft", "ifft", "rfft", "irfft"):
        ours = getattr(torch.fft, name + "n")(x, (3, 8), norm=norm)
        assert np.allclose(ours.numpy(), getattr(np.fft, name + "n")(x.numpy(), (3, 8), (0, 1), norm))


def test_half_transforms_of_several_dimensions_invert():
    h = torch.fft.ihfftn(X)
    assert torch.allclose(torch.fft.hfftn(h, X.shape), X) and h.stride() == (1, 4)
    assert torch.allclose(torch.fft.irfft2(torch.fft.rfft2(X), X.shape), X)


def test_layouts_and_names():
    b = torch.zeros(2, 3, 4, 5).permute(2, 0, 3, 1).requires_grad_()
    y = torch.fft.fft(b, dim=1)
    assert y.grad_fn.name() == "FftR2CBackward0" and y.stride() == (10, 1, 2, 40)
    assert torch.fft.ifft(b).grad_fn.name() == "ConjBackward0" and torch.fft.irfft(b).grad_fn.name() == "FftC2RBackward0"
    assert torch.fft.fft(X, n=9, dim=0).stride() == (1, 9)


@pytest.mark.parametrize("f, x",
    [(torch.fft.fftn, Z), (torch.fft.rfft, X), (torch.fft.irfft, Z), (torch.fft.hfft2, Z), (torch.fft.ihfftn, X)])
def test_gradients(f, x):
    assert torch.autograd.gradcheck(f, x[:3, :3].clone().requires_grad_(), nondet_tol=1e-10)


def test_errors():
    with pytest.raises(RuntimeError, match=r"Invalid number of data points \(0\) specified"):
        torch.fft.fft(X, 0)
    with pytest.raises(RuntimeError, match="rfft expects a real input tensor, but got ComplexDouble"):
        torch.fft.rfft(Z)
    with pytest.raises(RuntimeError, match="FFT dims must be unique"):
        torch.fft.fft2(X, dim=(0, 0))
    with pytest.raises(RuntimeError, match='Invalid normalization mode: "x"'):
        torch.fft.fft(X, norm="x")
    with pytest.raises(RuntimeError, match="Unsupported dtype Half"):
        torch.fft.fft(X.half())


def test_frequencies():
    assert torch.fft.fftfreq(5, 2.).tolist() == pytest.approx([0, .1, .2, -.2, -.1])
    assert torch.fft.rfftfreq(4).tolist() == [0, .25, .5] and torch.fft.fftshift(torch.arange(5)).tolist() == [3, 4, 0, 1, 2]


@pytest.mark.parametrize("hop", [1, 4, 5])
def test_stft_inverts(hop):
    x, w = torch.arange(60.).sin(), torch.hann_window(20)
    z = torch.stft(x, 20, hop, window=w, return_complex=True)
    assert z.shape == (11, 60 // hop + 1) and z.stride() == (1, 11)
    assert torch.allclose(torch.istft(z, 20, hop, window=w, length=60), x, atol=1e-5)


def test_stft_errors():
    x = torch.zeros(2, 100)
    with pytest.raises(RuntimeError, match="stft requires the return_complex parameter be given for real inputs"):
        torch.stft(x, 16)
    with pytest.raises(RuntimeError, match=r"stft\(torch.FloatTensor\[2, 116\], n_fft=16, hop_length=4, win_length=20, window=None, "
                                           r".*expected 0 < "):
        torch.stft(x, 16, win_length=20, return_complex=True)
    z = torch.stft(x, 16, return_complex=True)
    with pytest.raises(RuntimeError, match="window overlap add min: 1"):
        torch.istft(z, 16, window=torch.hann_window(16), center=False)


@pytest.mark.parametrize("align", [True, False])
def test_frames_of_centred_transforms_cannot_be_aligned(align):
    with pytest.raises(RuntimeError, match="stft align_to_window should only be set when center = false"):
        torch.stft(torch.zeros(40), 16, window=torch.ones(16), return_complex=True, align_to_window=align)


def test_pairs_of_real_numbers_are_on_their_way_out():
    """Said for a real signal only; a complex one may ask for pairs."""
    torch.set_warn_always(True)
    with pytest.warns(UserWarning, match="stft with return_complex=False is deprecated"):
        assert torch.stft(torch.zeros(40), 16, window=torch.ones(16), return_complex=False).shape == (9, 11, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.stft(torch.zeros(40).cfloat(), 16, window=torch.ones(16), return_complex=False)
    torch.set_warn_always(False)


@pytest.mark.parametrize("named, text", [
    (dict(dtype=torch.long), "expects floating point dtypes, got: TensorOptions(dtype=long int, device=cpu, layout=Strided (default), "),
    (dict(dtype=torch.half, layout=torch.sparse_coo), "is not implemented for sparse types, got: TensorOptions(dtype=c10::Half, device=cpu, "
                                                      "layout=Sparse, ")])
def test_windows_that_are_none(named, text):
    with pytest.raises(RuntimeError) as caught:
        torch.hann_window(3, **named)
    assert str(caught.value) == f"hann_window {text}requires_grad=false (default), pinned_memory=false, memory_format=(nullopt))"


def test_windows():
    assert torch.hann_window(4).tolist() == pytest.approx([0, .5, 1, .5], abs=1e-6)
    assert torch.bartlett_window(5, False).tolist() == [0, .5, 1, .5, 0]
    assert torch.kaiser_window(4, True, 2.).tolist() == pytest.approx([.438676, .834762, 1, .834762], abs=1e-5)
    assert torch.signal.windows.gaussian(3, std=2.).tolist() == pytest.approx([.882497, 1, .882497], abs=1e-5)
    assert torch.signal.windows.nuttall(1).tolist() == [1] and torch.hamming_window(0).shape == (0,)
    with pytest.raises(ValueError, match="Tau must be positive, got: 0 instead"):
        torch.signal.windows.exponential(3, tau=0)


def test_whole_transforms_of_real_numbers_are_those_of_complex_ones():
    """Interpreted they are made of their first half: of all lengths, dimensions in any order, cut or filled up, scaled."""
    torch.manual_seed(0)
    for shape, dims, s in (((1,), (0,), None), ((2,), (0,), None), ((5,), (0,), (7,)), ((8,), (0,), (5,)), ((4, 5), (0, 1), None),
                           ((4, 5), (1, 0), None), ((3, 4, 6), (2, 0), (5, 4)), ((2, 3, 4), (0, 1, 2), (2, 2, 2)),
                           ((1, 6, 1), (1, 2), None), ((3, 5, 4), (1,), None)):
        for norm in (None, "ortho", "forward"):
            x = torch.randn(*shape, dtype=torch.float64)
            whole, want = torch.fft.fftn(x, s=s, dim=dims, norm=norm), torch.fft.fftn(x + 0j, s=s, dim=dims, norm=norm)
            assert whole.dtype == torch.complex128 and torch.allclose(whole, want, rtol=1e-12, atol=1e-12)
            assert torch.fft.fftn(x.float(), s=s, dim=dims, norm=norm).dtype == torch.complex64
    assert torch.fft.fft(torch.zeros(0, 4)).shape == (0, 4)
