"""torch.utils._triton: whether Triton's kernels can be used."""


def has_triton_package():
    """False: XLA compiles here."""
    return False


has_triton = has_triton_package
