"""torch._subclasses.fake_tensor: no tensor is a FakeTensor here; tensors of the meta device have shapes without values."""
import contextlib

from .. import Tensor
from ..tensor.core.overriding import disabled_torch_function_impl


class FakeTensor(Tensor):
    """A tensor without values, in torch. Nothing here is one."""
    __torch_function__ = staticmethod(disabled_torch_function_impl)


class FakeTensorMode:
    """A mode in which tensors have no values, in torch; entering it raises NotImplementedError."""

    def __init__(self, *args, **kwargs):
        pass

    def __enter__(self):
        raise NotImplementedError("torchshim: FakeTensorMode; use the meta device (torch.device('meta'))")

    def __exit__(self, *exc):
        return False


def is_fake(x):
    """Whether a tensor has no values: never."""
    return False


@contextlib.contextmanager
def unset_fake_temporarily():
    """A block outside of any FakeTensorMode; what is entered is the mode that was left: None, as there is none."""
    yield None
