"""``torch.version``: the release followed, and the builds that this one is not."""

from torchshim.dropin.versions import TORCH_VERSION as __version__

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "rocm", "xpu"]

debug = False
cuda = None
hip = None
rocm = None
xpu = None
git_version = "Unknown"
