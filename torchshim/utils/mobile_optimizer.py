"""torch.utils.mobile_optimizer: importable; there is no TorchScript that could be optimised."""
from enum import Enum


class MobileOptimizerType(Enum):
    """The passes, by torch's numbers."""
    CONV_BN_FUSION = 1
    INSERT_FOLD_PREPACK_OPS = 2
    REMOVE_DROPOUT = 3
    FUSE_ADD_RELU = 4
    HOIST_CONV_PACKED_PARAMS = 5
    CONV_1D_TO_2D = 6
    VULKAN_AUTOMATIC_GPU_TRANSFER = 7


def optimize_for_mobile(*args, **kwargs):
    """NotImplementedError."""
    raise NotImplementedError("torchshim: torch.utils.mobile_optimizer.optimize_for_mobile; there is no TorchScript here")
