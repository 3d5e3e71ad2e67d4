"""ThroughputBenchmark: PyTorch's measure of a module called from several threads of C++, which are not here."""
from __future__ import annotations

__all__ = ["ExecutionStats", "ThroughputBenchmark", "format_time"]


def format_time(time_us=None, time_ms=None, time_s=None):
    """A time as text, in what suits it. AssertionError unless exactly one is given."""
    if sum([t is not None for t in (time_us, time_ms, time_s)]) != 1:
        raise AssertionError("Expected only one of time_us, time_ms, time_s is given.")
    us = time_us if time_us is not None else time_ms * 1e3 if time_ms is not None else time_s * 1e6
    return f"{us / 1e6:.3f}s" if us >= 1e6 else f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


class ExecutionStats:
    """What a measurement says."""

    def __init__(self, c_stats, benchmark_config):
        self._c_stats, self.benchmark_config = c_stats, benchmark_config

    latency_avg_ms = property(lambda self: self._c_stats.latency_avg_ms, doc="Milliseconds a call.")
    num_iters = property(lambda self: self._c_stats.num_iters, doc="How many calls.")


class ThroughputBenchmark:
    """NotImplementedError; see torch.utils.benchmark.Timer."""

    def __init__(self, module):
        raise NotImplementedError("torchshim: ThroughputBenchmark; see torch.utils.benchmark.Timer")
