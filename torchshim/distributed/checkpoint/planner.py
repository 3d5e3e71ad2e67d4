"""What torch.distributed.checkpoint plans to write: NotImplementedError when made."""
from ...dropin import missing_attribute as _missing_attribute
from .._absent import absent_names

globals().update(absent_names(__name__, classes="SavePlan LoadPlan SavePlanner LoadPlanner WriteItem ReadItem WriteItemType"))
__getattr__ = _missing_attribute(__name__)
