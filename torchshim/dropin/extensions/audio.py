"""torchaudio's compiled operators: recursive filters, alignment of labels with frames, the loss of recurrent transducers."""
from __future__ import annotations

import numpy as np

from .declared import declare


@declare("_torchaudio", "cuda_version() -> int?")
def cuda_version():
    """None: made without CUDA."""


@declare("_torchaudio", "is_align_available() -> bool")
def is_align_available():
    """True."""
    return True


@declare("torchaudio", "_lfilter_core_loop(Tensor input_signal_windows, Tensor a_coeff_flipped, Tensor(a!) padded_output_waveform) "
         "-> Tensor(a!)", where="lfilter_core_loop", writes=(2,))
def lfilter_core_loop(signal, coefficients, output):
    """output (batch, channels, time + order - 1), filled from its place order - 1 on: each sample less what those before it weigh."""
    order = coefficients.shape[1]
    weights = np.broadcast_to(coefficients.T[:, None], (order, *signal.shape[:2]))
    made = np.moveaxis(output, 2, 0).copy()
    for i, sample in enumerate(np.moveaxis(signal, 2, 0).copy()):
        for j in range(order):
            sample -= made[i + j] * weights[j]
        made[i + order - 1] = sample
    return (np.moveaxis(made, 0, 2),)


@declare("torchaudio", "_overdrive_core_loop(Tensor waveform, Tensor temp, Tensor(a!) last_in, Tensor(b!) last_out, Tensor(c!) "
         "output_waveform) -> (Tensor(a!), Tensor(b!), Tensor(c!))", where="overdrive_core_loop", writes=(2, 3, 4))
def overdrive_core_loop(waveform, temp, last_in, last_out, output):
    """Sox's overdrive: temp (channels, time) without its slow part, mixed with the waveform."""
    kind = waveform.dtype.type
    output, slow, half, part = output.copy(), kind(.995), kind(.5), kind(.75)
    for i, now in enumerate(temp.T.copy()):
        last_out = now - last_in + slow * last_out
        last_in = now
        output[:, i] = waveform[:, i] * half + last_out * part
    return last_in, last_out, output


@declare("torchaudio", "forced_align(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank) "
         "-> (Tensor, Tensor)", where="forced_align_impl")
def forced_align(log_probs, targets, input_lengths, target_lengths, blank):
    """The labels (1, time) of the likeliest path that reads targets (1, length) with blanks between, and log_probs (1, time, classes)
    themselves.

    RuntimeError for batches of more than one and for targets that are too long.
    """
    _require(log_probs.dtype.kind == "f", "log_probs must be float64, float32 or float16 (half) type")
    _require(targets.dtype in (np.int32, np.int64), "targets must be int32 or int64 type")
    _require(log_probs.ndim == 3, "log_probs must be 3-D (batch_size, input length, num classes)")
    _require(targets.ndim == 2, "targets must be 2-D (batch_size, target length,)")
    _require(input_lengths.ndim == 1, "input_lengths must be 1-D (batch_size,)")
    _require(target_lengths.ndim == 1, "target_lengths must be 1-D (batch_size,)")
    _require(len(log_probs) == 1, "The batch dimension for log_probs must be 1 at the current version.")
    _require(len(targets) == 1, "The batch dimension for targets must be 1 at the current version.")
    _require(0 <= blank < log_probs.shape[2], "blank must be within [0, num classes)")
    _require(log_probs.shape[1] == input_lengths.max(), "input length mismatch")
    _require(targets.shape[1] == target_lengths.max(), "target length mismatch")
    scores, labels = log_probs[0], targets[0]
    frames, length = len(scores), len(labels)
    repeats = int((labels[1:] == labels[:-1]).sum())
    _require(frames >= length + repeats, f"targets length is too long for CTC. Found log_probs length: {frames}, targets length: "
                                         f"{length}, and number of repeats: {repeats}")
    states = np.full(2 * length + 1, blank, labels.dtype)
    states[1::2] = labels
    skips = np.zeros(len(states), bool)                  # where the blank before a label may be left out
    skips[3::2] = labels[1:] != labels[:-1]
    least = scores.dtype.type(-np.inf)
    taken = np.zeros((frames, len(states)), np.int8)
    best = np.full(len(states), least)
    best[:2] = scores[0, states[:2]]
    for t in range(1, frames):
        one, two = np.concatenate([[least], best[:-1]]), np.where(skips, np.concatenate([[least] * 2, best])[:len(states)], least)
        taken[t] = np.where((two > one) & (two > best), 2, np.where((one > best) & (one > two), 1, 0))
        best = np.choose(taken[t], [best, one, two]) + scores[t, states]
    at = len(states) - 1 if len(states) == 1 or best[-1] > best[-2] else len(states) - 2
    path = np.empty((1, frames), labels.dtype)
    for t in range(frames - 1, -1, -1):
        path[0, t] = states[at]
        at -= taken[t, at]
    return path, log_probs


