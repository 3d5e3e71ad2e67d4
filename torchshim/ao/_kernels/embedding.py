"""Embeddings whose rows are levels of 8 or 4 bits with a scale and a zero point each."""
from __future__ import annotations

from torchshim.nn import functional as F

from ...tensor.quantized.base import PACKED, PerTensor
from . import declare
from .packed import Packed


@declare("embedding_bag_prepack")
def embedding_bag_prepack(weight):
    """A weight with a scale and a floating zero point for each row."""
    if isinstance(weight._q, PerTensor) or not weight._q.zero_points.is_floating_point():
        raise RuntimeError("Expect embedding_bag weights to be quantized using kPerChannelAffineFloatQParams")
    return Packed(weight, None)


@declare("embedding_bag_unpack")
def embedding_bag_unpack(packed):
    return packed._weight


def _table(packed):
    """Rows as numbers: a level times its row's scale, plus what the level 0 means."""
    def make():
        q = packed._weight._q
        scale = q.scales.float().reshape(-1, 1)
        low = -q.zero_points.float().reshape(-1, 1) * scale
        if packed._weight.dtype in PACKED:     # beside such rows they are kept in float16
            scale, low = scale.half().float(), low.half().float()
        return packed._weight._ints.float(), scale, low
    return packed._kept("_table", make)


def _rows(packed, indices):
    levels, scale, low = _table(packed)
    return (levels[indices].double() * scale[indices].double() + low[indices].double()).float()


@declare("embedding_byte", "embedding_4bit")
def embedding(weight, indices, pruned_weights=False):
    """The rows of these indices."""
    return _rows(weight, indices.long())


@declare("embedding_bag_byte", "embedding_bag_4bit")
def embedding_bag(weight, indices, offsets=None, scale_grad_by_freq=False, mode=0, pruned_weights=False, per_sample_weights=None,
                  compressed_indices_mapping=None, include_last_offset=False):
    """Sums of rows."""
    if pruned_weights or compressed_indices_mapping is not None:
        raise NotImplementedError("torchshim: quantized::embedding_bag of pruned weights")
    levels, scale, low = _table(weight)
    table = (levels.double() * scale.double() + low.double()).float()
    return F.embedding_bag(indices.long(), table, None if offsets is None else offsets.long(), mode="sum",
                           per_sample_weights=per_sample_weights, include_last_offset=include_last_offset)


