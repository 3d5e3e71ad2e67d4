"""Names of torch.utils._foreach_utils that optimizer libraries use: lists of tensors grouped as torch's multi-tensor kernels need them."""
from __future__ import annotations

from ..nn.parameter import Parameter
from ..tensor.core.tensor import Tensor


def _get_foreach_kernels_supported_devices():
    """The device types for which torch takes its multi-tensor path by itself. Here recording makes one program on every device."""
    return ["cuda", "xpu", "mtia"]


def _get_fused_kernels_supported_devices():
    """The device types for which torch has fused optimizers."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]


def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
    """{(device, dtype): (lists, indices)}: each list's tensors at the places where the first list's has that device and dtype.

    The lists are of equal length; other lists than the first may hold None. `indices` is empty unless asked for.
    """
    if not all(isinstance(tensors, (list, tuple)) and len(tensors) == len(tensorlistlist[0]) for tensors in tensorlistlist):
        raise RuntimeError("torchshim: tensor lists must be lists of the same length")
    groups = {}
    for k, first in enumerate(tensorlistlist[0]):
        lists, indices = groups.setdefault((first.device, first.dtype), ([[] for _ in tensorlistlist], []))
        for into, tensors in zip(lists, tensorlistlist):
            into.append(tensors[k])
        if with_indices:
            indices.append(k)
    return groups


def _device_has_foreach_support(device):
    """Whether torch has multi-tensor kernels for the device."""
    return device.type in (*_get_foreach_kernels_supported_devices(), "cpu")


def _has_foreach_support(tensors, device):
    """Whether torch has multi-tensor kernels for these tensors, None among them ignored."""
    return _device_has_foreach_support(device) and all(t is None or type(t) in (Tensor, Parameter) for t in tensors)
