"""torch.cuda.nccl: NVIDIA's collective operations between the GPUs of one process. XLA calls them itself; they cannot be called here."""
from __future__ import annotations

from ..dropin import missing_attribute as _missing_attribute

__all__ = ["all_gather", "all_reduce", "broadcast", "reduce", "reduce_scatter"]
SUM = 0


def is_available(tensors):
    """False: they are not called from here."""
    return False


def version():
    """NotImplementedError: which version XLA was built with is not known."""
    raise NotImplementedError("torchshim: torch.cuda.nccl.version; XLA brings a NCCL of its own, of which JAX does not tell the version")


def unique_id():
    """NotImplementedError; see jax.distributed."""
    raise NotImplementedError("torchshim: torch.cuda.nccl.unique_id; see jax.distributed")


def init_rank(num_ranks, uid, rank):
    """NotImplementedError; see jax.distributed."""
    raise NotImplementedError("torchshim: torch.cuda.nccl.init_rank; see jax.distributed")


def _same_kind(inputs, outputs):
    if inputs.__class__ not in (list, tuple):
        raise TypeError("Inputs should be a collection of tensors")
    if outputs is not None and len(outputs) != len(inputs):
        raise ValueError("nccl operations need an output for each input")
    return inputs if outputs is None else outputs


def _write(outputs, values):
    for out, value in zip(outputs, values):
        out.copy_(value)


def all_reduce(inputs, outputs=None, op=SUM, streams=None, comms=None):
    """The sum of tensors, one on each device, into all of them (or `outputs`). NotImplementedError for another op than the sum."""
    outputs = _same_kind(inputs, outputs)
    _write(outputs, [_sum(inputs, op, "all_reduce")] * len(outputs))


def _sum(inputs, op, name):
    if op != SUM:
        raise NotImplementedError(f"torchshim: torch.cuda.nccl.{name} with an op other than the sum")
    total = inputs[0].detach().clone()
    for x in inputs[1:]:
        total = total + x.detach().to(total.device)
    return total


def reduce(inputs, output=None, root=0, op=SUM, streams=None, comms=None, *, outputs=None):
    """The sum of tensors into that of device `root` (or `output`)."""
    _same_kind(inputs, None)
    target = output if output is not None else (inputs if outputs is None else outputs)[root]
    target.copy_(_sum(inputs, op, "reduce"))


def broadcast(inputs, root=0, streams=None, comms=None):
    """The tensor of device `root` into all others."""
    _same_kind(inputs, None)
    _write([x for k, x in enumerate(inputs) if k != root], [inputs[root]] * (len(inputs) - 1))


def all_gather(inputs, outputs, streams=None, comms=None):
    """All tensors one after the other, into each of `outputs`."""
    from .. import cat
    _same_kind(inputs, outputs)
    for out in outputs:
        out.copy_(cat([x.detach().to(out.device).flatten() for x in inputs]).view(out.shape))


def reduce_scatter(inputs, outputs, op=SUM, streams=None, comms=None):
    """The sum of tensors, a part of it into each of `outputs`."""
    _same_kind(inputs, outputs)
    total, at = _sum(inputs, op, "reduce_scatter").flatten(), 0
    for out in outputs:
        out.copy_(total[at:at + out.numel()].view(out.shape))
        at += out.numel()


__getattr__ = _missing_attribute(__name__)
