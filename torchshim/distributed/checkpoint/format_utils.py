"""torch.distributed.checkpoint's files as torch.save's and back: NotImplementedError."""
from ...dropin import missing_attribute as _missing_attribute
from .._absent import absent_names

globals().update(absent_names(__name__, functions="dcp_to_torch_save torch_save_to_dcp"))
__getattr__ = _missing_attribute(__name__)
