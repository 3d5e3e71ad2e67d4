"""torch.distributed.elastic.agent: `server`."""
from ....dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__, lazy=("server",))
