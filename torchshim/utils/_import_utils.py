"""torch.utils._import_utils: which libraries are there."""
import functools
import importlib.util


@functools.cache
def dill_available():
    """Whether dill can be imported."""
    return importlib.util.find_spec("dill") is not None
