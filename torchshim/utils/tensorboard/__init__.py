"""torch.utils.tensorboard: SummaryWriter, where tensorboard is installed; else importing it raises torch's ImportError."""
import tensorboard  # noqa: F401

from .writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
