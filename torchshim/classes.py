"""torch.classes: classes that C++ extensions register, of which there are none."""

loaded_libraries = set()


class _Namespace:
    """The classes of one extension."""

    def __init__(self, name):
        self.name = name

    def __getattr__(self, attr):
        raise RuntimeError(f"Tried to instantiate class '{self.name}.{attr}', but it does not exist! Ensure that it is registered via torch::class_")


def load_library(path):
    """NotImplementedError: a compiled extension is made for PyTorch's own binary."""
    raise NotImplementedError(f"torchshim: torch.classes.load_library({path!r}): libraries compiled for PyTorch")


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _Namespace(name)
