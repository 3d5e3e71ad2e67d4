"""torch._subclasses.functional_tensor: nothing is wrapped to be made functional, so no tensor is a FunctionalTensor."""
from .. import Tensor


class FunctionalTensor(Tensor):
    """A tensor whose writes are made functional, in torch. Nothing here is one."""


def mb_unwrap_functional_tensor(tensor):
    """The tensor itself."""
    return tensor
