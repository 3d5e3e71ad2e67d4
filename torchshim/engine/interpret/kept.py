"""What a function computed on the way and the function of its gradient would compute again."""

import sys
from operator import is_

getrefcount = sys.getrefcount
_ALONE = [getrefcount(a) for a in (object(),)][0]      # of what one tuple holds, looked at as below

class Kept:
    """Results by the very operands that they were computed from: of the last `count` calls for which `keep` was called, mostly those whose
    operands are `small`, at most `size` bytes each.

    Who holds an array keeps it from being written or given away."""

    def __init__(self, count, size):
        self.count, self.size, self.entries = count, size, []      # (operands, what was computed), the last one last

    def small(self, operands):
        """Whether results of these arrays may be kept."""
        return all([a.nbytes <= self.size for a in operands])

    def keep(self, operands, made):
        """Remember what was computed from the operands: arrays, or objects of which there is one."""
        if self.entries:                       # one of whose operands nobody else holds is asked for by nobody
            self.entries[:] = [e for e in self.entries if not any([getrefcount(a) <= _ALONE for a in e[0]])]
        self.entries.append((operands, made))
        del self.entries[:-self.count]

    def taken(self, operands):
        """What was kept of these operands, and is no longer; None where there is nothing."""
        for entry in reversed(self.entries):
            if len(entry[0]) == len(operands) and all(map(is_, entry[0], operands)):
                self.entries[:] = [e for e in self.entries if e is not entry]
                return entry[1]
