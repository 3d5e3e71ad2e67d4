"""Where torch.distributed.checkpoint writes files: NotImplementedError (torch.save and torch.load are there)."""
from ...dropin import missing_attribute as _missing_attribute
from .._absent import absent_names

globals().update(absent_names(__name__, classes="FileSystemReader FileSystemWriter"))
__getattr__ = _missing_attribute(__name__)
