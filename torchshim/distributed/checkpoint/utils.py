"""What libraries take from torch.distributed.checkpoint.utils."""
from .api import CheckpointException

__all__ = ["CheckpointException"]
