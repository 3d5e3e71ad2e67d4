"""torch.distributed.constants."""
from . import default_pg_timeout

__all__ = ["default_pg_timeout"]
