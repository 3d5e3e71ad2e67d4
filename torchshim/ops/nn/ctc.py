"""Connectionist temporal classification (Graves et al. 2006, https://www.cs.toronto.edu/~graves/icml_2006.pdf)."""
from __future__ import annotations

import jax
import jax.numpy as jnp

from .. import promotion as P
from ..loops import scan
from ..registry import op


def _log_sum(terms):
    """log(sum(exp(terms))), -inf where all are, with a gradient that is finite there."""
    peak = jax.lax.stop_gradient(jnp.max(terms, 0))
    peak = jnp.where(jnp.isneginf(peak), 0, peak)
    total = jnp.sum(jnp.exp(terms - peak), 0)
    some = total > 0
    return jnp.where(some, jnp.log(jnp.where(some, total, 1)) + peak, -jnp.inf)


def _later(a, by):
    """Every state moved on by some places."""
    return jnp.pad(a, ((0, 0), (by, 0)), constant_values=-jnp.inf)[:, :a.shape[1]]


def _negative_log_likelihood(log_probs, targets, input_lengths, target_lengths, blank):
    """(N,) from (T, N, C): the forward recursion over the labels with blanks between them."""
    batch, labels = targets.shape
    states = jnp.full((batch, 2 * labels + 1), blank, targets.dtype).at[:, 1::2].set(targets)
    before = jnp.concatenate([jnp.full((batch, 2), blank, states.dtype), states[:, :-2]], 1)[:, :states.shape[1]]
    may_skip = states != before                # never so for the blanks between

    def step(alpha, now):
        log_p, t = now
        emitted = jnp.take_along_axis(log_p, states, 1, mode="clip")
        skipped = jnp.where(may_skip, _later(alpha, 2), -jnp.inf)
        new = _log_sum(jnp.stack([alpha, _later(alpha, 1), skipped])) + emitted
        return jnp.where((t < input_lengths)[:, None], new, alpha), None
    # before the first time all is in the first blank
    alpha = jnp.full(states.shape, -jnp.inf, log_probs.dtype).at[:, 0].set(0)
    alpha, _ = scan(step, alpha, (log_probs, jnp.arange(log_probs.shape[0])))
    end = (2 * target_lengths)[:, None]
    last = jnp.take_along_axis(alpha, end, 1, mode="clip")[:, 0]
    before_last = jnp.take_along_axis(alpha, jnp.maximum(end - 1, 0), 1, mode="clip")[:, 0]
    return -_log_sum(jnp.stack([last, jnp.where(target_lengths > 0, before_last, -jnp.inf)]))


def _gradient(ct, log_probs, targets, input_lengths, target_lengths, blank, zero_infinity):
    """torch's: that of the logits behind log_probs = log_softmax(logits), exp(log_probs) less the labels' posterior."""
    nll, pull = jax.vjp(lambda x: _negative_log_likelihood(x, targets, input_lengths, target_lengths, blank), log_probs)
    minus_posterior, = pull(jnp.ones_like(nll))
    impossible = jnp.isinf(nll)
    grad = (jnp.exp(log_probs) + minus_posterior) * jnp.where(impossible, 0, ct)[None, :, None]
    if not zero_infinity:
        grad = jnp.where(impossible[None, :, None], jnp.nan, grad)
    alive = jnp.arange(log_probs.shape[0])[:, None] < input_lengths
    return jnp.where(alive[:, :, None], grad, 0), None, None, None


def _check(log_probs, *rest):
    if log_probs.dtype not in (P.float32, P.float64):
        raise NotImplementedError(f"\"ctc_loss_cpu\" not implemented for '{P.c_name(log_probs.dtype)}'")


@op("ctc_loss_of(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank, bool zero_infinity) -> Tensor",
    grad=lambda inst: "WhereBackward0" if inst.layout[-1] else "CtcLossBackward0", rule=_gradient, check=_check, pushes="_ctc_loss",
    saves=("log_probs", "targets", "input_lengths", "target_lengths", "result"),
    nondiff=("targets", "input_lengths", "target_lengths"), function=False, method=False)
def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, zero_infinity):
    """The negative log likelihood of each sample's labels (N, S) under log_probs (T, N, C), over all alignments.

    zero_infinity: 0 for labels that do not fit into the input.
    """
    nll = _negative_log_likelihood(log_probs, targets, input_lengths, target_lengths, blank)
    return jnp.where(jnp.isinf(nll), 0, nll) if zero_infinity else nll


ctc_loss.twice_refuses = lambda inst, needs: RuntimeError("derivative for aten::_ctc_loss_backward is not implemented")
