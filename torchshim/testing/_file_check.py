"""FileCheck: does a text hold certain strings, in order?"""
from __future__ import annotations

import re


class FileCheck:
    """Checks that are noted one after the other and applied by `run` to a text, each from where the one before it ended.

    Those of check_dag that follow one another may match in any order. A failed one raises RuntimeError."""
    __module__ = "torch"

    def __init__(self):
        self._checks, self._ran = [], False

    def _add(self, kind, text, count=1, exactly=False):
        self._checks.append((kind, text, count, exactly))
        return self

    def check(self, test_string):
        """The string comes next, anywhere."""
        return self._add("CHECK", test_string)

    def check_next(self, test_string):
        """The string is in the next line."""
        return self._add("CHECK-NEXT", test_string)

    def check_same(self, test_string):
        """The string comes in the same line."""
        return self._add("CHECK-SAME", test_string)

    def check_not(self, test_string):
        """The string does not come before what the next check finds."""
        return self._add("CHECK-NOT", test_string)

    def check_dag(self, test_string):
        """The string comes, before or after those of its neighbours."""
        return self._add("CHECK-DAG", test_string)

    def check_regex(self, test_string):
        """What a regular expression describes comes next."""
        return self._add("CHECK-REGEX", test_string)

    def check_count(self, test_string, count, exactly=False):
        """The string comes `count` times, and with `exactly` not once more."""
        return self._add(f"CHECK-COUNT-{'EXACTLY-' if exactly else ''}{count}", test_string, count, exactly)

    def check_source_highlighted(self, test_string):
        """The string comes, and the next line marks it with tildes."""
        return self._add("CHECK-SOURCE-HIGHLIGHTED", test_string)

    def run(self, *texts):
        """Apply the checks to a text; of two texts, those that the first one's lines such as `# CHECK: string` name to the second."""
        self._ran = True
        if len(texts) == 2:
            self._parse(texts[0])
        text = texts[-1]
        if not self._checks:
            raise RuntimeError("No checks have been added to this instance ofFilecheck! Check for bad input.")
        at, k, absent = 0, 0, []
        while k < len(self._checks):
            kind, wanted, count, exactly = self._checks[k]
            if kind == "CHECK-NOT":
                absent.append(wanted)
                k += 1
                continue
            if kind == "CHECK-DAG":
                group = k
                while k < len(self._checks) and self._checks[k][0] == kind:
                    k += 1
                found = [self._find(text, self._checks[j], at) for j in range(group, k)]
                start, end = min([f[0] for f in found]), max([f[1] for f in found])
            else:
                start, end = self._find(text, self._checks[k], at)
                k += 1
            self._none(text, at, start, absent)
            at, absent = end, []
        self._none(text, at, len(text), absent)

    def _find(self, text, check, at):
        kind, wanted, count, exactly = check
        if kind == "CHECK-REGEX":
            match = re.compile(wanted).search(text, at)
            if match is None:
                raise RuntimeError(f'Expected to find regex "{wanted}" but did not find it\nSearched string:\n{text[at:]}\n'
                                   f'From CHECK-REGEX: {wanted}\n')
            return match.span()
        first = None
        end = at
        for _ in range(count):
            start = text.find(wanted, end)
            if start < 0:
                raise RuntimeError(f'Expected to find "{wanted}" but did not find it\nSearched string:\n{text[end:]}\nFrom {kind}: '
                                   f'{wanted}\n')
            first, end = start if first is None else first, start + len(wanted)
        if exactly:
            self._none(text, end, len(text), [wanted])
        if kind == "CHECK-NEXT" and text.count("\n", at, first) != 1:
            self._none(text, text.find("\n", at) + 1 or at, first, ["\n"], kind, wanted)
            raise RuntimeError(f'Expected to find "\\n" but did not find it\nSearched string:\n{text[at:first]}\nFrom {kind}: {wanted}\n')
        if kind == "CHECK-SAME":
            self._none(text, at, first, ["\n"], kind, wanted)
        if kind == "CHECK-SOURCE-HIGHLIGHTED":
            line = text.rfind("\n", 0, first) + 1
            below = text[text.find("\n", end) + 1:].split("\n")[0]
            if below[first - line:end - line] != "~" * len(wanted):
                raise RuntimeError(f'Expected to find "{"~" * len(wanted)}" but did not find it\nFrom {kind}: {wanted}\n')
        return first, end

    @staticmethod
    def _none(text, start, end, strings, kind="CHECK-NOT", of=None):
        for string in strings:
            found = text.find(string, start, end)
            if found >= 0:
                line = text.rfind("\n", 0, found) + 1
                stop = text.find("\n", found)
                stop = len(text) if stop < 0 else stop
                mark = "" if string == "\n" else f"\n{' ' * (found - line)}{'~' * len(string)} <--- HERE"
                shown = string.replace("\n", "\\n")
                raise RuntimeError(f'Expected to not find "{shown}" but found it\n{text[:stop]}{mark}{text[stop:]}\n'
                                   f'From {kind}: {string if of is None else of}\n')

    def _parse(self, text):
        for line in text.splitlines():
            match = re.match(r"\s*#\s*CHECK(-[A-Z]+)?(?:-(EXACTLY-)?(\d+))?: ?(.*)$", line)
            if match is None:
                continue
            kind, exactly, count, wanted = match.groups()
            if count:
                self.check_count(wanted, int(count), bool(exactly))
            else:
                self._add("CHECK" + (kind or ""), wanted)

    def __repr__(self):
        state = "" if self._ran else "You have not run this instance of FileCheck!\n"
        return f"{object.__repr__(self)}\n{state}FileCheck checks:\n" + "".join(f"\t{k}: {w}\n" for k, w, _, _ in self._checks)
