"""torch.backends.cusparselt: NVIDIA's library of products with sparse weights, which is not used."""

__all__ = ["get_max_alg_id", "is_available", "version"]


def is_available():
    """False."""
    return False


def version():
    """None."""


get_max_alg_id = version
