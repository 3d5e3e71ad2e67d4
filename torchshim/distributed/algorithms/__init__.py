"""torch.distributed.algorithms: `join`, averages of models, and checkpoints as wrappers."""
from ...dropin import missing_attribute as _missing_attribute
from .join import Join, Joinable, JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]
__getattr__ = _missing_attribute(__name__, lazy=("_checkpoint", "ddp_comm_hooks", "join", "model_averaging"))
