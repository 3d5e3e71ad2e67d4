"""torch.distributed.pipelining: importable; pipelines of processes raise NotImplementedError."""
from ...dropin import missing_attribute as _missing_attribute
from .._absent import absent_names

globals().update(absent_names(
    __name__,
    classes="Pipe PipelineStage SplitPoint ScheduleGPipe Schedule1F1B ScheduleInterleaved1F1B ScheduleDualPipeV "
            "ScheduleZBVZeroBubble ScheduleInterleavedZeroBubble ScheduleLoopedBFS",
    functions="pipeline pipe_split build_stage"))
__getattr__ = _missing_attribute(__name__, lazy=("schedules",))
