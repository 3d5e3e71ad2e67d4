"""Streams of the same samples in another order."""
from __future__ import annotations

import random
from collections.abc import Sized

from ...sampler import SequentialSampler, drawn_seed
from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import length

__all__ = ["SamplerIterDataPipe", "ShufflerIterDataPipe"]


class SamplerIterDataPipe(IterDataPipe):
    """The numbers that a sampler of a stream with a length draws."""

    def __init__(self, datapipe, sampler=SequentialSampler, sampler_args=None, sampler_kwargs=None):
        if not isinstance(datapipe, Sized):
            raise AssertionError("Sampler class requires input datapipe implemented `__len__`")
        self.datapipe = datapipe
        self.sampler_args = () if sampler_args is None else sampler_args
        self.sampler_kwargs = {} if sampler_kwargs is None else sampler_kwargs
        self.sampler_kwargs["data_source"] = datapipe
        self.sampler = sampler(*self.sampler_args, **self.sampler_kwargs)

    def __iter__(self):
        return iter(self.sampler)

    def __len__(self):
        return length(self, self.sampler)


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(IterDataPipe):
    """The samples in a random order: each drawn from the next `buffer_size`. The stream is Python's, its seed torch's or `set_seed`'s."""

    def __init__(self, datapipe, *, buffer_size=10000, unbatch_level=0):
        if buffer_size <= 0:
            raise AssertionError("buffer_size should be larger than 0")
        self.datapipe = datapipe if unbatch_level == 0 else datapipe.unbatch(unbatch_level=unbatch_level)
        self.buffer_size, self._enabled, self._seed, self._rng, self._buffer = buffer_size, True, None, random.Random(), []

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
            yield from self.datapipe
            return
        buffer = self._buffer
        for x in self.datapipe:
            if len(buffer) == self.buffer_size:
                k = self._rng.randint(0, len(buffer) - 1)
                sample, buffer[k] = buffer[k], x
                yield sample
            else:
                buffer.append(x)
        while buffer:
            yield buffer.pop(self._rng.randint(0, len(buffer) - 1))

    def __len__(self):
        return length(self, self.datapipe)

    def reset(self):
        """Seed the stream, if it shuffles."""
        self._buffer = []
        if self._enabled:
            self._rng.seed(drawn_seed(None) if self._seed is None else self._seed)
            self._seed = None
