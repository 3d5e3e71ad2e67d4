"""torch.distributed.elastic: `multiprocessing.errors.record`; starting processes is torchrun's, which is not there."""
from ...dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__, lazy=('multiprocessing',))
