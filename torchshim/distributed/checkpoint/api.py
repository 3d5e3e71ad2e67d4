"""The error that torch.distributed.checkpoint raises."""
from __future__ import annotations

import traceback

__all__ = ["CheckpointException"]


class CheckpointException(BaseException):
    """Saving or loading failed; `failures` is {number of the process: (its error, the summary of its traceback)}."""

    def __init__(self, msg, failures):
        super().__init__(msg, failures)
        self._failures = failures

    @property
    def failures(self):
        """{number of the process: (its error, the summary of its traceback)}."""
        return self._failures

    def __str__(self):
        lines = [f"CheckpointException ranks:{self._failures.keys()}\n"]
        for rank, (error, trace) in self._failures.items():
            lines += [f"Traceback (most recent call last): (RANK {rank})\n", *traceback.format_list(trace or []),
                      *traceback.format_exception_only(error)]
        return "".join(lines)


def together(step, *args):
    """What one process does for all: an error comes as a CheckpointException."""
    try:
        return step(*args)
    except Exception as error:
        raise CheckpointException(step.__name__, {0: (error, traceback.extract_tb(error.__traceback__))}) from error
