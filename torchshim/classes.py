"""torch.classes: classes that C++ extensions register, of which there are none."""

from .ops import load_library, loaded_libraries  # noqa: F401


class _Namespace:
    """The classes of one extension."""

    def __init__(self, name):
        self.name = name

    def __getattr__(self, attr):
        raise RuntimeError(f"Tried to instantiate class '{self.name}.{attr}', but it does not exist! Ensure that it is registered via "
                           "torch::class_")


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _Namespace(name)
