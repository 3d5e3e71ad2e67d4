"""Streams of the part of the samples that is this process's."""
from __future__ import annotations

import enum

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import length

__all__ = ["SHARDING_PRIORITIES", "ShardingFilterIterDataPipe"]


class SHARDING_PRIORITIES(enum.IntEnum):
    """Who divides: DEFAULT alone, or DISTRIBUTED first and MULTIPROCESSING what is left."""
    DEFAULT, DISTRIBUTED, MULTIPROCESSING = 1, 2, 3


class _ShardingIterDataPipe(IterDataPipe):
    def apply_sharding(self, num_of_instances, instance_id, sharding_group):
        """Which of how many parts this is."""
        raise NotImplementedError


@functional_datapipe("sharding_filter")
class ShardingFilterIterDataPipe(_ShardingIterDataPipe):
    """Every n-th sample, from the one of this worker's number on: a DataLoader says which.

    sharding_group_filter: the only group whose division counts.
    """

    def __init__(self, source_datapipe, sharding_group_filter=None):
        self.source_datapipe, self.sharding_group_filter = source_datapipe, sharding_group_filter
        self.groups, self.num_of_instances, self.instance_id = {}, 1, 0

    def apply_sharding(self, num_of_instances, instance_id, sharding_group=SHARDING_PRIORITIES.DEFAULT):
        """Which of how many parts this is, in a group; ValueError for a part that there is not, RuntimeError for the default group beside
        others."""
        if instance_id >= num_of_instances:
            raise ValueError(f"instance_id({instance_id}) should be smaller than num_of_instances({num_of_instances})")
        if self.groups and (sharding_group == SHARDING_PRIORITIES.DEFAULT) != (SHARDING_PRIORITIES.DEFAULT in self.groups):
            raise RuntimeError("ShardingFilter cannot mix DEFAULT and non DEFAULT groups")
        self.groups[sharding_group] = num_of_instances, instance_id
        self.num_of_instances, self.instance_id = 1, 0
        for group in sorted(self.groups, reverse=True):
            if self.sharding_group_filter is None or group == self.sharding_group_filter:
                parts, part = self.groups[group]
                self.instance_id += self.num_of_instances * part
                self.num_of_instances *= parts

    def __iter__(self):
        for k, item in enumerate(self.source_datapipe):
            if k % self.num_of_instances == self.instance_id:
                yield item

    def __len__(self):
        n = length(self, self.source_datapipe)
        return n // self.num_of_instances + (self.instance_id < n % self.num_of_instances)
