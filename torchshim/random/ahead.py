"""Bernoulli numbers that are drawn before they are asked for, by a thread of ours.

A network with dropout asks for millions of them in each step and for nothing else; a processor that is not needed meanwhile can draw
them. What is drawn does not depend on it: whoever asks for anything else finds the stream where it would be without.
"""

import os
from collections import deque

import numpy as np

from ..engine import pool

LARGE = 1 << 14            # numbers of a request that may begin it
_BLOCK = 1 << 16           # numbers that stay in the processor's memory
_CHUNK = 1 << 19           # numbers of a chunk: few calls that take long, since threads wait long for Python's lock
_MOST = 1 << 23            # numbers that wait, a byte each
_AGAIN = 16                # requests in a row after which it begins; twice as many each time that much was drawn for nothing
_LOW53 = np.uint64(2**53 - 1)
_busy: list = []           # those for which a thread draws, mostly one


def draw(engine, limit, keep, block=_BLOCK):
    """Fill an array of truths: which of the next numbers, of 53 bits, are less than `limit`."""
    for at in range(0, keep.size, block):
        bits = engine.words64(min(block, keep.size - at))
        bits &= _LOW53
        np.less(bits, limit, keep[at:at + bits.size])


class Ahead:
    """What was drawn ahead of one engine, of which `lock` is held for all that is done here, but to ask for it."""

    def __init__(self, engine, lock):
        self.engine, self.lock, self.limit = engine, lock, None
        self.chunks, self.taken, self.held = deque(), 0, 0         # (where the engine was, truths); how many of the first are taken; in all
        self.row, self.wanted, self.least = 0, 0, _AGAIN           # requests in a row, their numbers, from how many requests on it pays
        self.served = 0                        # numbers of the row that had been drawn ahead
        self.asked = False                     # somebody waits for the lock

    def fill(self, limit, keep):
        """`draw`, of what was drawn ahead first."""
        if limit != self.limit:
            self.settle()
            self.limit = limit
        at = 0
        while self.chunks and at < keep.size:
            truths = self.chunks[0][1]
            part = truths[self.taken:self.taken + keep.size - at]
            keep[at:at + part.size] = part
            at += part.size
            self.taken += part.size
            if self.taken == truths.size:
                self.chunks.popleft()
                self.taken = 0
        self.held -= at
        self.served += at
        draw(self.engine, limit, keep[at:])
        self.row += 1
        self.wanted = min(self.wanted + keep.size, _MOST)
        if self.row >= self.least and self.held + _CHUNK <= self.wanted and not _busy:
            _busy.append(self)
            if not pool.aside(self._draw):
                _busy.remove(self)

    def _draw(self):
        while True:
            with self.lock:
                if self.asked or self.row < self.least or self.held + _CHUNK > self.wanted:
                    self.asked = False
                    _busy.remove(self)
                    return
                truths, before = np.empty(_CHUNK, bool), self.engine.mark()
                draw(self.engine, self.limit, truths, _CHUNK)
                self.chunks.append((before, truths))
                self.held += _CHUNK

    def settle(self):
        """Leave the engine where it would be if nothing had been drawn ahead."""
        if self.chunks:
            self.engine.back(self.chunks[0][0])
            if self.taken:
                self.engine.words64(self.taken)
            self.least = _AGAIN if self.served > 4 * self.held else 2 * self.least
            self.chunks.clear()
            self.taken = self.held = 0
        self.row = self.wanted = self.served = 0


_held = []


def _before_fork():
    for ahead in list(_busy):
        ahead.asked = True
        ahead.lock.acquire()
        _held.append(ahead)


def _after_fork():
    while _held:
        _held.pop().lock.release()


def _in_child():
    _busy.clear()                              # its threads are the parent's
    _after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_in_child)
