"""torch.utils.dlpack: tensors as DLPack capsules."""
from ..tensor.creation import from_dlpack
from ..tensor.tensor import Tensor

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor):
    """A DLPack capsule of the tensor's memory. It can be consumed once; must not be written through."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"to_dlpack(): argument 'tensor' must be Tensor, not {type(tensor).__name__}")
    return tensor.__dlpack__()
