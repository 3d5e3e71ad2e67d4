"""Short-time Fourier transforms: frames, a window, and a transform of each."""
from __future__ import annotations

from ...ops import fft as F
from ...ops.promotion import c_name, kind_of
from ...tensor.api.bind import call, function
from ...tensor.api.looked_up import looked_up
from ...tensor.api.complex import view_as_real
from ...tensor.api.creation import ones
from ...tensor.api.fft import scale_of
from ...tensor.api.signatures import ask_parser
from ...tensor.api.views import warn_once
from ...tensor.core.dtype import ALL
from ...tensor.core.handle import TensorBase
from .padding import pad as padded


def _described(x):
    return f"torch.{c_name(x.dtype.np)}Tensor", ", ".join(map(str, x.shape))


def _shown_window(window):
    return "None" if window is None else "{}{{[{}]}}".format(*_described(window))


def _flag(x):
    return "None" if x is None else int(x)


_PLAIN_WINDOW = "To suppress this warning and use a rectangular window, explicitly set `window=torch.ones(n_fft, device=<device>)`."


def _placed(window, n_fft, win_length, like):
    """The window in the middle of n_fft points."""
    if window is None:
        if win_length == n_fft:
            return None
        real = like.real.dtype if like.is_complex() else like.dtype
        window = ones(win_length, dtype=real, device=like.device)
    left = (n_fft - win_length) // 2
    return window if win_length == n_fft else padded(window, (left, n_fft - win_length - left))


