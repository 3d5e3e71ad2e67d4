"""torch._C._special: the functions of torch.special under the names of PyTorch's compiled ones."""
from .. import special as _special


def __getattr__(name):
    found = getattr(_special, name.removeprefix("special_"), None) if name.startswith("special_") else None
    if found is None:
        raise AttributeError(f"module 'torch._C._special' has no attribute {name!r}")
    return found
