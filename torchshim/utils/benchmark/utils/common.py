"""What was measured."""
from __future__ import annotations

import contextlib
import dataclasses
import math
import textwrap

import numpy as np


def log10(x):
    """Its logarithm in float32, as torch takes it."""
    return float(np.float32(math.log10(np.float32(x))))


def select_unit(t):
    """(unit, its seconds) in which to show a time."""
    unit = {-3: "ns", -2: "us", -1: "ms"}.get(int(log10(t) // 3) if t > 0 else 0, "s")
    return unit, {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}[unit]


def unit_to_english(u):
    """The whole word for a unit."""
    return {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}[u]


def trim_sigfig(x, n):
    """x with n significant digits; AssertionError unless n is a whole number."""
    if n != int(n):
        raise AssertionError("Number of significant figures must be an integer")
    scale = 10.0 ** ((math.ceil(log10(abs(x))) if x else 0) - n)
    return float(np.float32(np.round(np.float32(x / scale)) * np.float32(scale)))


def ordered_unique(elements):
    """Each of them once, in their order."""
    return list(dict.fromkeys(elements))


@contextlib.contextmanager
def set_torch_threads(n):
    """A context in which torch uses n threads."""
    from .... import get_num_threads, set_num_threads
    before = get_num_threads()
    try:
        set_num_threads(n)
        yield
    finally:
        set_num_threads(before)


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
        if "\n" not in self.stmt:
            return self.stmt + (f": {self.sub_label}" if self.sub_label else "")
        return f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}\n{textwrap.indent(self.stmt, '  ')}"

    def setup_str(self):
        """The setup, as it is shown."""
        if not self.setup or self.setup == "pass":
            return ""
        return f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"

    def summarize(self):
        """All that is known of it."""
        return "\n".join([f"{part}\n" if "\n" in part else part for part in (self.title, self.description or "", self.setup_str()) if part])


_FIELDS = tuple([f.name for f in dataclasses.fields(TaskSpec)])


@dataclasses.dataclass(init=True, repr=False)
class Measurement:
    """Times of runs: `raw_times` in seconds, each of `number_per_run` calls."""
    number_per_run: int
    raw_times: list
    task_spec: TaskSpec
    metadata: dict | None = None

    times = property(lambda self: [t / self.number_per_run for t in self.raw_times], doc="Seconds a call, of each run.")
    median = property(lambda self: self._at(0.5), doc="Seconds a call.")
    mean = property(lambda self: float(np.mean(self.times)) if self.raw_times else -1.0, doc="Seconds a call.")
    iqr = property(lambda self: self._at(0.75) - self._at(0.25), doc="Seconds between the quarters.")
    title = property(lambda self: self.task_spec.title, doc="What to call it.")
    env = property(lambda self: self.task_spec.env, doc="The environment that it was measured in, if it has a name.")
    as_row_name = property(lambda self: self.sub_label or self.stmt or "[Unknown]", doc="What its row in a table is called.")
    has_warnings = property(lambda self: bool(self._warnings()), doc="Whether the runs differ much.")

    def _at(self, share):
        return float(np.quantile(np.sort(self.times), share)) if self.raw_times else -1.0

    def __getattr__(self, name):
        if name in _FIELDS:
            return getattr(self.task_spec, name)
        raise AttributeError(f"'Measurement' object has no attribute '{name}'")

    @property
    def significant_figures(self):
        """How many digits of the median mean something, 1 to 4: by the spread of the runs between the quarters."""
        times, n = sorted(self.times), len(self.raw_times)
        inner = np.array(times[n // 4:math.ceil(3 * n / 4)], np.float32)
        interval = max(1.645 * float(inner.std()) / math.sqrt(len(inner)), 2.5e-8) if len(inner) else 2.5e-8
        return min(max(math.floor(math.log10(self.median / interval)), 1), 4)

    def meets_confidence(self, threshold=0.1):
        """Whether the quarters lie within this share of the median."""
        return self.iqr / self.median < threshold

    def _warnings(self):
        if not self.raw_times or self.meets_confidence():
            return []
        what = "could indicate system fluctuation." if self.meets_confidence(0.25) else "suggests significant environmental influence."
        return [f"  WARNING: Interquartile range is {self.iqr / self.median * 100:.1f}% of the median measurement.\n           This {what}"]

    def __repr__(self):
        unit, scale = select_unit(self.median)
        n, threads = len(self.raw_times), self.task_spec.num_threads
        lines = [object.__repr__(self), self.task_spec.summarize(), f"  {'Median: ' if n > 1 else ''}{self.median / scale:.2f} {unit}"]
        if n >= 4:
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({self._at(0.25) / scale:.2f} to {self._at(0.75) / scale:.2f})")
        lines.append(f"  {n} measurement{'s' * (n > 1)}, {self.number_per_run} runs {'per measurement,' if n > 1 else ','} "
                     f"{threads} thread{'s' * (threads > 1)}")
        return "\n".join([*lines, *self._warnings()]).strip()

    @staticmethod
    def merge(measurements):
        """Measurements of one task together."""
        groups = {}
        for m in measurements:
            groups.setdefault(m.task_spec, []).append(m)
        return [Measurement(1, [t for m in g for t in m.times], spec) for spec, g in groups.items()]
