"""Libraries whose compiled part is made for PyTorch's own binary: what stands in for it here.

`torch.ops.load_library` asks for the path of such a part; where this folder has its operators, they are declared through `torch.library`
and the library finds them as if it had been loaded. They are computed with NumPy on the host, in the order of the compiled loops.
"""
import importlib
import pathlib

#: (the library's folder, how the file's name begins) -> the module here that declares its operators.
_KNOWN = {("torchvision", "_C"): "vision", ("torchvision", "_C_stable"): "vision",
          ("torchaudio", "_torchaudio"): "audio", ("torchaudio", "libtorchaudio"): "audio"}


def stands_in(path):
    """Whether the operators of the compiled file at `path` are there (they are declared the first time)."""
    path = pathlib.PurePath(path)
    for (library, stem), module in _KNOWN.items():
        if library in path.parts[:-1] and path.name.split(".")[0] == stem:
            importlib.import_module(f"{__name__}.{module}")
            return True
    return False
