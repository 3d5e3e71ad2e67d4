"""Attention of sequences of different lengths, packed one after the other."""
from __future__ import annotations

import math
from typing import NamedTuple

from ... import arange, cat, float32, full, tensor

__all__ = ["AuxRequest", "varlen_attn", "varlen_attn_out"]


class AuxRequest(NamedTuple):
    """What `varlen_attn` gives beside its output: the logarithms of the sums of exponentials."""
    lse: bool = False


def _allowed(n, m, window):
    """Which of m keys each of n queries may see; the last query is at the last key."""
    left, right = window
    if left < 0 and right < 0:
        return None
    distance = arange(m)[None, :] - (arange(n)[:, None] + (m - n))
    seen = full((n, m), True)
    if left >= 0:
        seen = seen & (distance >= -left)
    if right >= 0:
        seen = seen & (distance <= right)
    return seen


def varlen_attn(query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, *, return_aux=None, scale=None, window_size=(-1, -1), enable_gqa=False,
                seqused_k=None, block_table=None, num_splits=None):
    """Attention within each of several sequences; sequence i has the queries from cu_seq_q[i] to cu_seq_q[i + 1], keys likewise.

    query: (all queries, heads, size), key and value: (all keys, heads, size). window_size: how far to the left and right a query sees,
    counted from the end of its sequence (-1: all; (-1, 0): causal). enable_gqa: fewer heads of keys, each for several of queries.
    seqused_k: how many keys of each sequence count. return_aux=AuxRequest(lse=True): a pair with the logarithms (heads, all queries).
    Computed in float32. ValueError for heads that do not fit, NotImplementedError for a block_table. Follows torch.nn.attention.varlen,
    which is for CUDA alone.
    """
    heads, shared = query.size(1), key.size(1)
    if block_table is not None:
        raise NotImplementedError("torchshim: varlen_attn with a block_table")
    if not enable_gqa and heads != shared:
        raise ValueError(f"Expect query and key/value to have the same number of heads but got Hq={heads} and Hkv={shared}. "
                         "Try setting enable_gqa=True for GQA.")
    if enable_gqa and heads % shared:
        raise ValueError(f"Expect number of query heads to be a multiple of kv heads for GQA but got Hq={heads} and Hkv={shared}.")
    if len(window_size) != 2:
        raise ValueError(f"window_size must have length 2, got {len(window_size)}")
    scale = 1 / math.sqrt(query.size(-1)) if scale is None else scale
    at_q, at_k = cu_seq_q.tolist(), cu_seq_k.tolist()
    used = [e - s for s, e in zip(at_k, at_k[1:])] if seqused_k is None else seqused_k.tolist()
    outs, sums = [], []
    for s, e, k, n in zip(at_q, at_q[1:], at_k, used):
        q, key_i, value_i = [x.to(float32).transpose(0, 1) for x in (query[s:e], key[k:k + n], value[k:k + n])]
        if heads != shared:
            key_i, value_i = [x.repeat_interleave(heads // shared, 0) for x in (key_i, value_i)]
        scores = q @ key_i.transpose(1, 2) * scale
        seen = _allowed(e - s, n, window_size)
        if seen is not None:
            scores = scores.masked_fill(~seen.to(scores.device), -math.inf)
        lse = scores.logsumexp(-1)
        weights = (scores - lse.masked_fill(lse == -math.inf, 0).unsqueeze(-1)).exp()       # a query that sees nothing gives zeros
        outs.append((weights @ value_i).transpose(0, 1).to(query.dtype))
        sums.append(lse)
    out = cat(outs) if outs else query * tensor(0, dtype=query.dtype)
    if return_aux is not None and return_aux.lse:
        return out, cat(sums, 1)
    return out


def varlen_attn_out(out, query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, *, return_aux=None, scale=None, window_size=(-1, -1),
                    enable_gqa=False, seqused_k=None, block_table=None, num_splits=None):
    """`varlen_attn` written into `out`, without gradients."""
    made, lse = varlen_attn(query.detach(), key.detach(), value.detach(), cu_seq_q, cu_seq_k, max_q, max_k, return_aux=AuxRequest(True),
                            scale=scale, window_size=window_size, enable_gqa=enable_gqa, seqused_k=seqused_k, block_table=block_table)
    out.detach().copy_(made)
    return (out, lse) if return_aux is not None and return_aux.lse else out
