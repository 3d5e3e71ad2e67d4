"""torch.distributed.algorithms: `join`, and checkpoints as wrappers."""
from ...dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__, lazy=("_checkpoint", "ddp_comm_hooks", "join"))
