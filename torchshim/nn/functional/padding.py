"""pad, in all its modes."""
from __future__ import annotations

from ...ops import promotion as P
from ...ops.layout import lies_channels_last
from ...ops.nn import padding as ops
from ...tensor.api.bind import call
from ...tensor.core.dtype import bool as torch_bool


def pad(input, pad, mode="constant", value=None):
    """Widen the last len(pad) / 2 dimensions: pad = (before, after) of the last, then of the one before, …

    mode: "constant" (with `value`), "reflect", "replicate" or "circular". Negative widths cut.
    """
    pad = tuple(int(n) for n in pad)
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if mode == "constant":
        if isinstance(value, complex):
            raise TypeError("pad(): argument 'value' (position 4) must be float, not complex")
        if value is None:
            value = 0
        elif value.__class__ in (int, float):
            P.refuse_beyond(float(value), input._ts_meta.dtype)
        return call(ops.constant_pad_nd, (input, pad, value))
    if value is not None and value != 0:
        raise RuntimeError(f"Padding mode \"{mode}\" doesn't take in value argument")
    n, k = input.dim(), len(pad) // 2
    if len(pad) > 2 * n:
        raise RuntimeError(f"Padding length should be less than or equal to two times the input dimension but got padding length "
                           f"{len(pad)} and input of dimension {n}")
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if not (k in (1, 2, 3) and n in (k + 1, k + 2)):
        raise NotImplementedError(f"Padding size {len(pad)} is not supported for {n}D input tensor.\nSupported combinations for "
                                  "non-constant padding:\n  - 2D or 3D input: padding size = 2 (pads last dimension)\n  - 3D or 4D "
                                  "input: padding size = 4 (pads last 2 dimensions)\n  - 4D or 5D input: padding size = 6 (pads last "
                                  "3 dimensions)")
    if mode != "circular" and 0 in input.shape[n - k - 1:]:
        raise RuntimeError(f"Expected {k + 1}D or {k + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions "
                           f"for input, but got: {list(input.shape)}")
    for i in range(k):
        d, (a, b) = n - 1 - i, pad[2 * i:2 * i + 2]
        size = input.shape[d]
        if mode == "reflect" and (a >= size or b >= size):
            raise RuntimeError(f"Argument #{4 + 2 * i}: Padding size should be less than the corresponding input dimension, but got: "
                               f"padding ({a}, {b}) at dimension {d} of input {list(input.shape)}")
        if mode == "circular" and (a > size or b > size):
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if mode == "circular" and size + a + b < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
    if mode != "circular":
        _refuse_cut(mode, tuple(input.shape), pad)
    if mode != "circular" and input.dtype is torch_bool:
        name = f"{'reflection' if mode == 'reflect' else 'replication'}_pad{k}d"
        last = "_channels_last" * (n == k + 2 > 3 and lies_channels_last(input._ts_meta))
        raise NotImplementedError(f"\"{name}{last}\" not implemented for 'Bool'")
    return call(ops.pad_edge, (input, pad, mode))


def _refuse_cut(mode, shape, pad):
    """What is cut off must leave something where torch's kernels look, which is not everywhere."""
    k = len(pad) // 2
    out = [*shape[:-k], *[n + a + b for n, (a, b) in zip(shape[-k:], [pad[2 * i:2 * i + 2] for i in reversed(range(k))])]]
    if k == 1 and out[-1] < 1:
        raise RuntimeError(f"input (W: {shape[-1]}) is too small. Calculated output W: {out[-1]}")
    if min(out[-k:]) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(out[-k:])}: {out}")
