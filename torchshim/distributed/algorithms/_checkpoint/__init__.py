"""torch.distributed.algorithms._checkpoint: `checkpoint_wrapper`."""
from ....dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__, lazy=('checkpoint_wrapper',))
