"""torch._dynamo.utils: what libraries ask of it before they compile something of their own."""
from .. import device as _device
from ..dropin import missing_attribute as _missing_attribute


def is_compile_supported(device_type):
    """Whether `torch.compile` works for a device: it does on every one that JAX has."""
    return _device(device_type).type in ("cpu", "cuda")


__getattr__ = _missing_attribute(__name__)
