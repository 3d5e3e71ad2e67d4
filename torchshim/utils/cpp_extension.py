"""torch.utils.cpp_extension: what setup scripts import. Extensions call PyTorch's C++, so building one raises NotImplementedError."""
from __future__ import annotations

import os
import shutil

CUDA_HOME = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
ROCM_HOME = os.environ.get("ROCM_HOME")
CUDNN_HOME = os.environ.get("CUDNN_HOME")
IS_WINDOWS = os.name == "nt"


def _refuse(what):
    raise NotImplementedError(f"torchshim: {what}; extensions call PyTorch's C++ (write the operator in Python, or with jax.ffi)")


def load(name, sources, **options):
    """NotImplementedError."""
    _refuse(f"torch.utils.cpp_extension.load({name!r})")


def load_inline(name, cpp_sources, **options):
    """NotImplementedError."""
    _refuse(f"torch.utils.cpp_extension.load_inline({name!r})")


def CppExtension(name, sources, *args, **kwargs):
    """NotImplementedError."""
    _refuse(f"building {name!r}")


CUDAExtension = SyclExtension = CppExtension


class BuildExtension:
    """The command that builds extensions, in torch."""

    def __init__(self, *args, **kwargs):
        _refuse("torch.utils.cpp_extension.BuildExtension")

    @classmethod
    def with_options(cls, **options):
        """The class: options make no difference."""
        return cls


def include_paths(device_type="cpu", torch_include_dirs=True):
    """NotImplementedError: there are no headers."""
    _refuse("torch.utils.cpp_extension.include_paths")


library_paths = include_paths


def is_ninja_available():
    """Whether ninja is there."""
    return shutil.which("ninja") is not None


def verify_ninja_availability():
    """RuntimeError unless ninja is there."""
    if not is_ninja_available():
        raise RuntimeError("Ninja is required to load C++ extensions (pip install ninja to get it)")


def get_default_build_root():
    """Where torch would build."""
    import tempfile
    return os.path.realpath(os.path.join(tempfile.gettempdir(), "torch_extensions"))
