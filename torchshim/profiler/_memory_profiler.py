"""What a profile's memory is for, by kind: the names that libraries import. No profile here knows it."""
from __future__ import annotations

import enum


class Category(enum.Enum):
    """What memory is for."""
    INPUT, TEMPORARY, ACTIVATION, GRADIENT, AUTOGRAD_DETAIL, PARAMETER, OPTIMIZER_STATE = range(1, 8)


_CATEGORY_TO_COLORS = {Category.PARAMETER: "darkgreen", Category.OPTIMIZER_STATE: "goldenrod", Category.INPUT: "black",
                       Category.TEMPORARY: "mediumpurple", Category.ACTIVATION: "red", Category.GRADIENT: "mediumblue",
                       Category.AUTOGRAD_DETAIL: "royalblue", None: "grey"}
_CATEGORY_TO_INDEX = {c: i for i, c in enumerate(_CATEGORY_TO_COLORS)}


class MemoryProfileTimeline:
    """NotImplementedError."""

    def __init__(self, memory_profile):
        raise NotImplementedError("torchshim: torch.profiler._memory_profiler.MemoryProfileTimeline; profiles do not tell what memory is for")
