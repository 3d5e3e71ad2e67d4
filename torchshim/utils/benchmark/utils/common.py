"""What was measured."""
from __future__ import annotations

import dataclasses
import statistics


def select_unit(t):
    """(unit, its seconds) in which to show a time."""
    for unit, seconds in (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3)):
        if t < 1000 * seconds:
            return unit, seconds
    return "s", 1


def trim_sigfig(x, n):
    """x with n significant digits."""
    return float(f"{x:.{n}g}")


@dataclasses.dataclass(init=True, repr=False, eq=True, frozen=True)
class TaskSpec:
    """What was timed: code, and words that tell it from others."""
    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self):
        """What to call it."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        return self.stmt if "\n" not in self.stmt else f"stmt:\n{self.stmt}"


@dataclasses.dataclass(init=True, repr=False)
class Measurement:
    """Times of runs: `raw_times` in seconds, each of `number_per_run` calls."""
    number_per_run: int
    raw_times: list
    task_spec: TaskSpec
    metadata: dict | None = None

    times = property(lambda self: [t / self.number_per_run for t in self.raw_times], doc="Seconds a call, of each run.")
    median = property(lambda self: statistics.median(self.times), doc="Seconds a call.")
    mean = property(lambda self: statistics.mean(self.times), doc="Seconds a call.")

    @property
    def iqr(self):
        """Seconds between the quarters."""
        if len(self.times) < 2:
            return 0.0
        q = statistics.quantiles(self.times, n=4, method="inclusive")
        return q[2] - q[0]

    def __getattr__(self, name):
        if name.startswith("__") or name == "task_spec":
            raise AttributeError(name)
        return getattr(self.task_spec, name)

    def __repr__(self):
        unit, scale = select_unit(self.median)
        n = len(self.raw_times)
        head = f"{object.__repr__(self)}\n{self.task_spec.title}\n"
        if n == 1:
            return f"{head}  {self.median / scale:.2f} {unit}\n  1 measurement, {self.number_per_run} runs , {self.task_spec.num_threads} thread"
        return (f"{head}  Median: {self.median / scale:.2f} {unit}\n  IQR:    {self.iqr / scale:.2f} {unit}\n  {n} measurements, "
                f"{self.number_per_run} runs per measurement, {self.task_spec.num_threads} thread")

    @staticmethod
    def merge(measurements):
        """Measurements of one task together."""
        groups = {}
        for m in measurements:
            groups.setdefault(m.task_spec, []).append(m)
        return [Measurement(1, [t for m in g for t in m.times], spec) for spec, g in groups.items()]
