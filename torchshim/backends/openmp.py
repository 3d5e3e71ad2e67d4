"""torch.backends.openmp."""


def is_available():
    """False: XLA has threads of its own."""
    return False
