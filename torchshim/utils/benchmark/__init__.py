"""torch.utils.benchmark: Timer, and tables that compare what it measured."""
from ...dropin import missing_attribute as _missing_attribute
from .utils.common import Measurement, TaskSpec
from .utils.compare import Compare
from .utils.timer import Language, Timer, timer

__all__ = ["Compare", "Language", "Measurement", "TaskSpec", "Timer", "timer"]
__getattr__ = _missing_attribute(__name__)
