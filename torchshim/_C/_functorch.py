"""torch._C._functorch: what libraries ask about tensors under torch.func's transforms."""
from ..autograd.levels import is_traced as _is_traced, levels as _levels
from ..dropin import missing_attribute as _missing_attribute


def is_batchedtensor(tensor):
    """Whether the tensor is one example of a batch, inside a vmap."""
    return _is_traced(tensor) and any(level.kind == "vmap" for level in _levels())


def is_gradtrackingtensor(tensor):
    """Whether the tensor is inside a transform that differentiates."""
    return any(level.kind == "grad" for level in _levels())


def is_functorch_wrapped_tensor(tensor):
    """Whether the tensor is inside any transform that torch would wrap it for."""
    return is_batchedtensor(tensor) or is_gradtrackingtensor(tensor)


def is_legacy_batchedtensor(tensor):
    """False: there is one vmap."""
    return False


__getattr__ = _missing_attribute(__name__)
