"""torch.optim."""
from ..dropin import missing_attribute as _missing_attribute
from ..tensor.api import docs as _docs
from . import lr_scheduler
from .adam import Adam, AdamW
from .optimizer import Optimizer
from .sgd import SGD

__all__ = ["Adam", "AdamW", "Optimizer", "SGD", "lr_scheduler"]
_docs.complete_classes("torch.optim.", globals())
_docs.complete_classes("torch.optim.lr_scheduler.", vars(lr_scheduler))
__getattr__ = _missing_attribute(__name__)
