"""torch.stft and torch.istft as calls of ATen's operators; see `decomposed`."""
from __future__ import annotations

import torchshim as torch

from ..tensor.core.layout import strided
from .decomposed import rule
from .python import do

_KINDS = {"constant": "constant_pad_nd", "reflect": "reflection_pad1d", "replicate": "replication_pad1d"}


@rule("functional.stft", "stft")
def _stft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect", normalized=False, onesided=None,
          return_complex=None, align_to_window=None):
    is_complex = input.is_complex() or window is not None and window.is_complex()
    if return_complex is None and not is_complex or align_to_window is not None or pad_mode not in _KINDS:
        return NotImplemented
    hop, width = n_fft // 4 if hop_length is None else hop_length, n_fft if win_length is None else win_length
    onesided = not is_complex if onesided is None else onesided
    if center:
        shape, side = list(input.shape), [n_fft // 2] * 2
        wide = do("view", input, [1] * (3 - len(shape)) + shape)
        wide = do(_KINDS[pad_mode], wide, side, *((0.0,) if pad_mode == "constant" else ()))
        input = do("view", wide, list(wide.shape[-len(shape):]))
    alone = input.ndim == 1
    if alone:
        input = do("unsqueeze", input, 0)
    window = _centred(window, n_fft, width, input)
    batch, length = input.shape
    frames = 1 + (length - n_fft) // hop
    a, b = input.stride()
    made = do("as_strided", input, [batch, frames, n_fft], [a, hop * b, b])
    if window is not None:
        made = do("mul.Tensor", made, window)
    made = do("_fft_c2c", made, [2], int(normalized), True) if made.is_complex() else do("_fft_r2c", made, [2], int(normalized), onesided)
    made = do("transpose_", made, 1, 2)
    if alone:
        made = do("squeeze_.dim", made, 0)
    return made if return_complex or return_complex is None else do("view_as_real", made)


def _centred(window, n_fft, width, like):
    """The window with nothing on both sides of it, as long as a frame; None where there is none."""
    if width >= n_fft:
        return window
    left = (n_fft - width) // 2
    made = do("zeros", [n_fft], dtype=like.dtype if window is None else window.dtype, layout=strided, device=like.device)
    part = do("slice.Tensor", made, 0, left, left + width)
    if window is None:
        do("fill_.Scalar", part, 1)
    else:
        do("copy_", part, window)
    return made


@rule("functional.istft", "istft")
def _istft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None, length=None,
           return_complex=False):
    hop, width = n_fft // 4 if hop_length is None else hop_length, n_fft if win_length is None else win_length
    if return_complex or window is not None and window.is_complex() or width != n_fft or input.ndim not in (2, 3) or onesided is False:
        return NotImplemented
    if onesided is None and input.shape[-2] != n_fft // 2 + 1:
        return NotImplemented
    input = do("view_as_real", input)
    if window is None:
        window = do("ones", [n_fft], dtype=input.dtype, device=input.device)
    alone = input.ndim == 3
    if alone:
        input = do("unsqueeze", input, 0)
    spectra = do("view_as_complex", do("transpose.int", input, 1, 2))
    frames = do("_fft_c2r", spectra, [2], 1 if normalized else 2, n_fft)
    frames = do("mul.Tensor", frames, do("view", window, [1, 1, n_fft]))
    batch, count = frames.shape[:2]
    whole = [batch, n_fft + hop * (count - 1)]
    made = do("unfold_backward", frames, whole, 1, n_fft, hop)
    weights = do("expand", do("pow.Tensor_Scalar", window, 2), [1, count, n_fft])
    weights = do("unfold_backward", weights, [1, whole[1]], 1, n_fft, hop)
    first = n_fft // 2 if center else 0
    end = first + length if length is not None else -(n_fft // 2) if center else whole[1]
    made, weights = [do("slice.Tensor", x, 1, first, end) for x in (made, weights)]
    small = do("lt.Scalar", do("min", do("abs", weights)), 1e-11)
    if do("equal", small, do("new_ones", small, [], dtype=torch.bool, layout=strided, device=small.device)):
        raise RuntimeError(f"istft(CPUComplexFloatType{list(input.shape[:-1])}, n_fft={n_fft}, hop_length={hop}, win_length={width}, "
                           "window=torch.FloatTensor{[%d]}, center=%d, normalized=%d, onesided=None, length=None, return_complex=0) window "
                           "overlap add min: 1" % (n_fft, center, normalized))
    made = do("div.Tensor", made, weights)
    if alone:
        made = do("squeeze.dim", made, 0)
    if length is not None and made.shape[-1] < length:
        made = do("constant_pad_nd", made, [0, length - made.shape[-1]])
    return made
