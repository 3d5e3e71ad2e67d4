"""Names of parameters without what wrappers put before them."""
from __future__ import annotations

FSDP_WRAPPED_MODULE, FSDP_PREFIX = "_fsdp_wrapped_module", "_fsdp_wrapped_module."


def clean_tensor_name(tensor_name):
    """The name that the tensor had before FullyShardedDataParallel and activation checkpointing wrapped modules."""
    return tensor_name.replace(FSDP_PREFIX, "").replace("_checkpoint_wrapped_module.", "")
