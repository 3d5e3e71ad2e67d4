"""torch.__config__: how this library was built."""


def show():
    """The versions that it runs on, as text."""
    import jax
    import jaxlib
    import numpy
    return f"torchshim on JAX {jax.__version__} (jaxlib {jaxlib.__version__}, NumPy {numpy.__version__})\n"


def _cxx_flags():
    """The flags of the C++ compiler, of which there is none."""
    return ""


def parallel_info():
    """The numbers of threads, as text."""
    from .settings import get_num_interop_threads, get_num_threads
    return f"torch.get_num_threads(): {get_num_threads()}\ntorch.get_num_interop_threads(): {get_num_interop_threads()}\n"
