"""The samples in a random order, as a stream."""
from __future__ import annotations

import random

from ...sampler import drawn_seed
from ..datapipe import IterDataPipe, MapDataPipe

__all__ = ["ShufflerIterDataPipe"]


class ShufflerIterDataPipe(IterDataPipe):
    """The samples at `indices` (all by default) in a random order. The order is Python's, its seed torch's or `set_seed`'s."""

    def __init__(self, datapipe, *, indices=None):
        self.datapipe, self.indices = datapipe, list(range(len(datapipe))) if indices is None else indices
        self._enabled, self._seed, self._rng, self._shuffled_indices = True, None, random.Random(), self.indices

    def set_shuffle(self, shuffle=True):
        """Whether it shuffles; returns itself."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed):
        """The seed of the next pass; returns itself."""
        self._seed = seed
        return self

    def __iter__(self):
        if not self._enabled:
            for k in self.indices:
                yield self.datapipe[k]
            return
        while self._shuffled_indices:
            yield self.datapipe[self._shuffled_indices.pop()]

    def reset(self):
        """Draw the order of a pass."""
        if self._enabled and self._seed is None:
            self._seed = drawn_seed(None)
        self._rng.seed(self._seed)
        self._seed = None
        self._shuffled_indices = self._rng.sample(self.indices, len(self.indices))

    def __len__(self):
        return len(self.datapipe)


MapDataPipe.register_datapipe_as_function("shuffle", ShufflerIterDataPipe)
