"""flex_attention: attention whose scores a function changes and whose mask another one tells. Everything is computed densely, as torch does
without torch.compile; the blocks of a BlockMask say which scores count and save no time.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, Optional

from ...func import vmap
from ...tensor.api.bind import FUNCTIONS
from ...tensor.core.dtype import ALL
from ...tensor.core.tensor import Tensor

__all__ = ["AuxOutput", "AuxRequest", "BlockMask", "and_masks", "create_block_mask", "create_mask", "flex_attention",
           "noop_mask", "or_masks"]

_DEFAULT_SPARSE_BLOCK_SIZE = 128
_INT = ALL["int32"]


class AuxRequest(NamedTuple):
    """What flex_attention is to return beside its output."""
    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """The logarithm of the scores' exponentials' sum, and the largest scores, of each query; None where they were not asked for."""
    lse: Optional[Tensor] = None
    max_scores: Optional[Tensor] = None


def noop_mask(batch, head, token_q, token_kv):
    """A mask that lets everything pass."""
    return batch.new_ones(size=(), dtype=ALL["bool"], device=batch.device)


def _joined(name, join, *mask_mods):
    if not all([callable(m) for m in mask_mods]):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")

    def mask(b, h, q_idx, kv_idx):
        result = b.new_full((), name == "and", dtype=ALL["bool"])
        for m in mask_mods:
            result = join(result, m(b, h, q_idx, kv_idx))
        return result
    return mask


def and_masks(*mask_mods):
    """A mask that lets pass what all of these do."""
    return _joined("and", lambda a, b: a & b, *mask_mods)


def or_masks(*mask_mods):
    """A mask that lets pass what one of these does."""
    return _joined("or", lambda a, b: a | b, *mask_mods)


def _everywhere(f, *prefix):
    """`f(…, batch, head, query, key)` mapped over all four; each of the `prefix` arguments has these four dimensions."""
    n = len(prefix)
    for dims in ((None, None, None, 0), (None, None, 0, None), (None, 0, None, None), (0, None, None, None)):
        f = vmap(f, in_dims=(0,) * n + dims, out_dims=0)
    return f


def _positions(B, H, Q_LEN, KV_LEN, device):
    return [FUNCTIONS["arange"](0, n, device=device) for n in (B, H, Q_LEN, KV_LEN)]


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device=None):
    """(B, H, Q_LEN, KV_LEN) of bool: what a mask_mod(b, h, q_idx, kv_idx) lets pass, or where a score_mod(score, …) leaves a zero above
    -inf.
    """
    B, H = B or 1, H or 1
    at = _positions(B, H, Q_LEN, KV_LEN, device)
    if _takes_score(mod_fn):
        zeros = FUNCTIONS["zeros"]((B, H, Q_LEN, KV_LEN), device=device)
        return _everywhere(mod_fn, zeros)(zeros, *at) != -math.inf
    return _everywhere(mod_fn)(*at)


def _takes_score(f):
    import inspect
    required = [p for p in inspect.signature(f).parameters.values() if p.default is inspect.Parameter.empty]
    if len(required) not in (4, 5):
        raise AssertionError("mask_mod takes (b, h, q_idx, kv_idx), score_mod also a score before")
    return len(required) == 5


def _listed(dense):
    """How many blocks of each row are set, and their columns first in each row."""
    dense = dense.to(_INT)
    return dense.sum(-1).to(_INT), dense.argsort(dim=-1, descending=True, stable=True).to(_INT)


def _dense(counts, indices):
    """The reverse of _listed."""
    n = indices.shape[-1]
    set_ = FUNCTIONS["arange"](n, device=indices.device) < counts.unsqueeze(-1)
    return FUNCTIONS["zeros"](indices.shape, dtype=_INT, device=indices.device).scatter(-1, indices.to(ALL["int64"]), set_.to(_INT))


class BlockMask:
    """Which blocks of the scores count: some by `mask_mod`, `full` ones entirely. Made by create_block_mask or from_kv_blocks."""

    def __init__(self, seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, q_num_blocks, q_indices,
                 full_q_num_blocks, full_q_indices, BLOCK_SIZE, mask_mod):
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = seq_lengths, BLOCK_SIZE, mask_mod
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices

    @classmethod
    def from_kv_blocks(cls, kv_num_blocks, kv_indices, full_kv_num_blocks=None, full_kv_indices=None, BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE,
                       mask_mod=None, seq_lengths=None, compute_q_blocks=True):
        """A mask from (B, H, rows) numbers of blocks and (B, H, rows, columns) columns of these."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if (full_kv_num_blocks is None) != (full_kv_indices is None):
            raise AssertionError("full_kv_num_blocks and full_kv_indices must be both provided or omitted")
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
        if seq_lengths is None:
            seq_lengths = kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1]
        q = full_q = None, None
        if compute_q_blocks:
            q = _listed(_dense(kv_num_blocks, kv_indices).transpose(-2, -1))
            if full_kv_indices is not None:
                full_q = _listed(_dense(full_kv_num_blocks, full_kv_indices).transpose(-2, -1))
        return cls(seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, *q, *full_q, size, mask_mod or noop_mask)

    @property
    def shape(self):
        """(B, H, query length, key length)."""
        return *self.kv_indices.shape[:-2], *self.seq_lengths

    def numel(self):
        """How many scores there are."""
        return math.prod(self.shape)

    def to_dense(self):
        """1 for every block that counts."""
        dense = _dense(self.kv_num_blocks, self.kv_indices)
        return dense if self.full_kv_num_blocks is None else dense | _dense(self.full_kv_num_blocks, self.full_kv_indices)

    def sparsity(self):
        """How many percent of the scores do not count by their blocks."""
        blocks = self.kv_num_blocks.sum() + (0 if self.full_kv_num_blocks is None else self.full_kv_num_blocks.sum())
        return 100 * (1 - blocks.item() * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def _tensors(self, f):
        names = [n for n in vars(self) if n.endswith("_blocks") or n.endswith("_indices")]
        made = object.__new__(BlockMask)
        made.__dict__.update(self.__dict__, **{n: f(t) for n in names if (t := getattr(self, n)) is not None})
        return made

    def to(self, device):
        """The mask on another device."""
        return self._tensors(lambda t: t.to(device))

    def __getitem__(self, index):
        return self._tensors(lambda t: t[index])

    def mask(self, B, H, Q_LEN, KV_LEN, device):
        """(B or 1, H or 1, Q_LEN, KV_LEN) of bool: the scores that count."""
        if Q_LEN > self.seq_lengths[0] or KV_LEN > self.seq_lengths[1]:
            raise ValueError(f"block_mask was created for block_mask.shape={self.shape} but got q_len={Q_LEN} and kv_len={KV_LEN}. As the "
                             "block mask was created for a smaller length than you're using it for, you likely need to create a new block "
                             "mask.")

        def scores(counts, indices):
            dense = _dense(counts, indices).to(ALL["bool"])
            rows = dense.repeat_interleave(self.BLOCK_SIZE[0], -2).repeat_interleave(self.BLOCK_SIZE[1], -1)
            return rows[..., :Q_LEN, :KV_LEN]
        counts = scores(self.kv_num_blocks, self.kv_indices) & create_mask(self.mask_mod, B, H, Q_LEN, KV_LEN, device)
        return counts if self.full_kv_num_blocks is None else counts | scores(self.full_kv_num_blocks, self.full_kv_indices)

    def __repr__(self):
        def shape(t):
            return None if t is None else t.shape
        names = ("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks", "q_indices", "full_q_num_blocks",
                 "full_q_indices")
        lines = [f"    {n}={shape(getattr(self, n))},\n" for n in names]
        return ("BlockMask(\n" + "".join(lines) + f"    BLOCK_SIZE={self.BLOCK_SIZE},\n    shape={self.shape},\n"
                f"    sparsity={self.sparsity():.2f}%,\n    mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)}\n)")


def create_block_mask(mask_mod, B, H, Q_LEN, KV_LEN, device=None, BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE, _compile=False,
                      separate_full_blocks=True, compute_dq_write_order=False, dq_kv_order=True):
    """The blocks in which `mask_mod(b, h, q_idx, kv_idx)` lets something pass; B or H None: it is the same for all."""
    size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    B, H = mask.shape[:2]
    rows, columns = -(-Q_LEN // size[0]), -(-KV_LEN // size[1])
    mask = FUNCTIONS["constant_pad_nd"](mask.to(_INT), (0, columns * size[1] - KV_LEN, 0, rows * size[0] - Q_LEN)) \
        if (rows * size[0], columns * size[1]) != (Q_LEN, KV_LEN) else mask.to(_INT)
    counts = mask.view(B, H, rows, size[0], columns, size[1]).sum((3, 5))
    full = counts == size[0] * size[1] if separate_full_blocks else None
    partial = counts > 0
    blocks = _listed(partial & ~full if separate_full_blocks else partial)
    return BlockMask.from_kv_blocks(*blocks, *(_listed(full) if separate_full_blocks else (None, None)), BLOCK_SIZE=size, mask_mod=mask_mod,
                                    seq_lengths=(Q_LEN, KV_LEN))


def flex_attention(query, key, value, score_mod=None, block_mask=None, scale=None, enable_gqa=False, return_lse=False,
                   kernel_options=None, *, return_aux=None):
    """softmax(score_mod(query @ key.T * scale, b, h, q_idx, kv_idx)) @ value for (B, H, length, E) tensors, over what `block_mask` lets
    pass.

    A query that nothing is left for gives zeros. enable_gqa: several query heads share a key head. return_lse: (output, logsumexp);
    return_aux: (output, AuxOutput).
    """
    for t, name in ((query, "query"), (key, "key"), (value, "value")):
        if t.dim() != 4:
            raise ValueError(f"Expected query, key, and value to be 4D tensors, but got {name} with {t.dim()} dimensions")
    if query.dtype is not key.dtype or query.dtype is not value.dtype:
        raise ValueError("Expected query, key, and value to have the same dtype, but got query.dtype: "
                         f"{query.dtype}, key.dtype: {key.dtype}, and value.dtype: {value.dtype} instead.")
    B, H, n, E = query.shape
    if not enable_gqa and H != key.shape[1]:
        raise ValueError(f"Expect query and key/value to have the same number of heads but got Hq={H} and Hkv={key.shape[1]}. Try setting "
                         "enable_gqa=True for GQA.")
    if H != key.shape[1]:
        key, value = [t.repeat_interleave(H // key.shape[1], 1) for t in (key, value)]
    if key.shape[0] != B:
        key, value = [t.expand(B, *t.shape[1:]) for t in (key, value)]
    working = query.dtype if query.dtype is ALL["float64"] else ALL["float32"]
    scores = (query @ key.transpose(-2, -1)).to(working) * (1 / math.sqrt(E) if scale is None else scale)
    if score_mod is not None:
        scores = _everywhere(score_mod, scores)(scores, *_positions(B, H, n, key.shape[2], query.device))
    if block_mask is not None:
        first = block_mask.kv_indices.shape[:-2]
        kept = block_mask.mask(first[0] if len(first) == 2 else 1, first[-1] if len(first) else 1, n, key.shape[2], query.device)
        scores = FUNCTIONS["where"](kept, scores, -math.inf)
    lse = scores.logsumexp(-1)
    top = scores.max(-1).values
    weights = FUNCTIONS["where"]((top == -math.inf).unsqueeze(-1), 0, scores.softmax(-1))
    out = weights.to(query.dtype) @ value
    if return_aux is not None:
        return out, AuxOutput(lse if return_aux.lse else None, top if return_aux.max_scores else None)
    return (out, lse) if return_lse else out


_score_mod_signature = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
_mask_mod_signature = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