def _require(held, text):
    if not held:
        raise RuntimeError(text)


@declare("torchaudio", "rnnt_loss_forward(Tensor logits, Tensor targets, Tensor logit_lengths, Tensor target_lengths, int blank, "
         "float clamp, bool fused_log_softmax) -> (Tensor, Tensor)", where="rnnt_loss")
def rnnt_loss_forward(logits, targets, logit_lengths, target_lengths, blank, clamp, fused):
    """The costs (batch,) of reading targets (batch, length) from logits (batch, time, length + 1, classes), and the costs' gradients."""
    _require(logits.dtype in (np.float32, np.float16), "logits must be float32 or float16 (half) type")
    for name, given in (("targets", targets), ("logit_lengths", logit_lengths), ("target_lengths", target_lengths)):
        _require(given.dtype == np.int32, f"{name} must be int32 type")
    _require(logits.ndim == 4, "logits must be 4-D (batch, time, target, class)")
    _require(targets.ndim == 2, "targets must be 2-D (batch, max target length)")
    for name, given in (("logit_lengths", logit_lengths), ("target_lengths", target_lengths)):
        _require(given.ndim == 1, f"{name} must be 1-D")
        _require(len(given) == len(logits), f"batch dimension mismatch between logits and {name}")
    _require(len(targets) == len(logits), "batch dimension mismatch between logits and targets")
    _require(0 <= blank < logits.shape[3], "blank must be within [0, logits.shape[-1])")
    _require(logits.shape[1] == logit_lengths.max(), "input length mismatch")
    _require(logits.shape[2] == target_lengths.max() + 1, "output length mismatch")
    _require(targets.shape[1] == target_lengths.max(), "target length mismatch")
    costs, grads = np.zeros(len(logits), logits.dtype), np.zeros_like(logits)
    for b, (frames, length) in enumerate(zip(logit_lengths, target_lengths)):
        given = logits[b, :frames, :length + 1].astype(np.float32)
        top = given.max(2, keepdims=True) if fused else np.float32(0)
        logs = given - (top + np.log(np.exp(given - top).sum(2, keepdims=True))) if fused else given
        skip, label = logs[..., blank], np.take_along_axis(logs[:, :-1], targets[b, None, :length, None].astype(np.int64), 2)[..., 0]
        forth = _reach(skip, label)
        back = _reach(skip[::-1, ::-1], label[::-1, ::-1], True)[::-1, ::-1]
        costs[b] = cost = -back[0, 0]
        after = np.full_like(back, -np.inf)              # what follows a blank; the last one ends
        after[:-1] = back[1:]
        after[-1, -1] = 0
        of_skip = np.exp(forth + skip + after + cost)
        of_label = np.exp(forth[:, :-1] + label + back[:, 1:] + cost)
        grad = np.exp(logs + (forth + back + cost)[..., None]) if fused else np.zeros_like(given)
        grad[..., blank] -= of_skip
        rows, columns = np.indices(of_label.shape)
        np.subtract.at(grad, (rows, columns, np.broadcast_to(targets[b, :length], of_label.shape)), of_label)
        grads[b, :frames, :length + 1] = grad.clip(-clamp, clamp) if clamp > 0 else grad
    return costs, grads


def _reach(skip, label, ends=False):
    """The log probability of each (frame, labels read), from the first; ends: of what is still to come, seen from the end, its own
    step included."""
    frames, states = skip.shape
    made = np.full((frames, states), -np.inf, np.float32)
    made[0, 0] = skip[0, 0] if ends else 0
    for d in range(1, frames + states - 1):
        u = np.arange(max(0, d - frames + 1), min(d, states - 1) + 1)
        t = d - u
        waited = np.where(t > 0, made[t - 1, u] + (skip[t, u] if ends else skip[t - 1, u]), -np.inf)
        read = np.where(u > 0, made[t, u - 1] + (label[t, u - 1] if label.shape[1] else -np.inf), -np.inf)
        made[t, u] = np.logaddexp(waited, read)
    return made
