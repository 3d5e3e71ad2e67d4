"""torch.profiler.profiler: profiles, by their module."""
from . import (ExecutionTraceObserver, ProfilerAction, profile, schedule, supported_activities, tensorboard_trace_handler)

__all__ = ["ExecutionTraceObserver", "ProfilerAction", "profile", "schedule", "supported_activities", "tensorboard_trace_handler"]
