"""torch.nn.parallel: wrappers for several devices or processes, as they behave on one."""
import warnings as _warnings

from ...dropin import missing_attribute as _missing_attribute
from .data_parallel import DataParallel, data_parallel, parallel_apply, replicate
from .distributed import DistributedDataParallel
from .scatter_gather import gather, scatter

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel", "gather", "parallel_apply", "replicate", "scatter"]


class DistributedDataParallelCPU(DistributedDataParallel):
    """DistributedDataParallel by an old name."""

    def __init__(self, *args, **kwargs):
        _warnings.warn("`torch.nn.parallel.DistributedDataParallelCPU` is deprecated, please use "
                       "`torch.nn.parallel.DistributedDataParallel` instead.", FutureWarning, stacklevel=2)
        super().__init__(*args, **kwargs)


__getattr__ = _missing_attribute(__name__, lazy=("comm",))
