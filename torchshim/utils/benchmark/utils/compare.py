"""Compare: measurements as a table."""
from __future__ import annotations

import enum
import math

from .common import Measurement, log10, ordered_unique, select_unit, trim_sigfig, unit_to_english

__all__ = ["Colorize", "Compare"]
_BEST, _GOOD, _BAD, _VERY_BAD, _BOLD, _END = "\033[92m", "\033[34m", "\033[2m\033[91m", "\033[31m", "\033[1m", "\033[0m"


class Colorize(enum.Enum):
    """What colours compare."""
    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


def _coloured(text, value, best):
    if value <= best * 1.01 or value <= best + 1e-7:
        return _BEST + _BOLD + text + _END * 2
    if value <= best * 1.1:
        return _GOOD + _BOLD + text + _END * 2
    return _VERY_BAD + _BOLD + text + _END * 2 if value >= best * 5 else _BAD + text + _END * 2 if value >= best * 2 else text


class Compare:
    """A table of measurements for each label: a row for each number of threads, environment and name, a column for each description.

    ValueError for what is no Measurement.
    """

    def __init__(self, results):
        self._results = []
        self.extend_results(results)
        self._trim, self._colours, self._warn = False, Colorize.NONE, False

    def extend_results(self, results):
        """More measurements."""
        for r in results:
            if not isinstance(r, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(r)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self):
        """Show as many digits as mean something."""
        self._trim = True

    def colorize(self, rowwise=False):
        """Show the best and the worst of each column, or row, in colours."""
        self._colours = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self):
        """Mark what varies much."""
        self._warn = True

    def print(self):
        """Print it."""
        print(str(self))

    def __str__(self):
        groups = {}
        for m in Measurement.merge(self._results):
            groups.setdefault(m.label, []).append(m)
        return "\n".join([self._table(label, group) for label, group in groups.items()])

    def _format(self, cells, scale):
        """A function from a measurement (or None) to the text of its cell."""
        known = [m for m in cells if m is not None]
        places = [math.ceil(log10(m.median / scale)) for m in known]
        digits = min([max(m.significant_figures - n, 0) for n, m in zip(places, known)]) if self._trim else 1
        width = max(places) + digits + (1 if digits else 0)
        marks = 7 if self._warn and any([m.has_warnings for m in known]) else 0

        def shown(m):
            if m is None:
                return " " * len(f"{1:>{width}.{digits}f}" + " " * marks)
            value = trim_sigfig(m.median / scale, m.significant_figures) if self._trim else m.median / scale
            mark = f" (! {m.iqr / m.median * 100:.0f}%)" if marks and m.has_warnings else ""
            return f"{value:>{width}.{digits}f}{mark:>{marks}}"
        return shown

    def _table(self, label, results):
        unit, scale = select_unit(min([r.median for r in results]))
        row_of = lambda r: (r.num_threads, r.env, r.as_row_name)
        rows = sorted(ordered_unique([row_of(r) for r in results]), key=lambda row: (row[0], row[1] or ""))
        columns = ordered_unique([r.description for r in results])
        cells = {(row_of(r), r.description): r for r in results}
        formats = [self._format([cells.get((row, c)) for row in rows], scale) for c in columns]
        envs = {r.env for r in results}
        env_width = max([len(str(e)) for e in envs]) + 4 if len(envs) > 1 else 4
        lines, before = [["", *[c or "" for c in columns]]], (None, None)
        for row in rows:
            env = f"({row[1]})" if len(envs) > 1 and (row[0] != before[0] or row[1] != before[1]) else ""
            lines.append(["  " + env.ljust(env_width) + row[2], *[f(cells.get((row, c))) for f, c in zip(formats, columns)]])
            before = row[:2]
        widths = [max(map(len, column)) for column in zip(*lines)]
        text = ["  |  ".join([cell.center(w) for cell, w in zip(lines[0], widths)])]
        overall, threads = len(text[0]), None
        for row, line in zip(rows, lines[1:]):
            if row[0] != threads:
                threads = row[0]
                text.append(f"{threads} threads: ".ljust(overall, "-"))
            there = [cells.get((row, c)) for c in columns]
            shown = [line[0].ljust(widths[0])]
            for cell, w, m, c in zip(line[1:], widths[1:], there, columns):
                cell = cell.center(w)
                if m is not None and self._colours is not Colorize.NONE:
                    others = there if self._colours is Colorize.ROWWISE else [cells.get((r, c)) for r in rows if r[0] == row[0]]
                    cell = _coloured(cell, m.median, min([o.median for o in others if o is not None]))
                shown.append(cell)
            text.append("  |  ".join(shown))
        note = ("(! XX%) Measurement has high variance, where XX is the IQR / median * 100.\n"
                if self._warn and any([r.has_warnings for r in results]) else "")
        title = (" " + (label or "") + " ").center(overall - 2, "-")
        return f"[{title}]\n" + "\n".join(text) + f"\n\nTimes are in {unit_to_english(unit)}s ({unit}).\n{note}"
