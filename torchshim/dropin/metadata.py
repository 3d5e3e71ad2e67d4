"""The distribution that ``importlib.metadata`` finds under the name ``torch``."""

import importlib.metadata
from pathlib import Path

from torchshim.dropin.versions import TORCH_VERSION, TORCHSHIM_VERSION

_FILES = {
    "METADATA": (
        "Metadata-Version: 2.1\n"
        "Name: torch\n"
        f"Version: {TORCH_VERSION}\n"
        f"Summary: PyTorch's Python API on JAX, by torchshim {TORCHSHIM_VERSION}\n"
        "License: MIT\n"
    ),
    "INSTALLER": "torchshim\n",
    "top_level.txt": "torch\n",
}


class TorchDistribution(importlib.metadata.Distribution):
    """What ``importlib.metadata.distribution("torch")`` returns under the drop-in."""

    def read_text(self, filename):
        return _FILES.get(str(filename))

    def locate_file(self, path):
        return Path(__file__).parents[2] / path
