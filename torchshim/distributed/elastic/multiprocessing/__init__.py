"""torch.distributed.elastic.multiprocessing: `errors`."""
from ....dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__, lazy=('errors',))
