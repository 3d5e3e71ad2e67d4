"""torch.utils.tensorboard: SummaryWriter. The files are written without tensorboard's own library; looking at them needs it."""
from .writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
