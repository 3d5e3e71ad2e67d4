"""Compare: measurements as a table."""
from __future__ import annotations

from .common import Measurement, select_unit


class Compare:
    """A table of measurements: a row for each label and environment, a column for each description."""

    def __init__(self, results):
        self._results = list(results)
        self._digits = None

    def extend_results(self, results):
        """More measurements."""
        self._results += results

    def trim_significant_figures(self):
        """Show three digits."""
        self._digits = 3

    def colorize(self, rowwise=False):
        """Accepted: the table has no colours."""

    highlight_warnings = colorize

    def print(self):
        """Print it."""
        print(str(self))

    def __str__(self):
        merged = Measurement.merge(self._results)
        tables = {}
        for m in merged:
            tables.setdefault(m.task_spec.label, []).append(m)
        return "\n".join([self._table(label, ms) for label, ms in tables.items()])

    def _table(self, label, ms):
        unit, scale = select_unit(min([m.median for m in ms]))
        columns = list(dict.fromkeys([m.task_spec.description or "" for m in ms]))
        row = lambda spec: (spec.num_threads, spec.sub_label or spec.stmt, spec.env or "")
        rows = list(dict.fromkeys([row(m.task_spec) for m in ms]))
        known = {(row(m.task_spec), m.task_spec.description or ""): m for m in ms}
        shown = lambda r, c: f"{known[r, c].median / scale:.{self._digits or 4}g}" if (r, c) in known else ""
        names = [f"{name}{f' ({env})' if env else ''}" for _, name, env in rows]
        left = max(map(len, names)) + 6
        widths = [max([len(c)] + [len(shown(r, c)) for r in rows]) for c in columns]
        title = f" {label or ''} "
        lines = [f"[{title.center(left + sum(widths) + 5 * len(columns), '-')}]",
                 " " * left + "".join([f"  |  {c:>{w}}" for c, w in zip(columns, widths)])]
        threads = None
        for r, name in zip(rows, names):
            if r[0] != threads:
                threads = r[0]
                lines.append(f"{threads} threads: ".ljust(len(lines[0]), "-"))
            lines.append(f"      {name:{left - 6}}" + "".join([f"  |  {shown(r, c):>{w}}" for c, w in zip(columns, widths)]))
        name = {"ns": "nanoseconds", "us": "microseconds", "ms": "milliseconds", "s": "seconds"}[unit]
        return "\n".join([*lines, "", f"Times are in {name} ({unit}).", ""])
