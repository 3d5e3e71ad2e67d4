"""torch.cuda.comm: copies between the devices of one process, without gradients."""
from __future__ import annotations

import warnings

from .. import device as _device

__all__ = ["broadcast", "broadcast_coalesced", "gather", "reduce_add", "reduce_add_coalesced", "scatter"]


def _on(d):
    return _device("cuda", d) if isinstance(d, int) else _device(d)


def broadcast(tensor, devices=None, *, out=None):
    """Copies of a tensor on several devices, or in the tensors `out`. RuntimeError unless one of both is given."""
    if (devices is None) == (out is None):
        raise RuntimeError(f"Exactly one of 'devices' and 'out' must be specified, but got devices={devices} and out={out}")
    if out is not None:
        for t in out:
            t.detach().copy_(tensor)
        return tuple(out)
    return tuple([tensor.detach().to(_on(d)) for d in devices])


def broadcast_coalesced(tensors, devices, buffer_size=10485760):
    """The same of several tensors: for each device a list of them."""
    return [[t.detach().to(_on(d)) for t in tensors] for d in devices]


def reduce_add(inputs, destination=None):
    """The sum of tensors of one size on several GPUs, on one of these (default: the current one)."""
    from . import current_device
    index = current_device() if destination is None else _on(destination).index or 0
    root, size = None, inputs[0].size()
    for k, x in enumerate(inputs):
        if x.device.type == "cpu":
            raise AssertionError(f"reduce_add expects all inputs to be on GPUs, but input {k} is on CPU")
        if x.get_device() == index:
            root = k
        if x.size() != size:
            got, expected = ["x".join(map(str, s)) for s in (x.size(), size)]
            raise ValueError(f"input {k} has invalid size: got {got}, but expected {expected}")
    if root is None:
        raise RuntimeError("reduce_add expects destination to be on the same GPU with one of the tensors")
    if len(inputs) == 1:
        return inputs[0]
    total = inputs[root]
    for k, x in enumerate(inputs):
        if k != root:
            total = total + x.to(total.device)
    return total


def reduce_add_coalesced(inputs, destination=None, buffer_size=10485760):
    """The sums of several tensors, each on several GPUs: `inputs` has a list of them for each GPU."""
    return tuple([reduce_add(list(same), destination).data for same in zip(*inputs, strict=True)])


def scatter(tensor, devices=None, chunk_sizes=None, dim=0, streams=None, *, out=None):
    """The parts of a tensor along `dim`, of even or the given sizes, each on a device (or in one of `out`)."""
    if out is None:
        parts = tensor.detach().chunk(len(devices), dim) if chunk_sizes is None else tensor.detach().split(list(chunk_sizes), dim)
        return tuple([part.to(_on(d)) for part, d in zip(parts, devices)])
    for name, given in (("devices", devices), ("chunk_sizes", chunk_sizes)):
        if given is not None:
            raise RuntimeError(f"'{name}' must not be specified when 'out' is specified, but got {name}={given}")
    at = 0
    for t in out:
        n = t.shape[dim]
        t.detach().copy_(tensor.detach().narrow(dim, at, n))
        at += n
    return tuple(out)


def gather(tensors, dim=0, destination=None, *, out=None):
    """Tensors on several devices one after the other, on one (default: the current GPU; "cpu"), or in `out`."""
    from .. import cat
    from . import current_device
    if out is not None:
        if destination is not None:
            raise RuntimeError(f"'destination' must not be specified when 'out' is specified, but got destination={destination}")
        out.detach().copy_(cat([t.detach().to(out.device) for t in tensors], dim))
        return out
    if destination == -1:
        warnings.warn("Using -1 to represent CPU tensor is deprecated. Please use a device object or string instead, e.g., \"cpu\".",
                      FutureWarning, stacklevel=2)
        destination = "cpu"
    where = _on(current_device() if destination is None else destination)
    return cat([t.detach().to(where) for t in tensors], dim)
