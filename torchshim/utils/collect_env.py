"""torch.utils.collect_env: what a report of a bug should tell."""
from __future__ import annotations

import platform
import sys


def get_pretty_env_info():
    """Versions and platform, as text."""
    from .. import __config__, __torchshim_version__, __version__, cuda
    return (f"torchshim version: {__torchshim_version__} (PyTorch {__version__})\nBuilt with: {__config__.show().strip()}\n"
            f"OS: {platform.platform()}\nPython version: {sys.version.split()[0]}\nIs CUDA available: {cuda.is_available()}")


def main():
    """Print it."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
