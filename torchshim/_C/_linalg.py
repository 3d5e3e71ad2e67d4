"""torch._C._linalg: the functions of torch.linalg under the names of PyTorch's compiled ones."""
from .. import linalg as _linalg


def __getattr__(name):
    found = getattr(_linalg, name.removeprefix("linalg_"), None) if name.startswith("linalg_") else None
    if found is None:
        raise AttributeError(f"module 'torch._C._linalg' has no attribute {name!r}")
    return found
