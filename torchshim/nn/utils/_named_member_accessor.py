"""torch.nn.utils._named_member_accessor: a module's tensor exchanged for another, by name."""
from ...tensor.core.tensor import Tensor
from ..modules.module import Module

_MISSING = object()


def swap_tensor(module, name, tensor, allow_missing=False):
    """Put a tensor (or None) where the module has one of that name, without asking whether it is a Parameter; returns the old one.

    TypeError where either is no tensor, KeyError for a name with a dot, AttributeError for an unknown name unless allow_missing.
    """
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if tensor is not _MISSING and tensor is not None and not isinstance(tensor, Tensor):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')
    if name == "":
        raise KeyError('tensor name can\'t be empty string ""')
    for kept in (module._parameters, module._buffers):
        if name in kept:
            old = kept[name]
            if tensor is _MISSING:
                del kept[name]
            else:
                kept[name] = tensor
            return old
    old = getattr(module, name, _MISSING)
    if old is _MISSING and not allow_missing:
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    if old is not _MISSING and old is not None and not isinstance(old, Tensor):
        raise TypeError(f"attribute `{name}`: {old} is not an instance of torch.Tensor")
    if tensor is not _MISSING:
        setattr(module, name, tensor)
    elif old is not _MISSING:
        delattr(module, name)
    return old
