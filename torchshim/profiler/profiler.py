"""torch.profiler.profiler: profiles, by their module."""
from . import (ExecutionTraceObserver, ProfilerAction, profile, schedule, supported_activities, tensorboard_trace_handler)

__all__ = ["ExecutionTraceObserver", "ProfilerAction", "profile", "schedule", "supported_activities", "tensorboard_trace_handler"]


def _default_schedule_fn(_):
    """The schedule of a profiler that was given none: every step is recorded."""
    return ProfilerAction.RECORD
