"""torch.backends.cpu."""


def get_cpu_capability():
    """DEFAULT: kernels are XLA's and NumPy's, which choose by themselves."""
    return "DEFAULT"