@function()
@looked_up
def stft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect", normalized=False, onesided=None,
         return_complex=None, align_to_window=None):
    """The transforms (..., frequencies, frames) of windowed pieces of a signal, `hop_length` (n_fft // 4) apart.

    input: a signal, or a batch of them, real or complex. window: `win_length` (n_fft) weights. center: frames are centred on their
    times, the signal being padded by `pad_mode`. onesided: half of the frequencies (for real signals). return_complex: complex
    numbers, or pairs of real ones in a last dimension.
    """
    if window is None:
        warn_once("A window was not provided. A rectangular window will be applied,which is known to cause spectral leakage. Other windows "
                  "such as torch.hann_window or torch.hamming_window are recommended to reduce spectral leakage." + _PLAIN_WINDOW)
    hop = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    told = align_to_window
    if not center and align_to_window is None:
        align_to_window = False
    x = input
    if center:
        if align_to_window is not None:
            raise RuntimeError("stft align_to_window should only be set when center = false")
        if n_fft > 0:
            shape = x.shape
            x = padded(x.view([1] * (3 - x.ndim) + list(shape)), (n_fft // 2, n_fft // 2), pad_mode)
            x = x.view(*x.shape[-len(shape):]) if len(shape) else x
    if not (normalized.__class__ is bool and n_fft.__class__ is int and (window is None or isinstance(window, TensorBase))
            and all([flag is None or flag.__class__ is bool for flag in (onesided, return_complex)])):
        ask_parser("stft", (x, n_fft, hop_length, win_length, window, normalized, onesided, return_complex, align_to_window), {})
    complex_ = x.is_complex() or window is not None and window.is_complex()
    what = "stft({}[{}], n_fft={}, hop_length={}, win_length={}, window={}, normalized={}, onesided={}, return_complex={}, " \
        "align_to_window={}) ".format(*_described(x), n_fft, hop, win_length, _shown_window(window), int(normalized), _flag(onesided),
                                      _flag(return_complex), _flag(told))
    if return_complex is None and not complex_:
        raise RuntimeError("stft requires the return_complex parameter be given for real inputs, and will further require that "
                           "return_complex=True in a future PyTorch release.")
    if return_complex is not None and not return_complex and not complex_:
        warn_once("stft with return_complex=False is deprecated. In a future pytorch release, stft will return complex tensors for all "
                  "inputs, and return_complex=False will raise an error.\nNote: you can still call torch.view_as_real on the complex "
                  "output to recover the old return format.")
    if kind_of(x.dtype.np) < 2:
        raise RuntimeError(what + ": expected a tensor of floating point or complex values")
    if x.ndim not in (1, 2):
        raise RuntimeError(what + ": expected a 1D or 2D tensor")
    batch = x if x.ndim == 2 else x.unsqueeze(0)
    length = batch.shape[-1]
    if not 0 < n_fft <= length:
        raise RuntimeError(what + f": expected 0 < n_fft < {length}, but got n_fft={n_fft}")
    if hop <= 0:
        raise RuntimeError(what + f": expected hop_length > 0, but got hop_length={hop}")
    if not 0 < win_length <= n_fft:
        raise RuntimeError(what + f": expected 0 < win_length <= n_fft, but got win_length={win_length}")
    if window is not None and (window.ndim != 1 or window.shape[0] != win_length):
        raise RuntimeError(what + f": expected a 1D window tensor of size equal to win_length={win_length}, but got window with size "
                           f"{list(window.shape)}")
    onesided = not complex_ if onesided is None else onesided
    if onesided and complex_:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if align_to_window:
        left = (n_fft - win_length) // 2
        batch = padded(batch, (left, left))
    frames = batch.unfold(-1, n_fft, hop)
    window = _placed(window, n_fft, win_length, batch)
    if window is not None:
        frames = frames * window
    scale = "root" if normalized else "none"
    if frames.is_complex():
        out = call(F.fft_c2c, (frames, (2,), (n_fft,), scale, True))
    else:
        out = call(F.fft_r2c, (frames, (2,), (n_fft,), scale, onesided))
    out.transpose_(1, 2)
    if input.ndim == 1:
        out.squeeze_(0)
    return out if return_complex or return_complex is None else view_as_real(out)


@function()
def istft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None, length=None,
          return_complex=False):
    """The signal of which `stft` made `input`: the inverse transforms, windowed again, added up and divided by the sum of the squared
    windows, which must nowhere be 0 (it is looked at)."""
    if window is None:
        warn_once("A window was not provided. A rectangular window will be applied.Please provide the same window used by stft to make the "
                  "inversion lossless." + _PLAIN_WINDOW)
    hop = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    kind = "CPU" if input.device.type == "cpu" else input.device.type.upper()
    what = "istft({}{}Type[{}], n_fft={}, hop_length={}, win_length={}, window={}, center={}, normalized={}, onesided={}, length={}, " \
        "return_complex={}) ".format(kind, c_name(input.dtype.np), ", ".join(map(str, input.shape)), n_fft, hop, win_length,
                                     _shown_window(window), int(center), int(normalized), _flag(onesided),
                                     "None" if length is None else length, int(return_complex))
    if not input.is_complex():
        raise RuntimeError("istft requires a complex-valued input tensor matching the output from stft with return_complex=True.")
    if window is not None and window.is_complex() and not return_complex:
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    if not input.numel():
        raise RuntimeError(what + ": input tensor cannot be empty.")
    if input.ndim < 2:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-input.ndim - 1}, {input.ndim}], but got -3)")
    if input.ndim > 3:
        raise RuntimeError(what + f": expected a tensor with 3 or 4 dimensions, but got {input.ndim + 1}")
    bins = input.shape[-2]
    if return_complex and (onesided or onesided is None and bins != n_fft):
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    onesided = bins != n_fft if onesided is None else onesided
    if onesided and bins != n_fft // 2 + 1:
        raise RuntimeError(what + ": expected the frequency dimension (3rd to the last) of the input tensor to match n_fft / 2 + 1 when "
                           f"onesided=True, but got {bins}")
    if not onesided and bins != n_fft:
        raise RuntimeError(what + ": expected the frequency dimension (3rd to the last) of the input tensor to match n_fft when "
                           f"onesided=False, but got {bins}")
    if not 0 < hop <= win_length:
        raise RuntimeError(what + ": expected 0 < hop_length <= win_length")
    if not 0 < win_length <= n_fft:
        raise RuntimeError(what + ": expected 0 < win_length <= n_fft")
    if window is not None and (window.ndim != 1 or window.shape[0] != win_length):
        raise RuntimeError(what + ": Invalid window shape. window has to be 1D and length of `win_length`")
    x = (input if input.ndim == 3 else input.unsqueeze(0)).transpose(1, 2)
    frames = x.shape[1]
    real = ALL["float64"] if input.dtype.np.itemsize == 16 else ALL["float32"]
    window = _placed(window if window is not None else ones(win_length, dtype=real, device=input.device), n_fft, win_length, x)
    scale = scale_of("ortho" if normalized else "backward", False)
    if return_complex:
        pieces = call(F.fft_c2c, (x, (2,), (n_fft,), scale, False))
    else:
        pieces = call(F.fft_c2r, (x if onesided else x.narrow(2, 0, n_fft // 2 + 1), (2,), (n_fft // 2 + 1,), scale, n_fft))
    signal = call(F.overlap_add, (pieces * window, hop))
    weight = call(F.overlap_add, ((window * window).expand(1, frames, n_fft), hop))
    start = n_fft // 2 if center else 0
    whole = n_fft + hop * (frames - 1)
    end = whole if length is None and not center else whole - n_fft // 2 if length is None else min(start + length, whole)
    signal, weight = signal[:, start:end], weight[:, start:end]
    if not weight.is_meta and not bool((weight.abs().min() > 1e-11).item()):
        raise RuntimeError(what + "window overlap add min: 1\n[ CPUBoolType{} ]")
    signal = signal / weight
    if input.ndim == 2:
        signal = signal.squeeze(0)
    if length is not None and length > end - start:
        signal = padded(signal, (0, length - (end - start)))
    return signal
