"""Checkpoints in the safetensors format, which are not there."""
from .._absent import absent_class

__all__ = ["HuggingFaceStorageWriter", "HuggingFaceStorageReader"]
HuggingFaceStorageWriter = absent_class("torchshim.distributed.checkpoint", "HuggingFaceStorageWriter")
HuggingFaceStorageReader = absent_class("torchshim.distributed.checkpoint", "HuggingFaceStorageReader")
