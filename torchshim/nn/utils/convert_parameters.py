"""Parameters as one vector, and back."""
from __future__ import annotations

from ...tensor.api.bind import FUNCTIONS
from ...tensor.core.tensor import Tensor


def parameters_to_vector(parameters):
    """All elements in one dimension."""
    return FUNCTIONS["cat"]([p.view(-1) for p in _one_device(parameters)])


def vector_to_parameters(vec, parameters):
    """Let the parameters view the vector's parts, in order."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__module__.replace('builtins', '')}"
                        f"{'' if type(vec).__module__ == 'builtins' else '.'}{type(vec).__name__}")
    at = 0
    for p in _one_device(parameters):
        n = p.numel()
        p.data = vec[at:at + n].view_as(p).data
        at += n


def _one_device(parameters):
    device = None
    for p in parameters:
        if device is None:
            device = p.device
        elif device != p.device:
            raise TypeError("Found two parameters on different devices, this is currently not supported.")
        yield p
