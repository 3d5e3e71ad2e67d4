"""torch.distributed.tensor.parallel: importable; cutting a module over processes raises NotImplementedError."""
from ...dropin import missing_attribute as _missing_attribute
from .._absent import absent_names

globals().update(absent_names(
    __name__,
    classes="ParallelStyle ColwiseParallel RowwiseParallel SequenceParallel PrepareModuleInput "
            "PrepareModuleOutput PrepareModuleInputOutput",
    functions="parallelize_module loss_parallel"))
__getattr__ = _missing_attribute(__name__)
