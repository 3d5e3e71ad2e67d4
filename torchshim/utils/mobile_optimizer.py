"""torch.utils.mobile_optimizer: importable; there is no TorchScript that could be optimised."""
from enum import Enum


class MobileOptimizerType(Enum):
    """The passes, by torch's numbers."""
    CONV_BN_FUSION, INSERT_FOLD_PREPACK_OPS, REMOVE_DROPOUT, FUSE_ADD_RELU, HOIST_CONV_PACKED_PARAMS, CONV_1D_TO_2D, VULKAN_AUTOMATIC_GPU_TRANSFER = range(1, 8)


def optimize_for_mobile(*args, **kwargs):
    """NotImplementedError."""
    raise NotImplementedError("torchshim: torch.utils.mobile_optimizer.optimize_for_mobile; there is no TorchScript here")
