"""torch._C._fft: the functions of torch.fft under the names of PyTorch's compiled ones."""
from .. import fft as _fft


def __getattr__(name):
    found = getattr(_fft, name.removeprefix("fft_"), None) if name.startswith("fft_") else None
    if found is None:
        raise AttributeError(f"module 'torch._C._fft' has no attribute {name!r}")
    return found
