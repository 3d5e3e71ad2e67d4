"""torch.optim."""
from ..dropin import missing_attribute as _missing_attribute
from ..tensor.api import docs as _docs
from . import lr_scheduler
from ._adafactor import Adafactor
from ._muon import Muon
from ._swap import swap_in_optimizer_params_and_state
from .adadelta import Adadelta
from .adagrad import Adagrad
from .adam import Adam
from .adamax import Adamax
from .adamw import AdamW
from .asgd import ASGD
from .lbfgs import LBFGS
from .nadam import NAdam
from .optimizer import Optimizer
from .radam import RAdam
from .rmsprop import RMSprop
from .rprop import Rprop
from .sgd import SGD
from .sparse_adam import SparseAdam

__all__ = ["ASGD", "Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "LBFGS", "Muon", "NAdam", "Optimizer", "RAdam", "RMSprop",
           "Rprop", "SGD", "SparseAdam", "lr_scheduler", "swa_utils"]
_docs.complete_classes("torch.optim.", globals())
_docs.complete_classes("torch.optim.lr_scheduler.", vars(lr_scheduler))
__getattr__ = _missing_attribute(__name__, lazy=("swa_utils",))
