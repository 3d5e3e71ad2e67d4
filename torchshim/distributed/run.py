"""torchrun, which starts several processes: NotImplementedError."""
from ..dropin import missing_attribute as _missing_attribute
from ._absent import absent_names

globals().update(absent_names(__name__, functions="get_args_parser parse_args run main"))
__getattr__ = _missing_attribute(__name__)
