"""Timer: seconds of a piece of code, with what it recorded computed."""
from __future__ import annotations

import enum
import sys
import timeit as _timeit

from .... import cuda
from ....engine import flush
from .common import Measurement, TaskSpec


class Language(enum.Enum):
    """The language of the code that is timed."""
    PYTHON = 0
    CPP = 1


def timer():
    """The clock, once everything that was recorded is computed."""
    flush()
    if cuda.is_available():
        cuda.synchronize()
    return _timeit.default_timer()


class Timer:
    """Times `stmt` after `setup`, with the names of `globals`; label, sub_label, description and env name it in tables."""

    def __init__(self, stmt="pass", setup="pass", global_setup="", timer=timer, globals=None, label=None, sub_label=None, description=None,
                 env=None, num_threads=1, language=Language.PYTHON):
        if str(language).lower() not in ("python", "py", "language.python"):
            raise NotImplementedError("torchshim: torch.utils.benchmark.Timer for C++")
        from textwrap import dedent
        names = {"torch": sys.modules[__name__.partition(".")[0]], **(globals or {})}
        stmt, setup = dedent(stmt).strip(), dedent(setup).strip() or "pass"
        self._timer = _timeit.Timer(stmt, setup, timer, names)
        self._task_spec = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)

    def timeit(self, number=1000000):
        """A Measurement of one run of `number` calls, after some to warm up."""
        self._timer.timeit(max(number // 100, 2))
        return Measurement(number, [self._timer.timeit(number)], self._task_spec)

    def repeat(self, repeat=-1, number=-1):
        """NotImplementedError, as in torch."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback=None):
        """NotImplementedError, as in torch."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _block(self, min_run_time):
        number, overhead = 1, min([_timeit.Timer("pass", timer=self._timer.timer).timeit(1) for _ in range(5)])
        while True:
            taken = self._timer.timeit(number)
            if overhead / max(taken, 1e-12) <= 1e-4 and taken >= min_run_time / 1000 or taken > min_run_time:
                return number
            number *= 10

    def blocked_autorange(self, callback=None, min_run_time=0.2):
        """A Measurement of as many runs as take min_run_time seconds, each long enough to be timed."""
        number = self._block(min_run_time)
        times, total = [], 0.0
        while total < min_run_time or not times:
            times.append(self._timer.timeit(number))
            total += times[-1]
            if callback:
                callback(number, times[-1])
        return Measurement(number, times, self._task_spec)

    def adaptive_autorange(self, threshold=0.1, *, min_run_time=0.01, max_run_time=10.0, callback=None):
        """The same until the runs differ by less than `threshold` of their median, or max_run_time is over."""
        number = self._block(0.05)
        times = []
        while True:
            times.append(self._timer.timeit(number))
            m = Measurement(number, times, self._task_spec)
            total = sum(times)
            if len(times) > 3 and total > min_run_time and m.iqr < threshold * m.median or total > max_run_time:
                return m

    def collect_callgrind(self, *args, **kwargs):
        """NotImplementedError."""
        raise NotImplementedError("torchshim: Timer.collect_callgrind")
