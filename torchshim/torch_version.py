"""``torch.torch_version``: the comparable type of ``torch.__version__``."""

from torchshim.dropin.versions import TORCH_VERSION as __version__
from torchshim.dropin.versions import TorchVersion

__all__ = ["TorchVersion", "__version__"]
