"""torch.distributed.pipelining.schedules: importable; pipelines of processes raise NotImplementedError."""
from ...dropin import missing_attribute as _missing_attribute
from .._absent import absent_names
from . import (Schedule1F1B, ScheduleDualPipeV, ScheduleGPipe, ScheduleInterleaved1F1B, ScheduleInterleavedZeroBubble,  # noqa: F401
               ScheduleLoopedBFS, ScheduleZBVZeroBubble)

globals().update(absent_names(__name__, classes="PipelineScheduleSingle PipelineScheduleMulti", functions="get_schedule_class"))
__getattr__ = _missing_attribute(__name__)
