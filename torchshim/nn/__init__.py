"""torch.nn: modules, their parameters, initialisers and functions."""
from ..dropin import missing_attribute as _missing_attribute
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter
from . import functional, init, modules, parameter, utils
from .modules import *
from .parallel import DataParallel

__getattr__ = _missing_attribute(__name__)
