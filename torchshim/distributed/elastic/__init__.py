"""torch.distributed.elastic: `multiprocessing.errors.record`; `metrics`, `utils`; torchrun starts processes."""
from ...dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__, lazy=("agent", "metrics", "multiprocessing", "utils"))
