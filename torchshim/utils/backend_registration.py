"""Devices of other makers, by other names; there are none here."""
__all__ = ["generate_methods_for_privateuse1_backend", "rename_privateuse1_backend"]


def rename_privateuse1_backend(backend_name):
    """NotImplementedError: devices are JAX's."""
    raise NotImplementedError("torchshim: rename_privateuse1_backend; devices are those of JAX")


def generate_methods_for_privateuse1_backend(for_tensor=True, for_module=True, for_packed_sequence=True, for_storage=False,
                                             unsupported_dtype=None):
    """NotImplementedError: devices are JAX's."""
    raise NotImplementedError("torchshim: generate_methods_for_privateuse1_backend; devices are those of JAX")
