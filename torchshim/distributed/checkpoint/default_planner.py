"""The planners of torch.distributed.checkpoint: NotImplementedError when made."""
from ...dropin import missing_attribute as _missing_attribute
from .._absent import absent_names

globals().update(absent_names(__name__, classes="DefaultSavePlanner DefaultLoadPlanner"))
__getattr__ = _missing_attribute(__name__)
