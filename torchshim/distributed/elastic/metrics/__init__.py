"""torch.distributed.elastic.metrics: named numbers for handlers that a program chooses; by default nobody looks at them."""
from __future__ import annotations

import collections
import functools
import time

__all__ = ["ConsoleMetricHandler", "MetricData", "MetricHandler", "MetricStream", "MetricsConfig", "NullMetricHandler", "configure",
           "getStream", "get_elapsed_time_ms", "initialize_metrics", "prof", "profile", "publish_metric", "put_metric"]
MetricData = collections.namedtuple("MetricData", ["timestamp", "group_name", "name", "value"])


class MetricsConfig:
    """Parameters of the numbers."""
    __slots__ = ["params"]

    def __init__(self, params=None):
        self.params = params or {}


class MetricHandler:
    """What is done with a `MetricData`: subclasses give `emit`."""

    def emit(self, metric_data):
        """One number."""
        raise NotImplementedError


class ConsoleMetricHandler(MetricHandler):
    """Prints it."""

    def emit(self, metric_data):
        print(f"[{metric_data.timestamp}][{metric_data.group_name}]: {metric_data.name}={metric_data.value}")


class NullMetricHandler(MetricHandler):
    """Does nothing."""

    def emit(self, metric_data):
        pass


class MetricStream:
    """The numbers of one group."""

    def __init__(self, group_name, handler):
        self.group_name, self.handler = group_name, handler

    def add_value(self, metric_name, metric_value):
        """One number more."""
        self.handler.emit(MetricData(time.time(), self.group_name, metric_name, metric_value))


_handlers: dict = {}
_default = [NullMetricHandler()]


def configure(handler, group=None):
    """Choose the handler of a group, or of those that have none."""
    if group is None:
        _default[0] = handler
    else:
        _handlers[group] = handler


def initialize_metrics(cfg=None):
    """Nothing: there is nothing to begin."""


def getStream(group):
    """The stream of a group."""
    return MetricStream(group, _handlers.get(group, _default[0]))


def put_metric(metric_name, metric_value, metric_group="torchelastic"):
    """Give a number to its group's handler."""
    getStream(metric_group).add_value(metric_name, metric_value)


def get_elapsed_time_ms(start_time_in_seconds):
    """Milliseconds since then."""
    return int((time.time() - start_time_in_seconds) * 1000)


def prof(fn=None, group="torchelastic"):
    """A decorator: each call gives NAME.success or NAME.failure, and NAME.duration.ms."""
    def wrap(f):
        @functools.wraps(f)
        def run(*args, **kwargs):
            key, start = f.__qualname__, time.time()
            try:
                made = f(*args, **kwargs)
                put_metric(f"{key}.success", 1, group)
            except Exception:
                put_metric(f"{key}.failure", 1, group)
                raise
            finally:
                put_metric(f"{key}.duration.ms", get_elapsed_time_ms(start), group)
            return made
        return run
    return wrap if fn is None else wrap(fn)


def profile(group=None):
    """`prof` of a group."""
    return lambda f: prof(f, group or "torchelastic")


def publish_metric(metric_group, metric_name, metric_value):
    """`put_metric` with the group first."""
    put_metric(metric_name, metric_value, metric_group)
