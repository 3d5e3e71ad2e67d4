"""torch.optim."""
from ..dropin import missing_attribute as _missing_attribute
from . import lr_scheduler
from .adam import Adam, AdamW
from .optimizer import Optimizer
from .sgd import SGD

__all__ = ["Adam", "AdamW", "Optimizer", "SGD", "lr_scheduler"]
__getattr__ = _missing_attribute(__name__)
