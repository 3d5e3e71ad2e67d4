"""torch.fx.passes.infra: passes in their order."""
from ....dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__, lazy=("partitioner", "pass_base", "pass_manager"))
