"""torch.nn.parallel: wrappers for several devices or processes, as they behave on one."""
from ...dropin import missing_attribute as _missing_attribute
from .data_parallel import DataParallel, data_parallel, parallel_apply, replicate
from .distributed import DistributedDataParallel
from .scatter_gather import gather, scatter

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel", "gather", "parallel_apply", "replicate", "scatter"]

__getattr__ = _missing_attribute(__name__)
