"""What refuses: things of CUDA's own that XLA does not let one reach. Without a GPU the error is PyTorch's,
with one NotImplementedError."""
from __future__ import annotations


def function(module, name, doc="Refuses: without a GPU as PyTorch without CUDA does, with one by NotImplementedError.", plain=None):
    """A function of `module` that refuses; plain: the error's text without a GPU, where it is not that of every such call."""
    def refuse(*args, **kwargs):
        from . import _lazy_init, is_available
        if not is_available():
            if plain is not None:
                raise RuntimeError(plain)
            _lazy_init()
        raise NotImplementedError(f"torchshim: {module}.{name}")
    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__, refuse.__module__ = doc, module
    return refuse


def kind(module, name, members=(), plain=None, base=object):
    """A class of `module` whose making refuses, and so do its methods."""
    refuse = function(module, name, plain=plain)
    space = {"__new__": lambda cls, *args, **kwargs: refuse(*args, **kwargs), "__module__": module, "__doc__": refuse.__doc__}
    space.update({m: function(module, f"{name}.{m}") for m in members})
    return type(name, (base,), space)
