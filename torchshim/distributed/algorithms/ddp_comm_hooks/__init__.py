"""torch.distributed.algorithms.ddp_comm_hooks: importable; there is nobody to combine gradients with."""
from ....dropin import missing_attribute as _missing_attribute
from ..._absent import absent_names

globals().update(absent_names(__name__, functions="register_ddp_comm_hook"))
__getattr__ = _missing_attribute(__name__, lazy=('default_hooks', 'powerSGD_hook'))
