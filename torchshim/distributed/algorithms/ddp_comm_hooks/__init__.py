"""torch.distributed.algorithms.ddp_comm_hooks: what is done with gradients between backward and the optimizer."""
import enum
import functools

from ....dropin import missing_attribute as _missing_attribute
from . import default_hooks as _default
from . import post_localSGD_hook as _post

__all__ = ["DDPCommHookType", "register_ddp_comm_hook"]


def _registered(model, state, *, comm_hook):
    model.register_comm_hook(state, comm_hook)


class DDPCommHookType(enum.Enum):
    """The hooks that are there; others raise AttributeError."""
    ALLREDUCE = functools.partial(_registered, comm_hook=_default.allreduce_hook)
    FP16_COMPRESS = functools.partial(_registered, comm_hook=_default.fp16_compress_hook)
    BF16_COMPRESS = functools.partial(_registered, comm_hook=_default.bf16_compress_hook)
    POST_LOCALSGD = functools.partial(_registered, comm_hook=_post.post_localSGD_hook)
    NOOP = functools.partial(_registered, comm_hook=_default.noop_hook)


def register_ddp_comm_hook(comm_hook_type, model, state=None):
    """Let a model's gradients pass through a hook of DDPCommHookType."""
    comm_hook_type.value(model=model, state=state)


__getattr__ = _missing_attribute(__name__, lazy=("default_hooks", "post_localSGD_hook", "powerSGD_hook"))
