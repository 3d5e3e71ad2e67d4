"""ctc_loss."""
from __future__ import annotations

import numpy as np

from ...ops import promotion as P
from ...ops.nn import ctc as ops
from ...tensor.api.bind import call
from ...tensor.api.signatures import ask_parser
from ...tensor.core.tensor import Tensor, tensor_from
from .common import REDUCTIONS, reduction_of

_WHERE = "(while checking arguments for ctc_loss_allocate_outputs)"


def _lengths(name, given, batch):
    """Lengths as a host array; they decide the shapes, so that their values are looked at."""
    if isinstance(given, Tensor):
        if given.is_floating_point() or given.is_complex():
            raise RuntimeError(f"{name} must be integral")
        given = given.detach().cpu().numpy()
    a = np.asarray(given, np.int64).reshape(-1)
    if len(a) != batch:
        raise RuntimeError(f"{name} must be of size batch_size")
    return a


def _in_rows(targets, lengths):
    """Targets (N, S), from rows or from one concatenation of all."""
    longest = int(lengths.max(initial=0))
    if targets.dim() == 1:
        if targets.shape[0] != lengths.sum():
            raise RuntimeError(f"Expected tensor to have size {lengths.sum()} at dimension 0, but got size {targets.shape[0]} for argument "
                               f"#2 'targets' {_WHERE}")
        at = (np.cumsum(lengths) - lengths)[:, None] + np.arange(longest)
        if not targets.shape[0]:
            return targets.new_zeros(len(lengths), 0)
        return targets[tensor_from(np.minimum(at, targets.shape[0] - 1))]
    if targets.dim() != 2:
        raise RuntimeError("log_probs and targets must be 2- or 3-dimensional and 1- or 2-dimensional")
    if targets.shape[0] != len(lengths):
        raise RuntimeError(f"Expected tensor to have size {len(lengths)} at dimension 0, but got size {targets.shape[0]} for argument #2 "
                           f"'targets' {_WHERE}")
    if targets.shape[1] < longest:
        raise RuntimeError(f"Expected tensor to have size at least {longest} at dimension 1, but got size {targets.shape[1]} for argument "
                           f"#2 'targets' {_WHERE}")
    return targets


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """The connectionist temporal classification loss of log_probs (T, N, C) or (T, C).

    targets: labels (N, S), or all in one row; input_lengths, target_lengths: tensors or tuples, whose values are looked at;
    reduction: "mean" divides by the targets' lengths first; zero_infinity: 0 instead of infinity and its gradient.
    """
    reduction = reduction_of(reduction)
    if not all([isinstance(x, Tensor) for x in (input_lengths, target_lengths)]):
        ask_parser("ctc_loss", (log_probs, targets, input_lengths, target_lengths, blank, REDUCTIONS.index(reduction), zero_infinity), {})
    batched = log_probs.dim() == 3
    x = log_probs if batched else log_probs.unsqueeze(1)
    d = x._ts_meta.dtype
    if d not in (P.float32, P.float64):
        raise NotImplementedError(f"\"ctc_loss_cpu\" not implemented for '{P.c_name(d)}'")
    if x.dim() != 3 and x.numel():
        raise RuntimeError(f"Expected 3-dimensional tensor, but got {x.dim()}-dimensional tensor for argument #1 'log_probs' {_WHERE}")
    if not x.numel():
        raise RuntimeError("log_probs tensor must not be empty")
    steps, batch, classes = x.shape
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    inputs, labels = _lengths("input_lengths", input_lengths, batch), _lengths("target_lengths", target_lengths, batch)
    for n in inputs:
        if not 0 <= n <= steps:
            bound = f"at most {steps}" if n > steps else "at least 0"
            raise RuntimeError(f"Expected input_lengths to have value {bound}, but got value {n} {_WHERE}")
    for n in labels:
        if n < 0:
            raise RuntimeError(f"Expected target_lengths to have value at least 0, but got value {n} {_WHERE}")
    if not batched and targets.dim() == 1:
        targets = targets.unsqueeze(0)
    rows = _in_rows(targets.long(), labels)
    counts = tensor_from(labels).to(x.device)
    loss = call(ops.ctc_loss, (x, rows, tensor_from(inputs).to(x.device), counts, blank, bool(zero_infinity)))
    if reduction == "mean":
        return (loss / counts.clamp_min(1)).mean()
    if reduction == "sum":
        return loss.sum()
    return loss if batched else loss.squeeze(0)
