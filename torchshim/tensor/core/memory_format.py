"""Memory formats: which dimension of a dense tensor lies innermost."""
from __future__ import annotations

from ...engine import TRACED, context
from ...ops.layout import channels_last_strides, lies_channels_last
from ...ops.memory_views import memory_order
from .layout import Named


class memory_format(Named):
    """How the elements of a tensor lie in memory."""
    __module__ = "torchshim"
    __slots__ = ()


FORMATS = {n: memory_format(n) for n in ("preserve_format", "contiguous_format", "channels_last", "channels_last_3d")}
preserve_format, contiguous_format = FORMATS["preserve_format"], FORMATS["contiguous_format"]
channels_last, channels_last_3d = FORMATS["channels_last"], FORMATS["channels_last_3d"]
_RANK = {"channels_last": 4, "channels_last_3d": 5}
_OF_RANK = {4: channels_last, 5: channels_last_3d}


def check_format(name, fmt):
    """TypeError in torch's words where the argument `memory_format` of the function `name` is no memory format."""
    if fmt.__class__ is not memory_format:
        raise TypeError(f"{name}(): argument 'memory_format' must be torch.memory_format, not {type(fmt).__name__}")


def strides_for(shape, fmt):
    """The strides of a tensor of this shape made in a memory format; None for row-major."""
    rank = _RANK.get(fmt.name)
    if rank is None:
        return None
    if len(shape) != rank:
        raise RuntimeError(f"required rank {rank} tensor to use {fmt.name} format")
    return channels_last_strides(shape)


def batched(t):
    """Whether a vmap sees the examples of a batch in a tensor."""
    return "transform" in context.modes and t._ts_st.value.extra is TRACED


def no_dimension(t, error):
    """The error of a tensor without dimensions that is asked for one: a vmap's example has that of the batch, in torch's eyes, but not
    this one."""
    if batched(t):
        return IndexError("Dimension out of range (expected to be in range of [-1, 0], but got 1)")
    return error


def refuse_batched(t):
    if batched(t):
        raise RuntimeError("NYI: querying is_contiguous inside of vmap for memory_format other than torch.contiguous_format")


def is_in_format(m, fmt):
    """Whether a Meta's elements lie without gaps in `fmt`."""
    rank = _RANK.get(fmt.name)
    if rank is None:
        return m.contiguous
    if m.ndim != rank:
        return False
    want, step = [1] + list(range(rank - 1, 1, -1)) + [0], 1
    for d in want:
        if m.shape[d] != 1:
            if m.strides[d] != step:
                return False
            step *= m.shape[d]
    return True


def suggested(m):
    """The memory format that torch infers from strides: channels_last where they descend that way."""
    return _OF_RANK[m.ndim] if lies_channels_last(m) else contiguous_format


def dense_order(m):
    """The permutation that makes the layout row-major (outermost dimension first); None if there are gaps."""
    return memory_order(m) if m.dense else None
