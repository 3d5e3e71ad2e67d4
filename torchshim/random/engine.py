"""The Mersenne twister behind a CPU generator, and its 5,056-byte state.

numpy's ``RandomState`` is the same twister with the same seeding, so it makes
the words.  Asking it has a fixed cost, hence small requests are served from a
remainder: words already made, but not handed out, that never reach past the
624-word block the twister is in.  That way its key always is the one to save.
After a look ahead they do reach further; then the state asked for is made again
from where the twister was before.
"""

import os
import struct

import numpy as np

STATE_SIZE = 5056
DEFAULT_SEED = 67280421310721
_BLOCK = 624
_DIRECT = 2048  # requests this large leave no remainder behind
_HEAD, _TAIL = struct.Struct("<QiiQ"), struct.Struct("<dddi4xf?3x")
_LOW53 = 2**53 - 1
_MASK53 = np.uint64(_LOW53)
_NONE = np.empty(0, np.uint32)


class Engine:
    """32-bit words in sequence, seedable, with PyTorch's state layout.

    ``next_normal`` holds the second half of the last Box-Muller pair when it
    is still to be used; it belongs to the saved state."""

    def __init__(self, seed=DEFAULT_SEED):
        self._bits = np.random.MT19937()
        self._twister = np.random.RandomState(self._bits)
        self.reseed(seed)

    def reseed(self, seed):
        """Start the sequence of ``seed`` (0 <= seed < 2**64, low half counts)."""
        self.seed = seed
        self._twister.seed(seed & 0xFFFFFFFF)
        self._made(_BLOCK, fresh=True)
        self.next_normal = None
        self._float_normal = None

    def _made(self, position, fresh=False):
        self._position = position  # of the twister, within its block
        self._fresh = fresh
        self._rest, self._at = _NONE, 0
        self._before = None  # after a look ahead: the twister's state then, and the rest

    # ------------------------------------------------------------------ words
    def words(self, n):
        """The next ``n`` words as uint32; the caller may overwrite them."""
        at = self._at
        if at + n <= self._rest.size:
            self._at = at + n
            return self._rest[at:at + n]
        rest = self._rest[at:]
        self._before = None
        need = n - rest.size
        if need >= _DIRECT:
            new = self._draw(need)
            self._rest, self._at = _NONE, 0
        else:
            count = _BLOCK - self._position % _BLOCK
            while count < need:
                count += _BLOCK
            new = self._draw(count)
            self._rest, self._at = new, need
            new = new[:need]
        return np.concatenate((rest, new)) if rest.size else new

    def look(self, n):
        """The next ``n`` words, which are not taken by that: an array that lasts until all of them are, and where they begin in it."""
        if self._rest.size - self._at < n:
            self._settle()
        if self._rest.size - self._at < n:
            rest = self._rest[self._at:].copy()
            self._before = self._twister.get_state(legacy=False), self._position, self._fresh, rest
            self._rest, self._at = np.concatenate((rest, self._draw(n - rest.size))), 0
        return self._rest, self._at

    def skip(self, n):
        """Take ``n`` words that were looked at."""
        self._at += n

    def _settle(self):
        if self._before is not None and self._at == self._rest.size:      # all were taken: the twister is where it is to be
            self._rest, self._at, self._before = _NONE, 0, None
        elif self._before is not None:
            (twister, self._position, self._fresh, rest), taken = self._before, self._at
            self._twister.set_state(twister)
            self._rest, self._at, self._before = rest, 0, None
            self.words(taken)

    def _draw(self, n):
        self._advance(n)
        if n < _DIRECT:                        # twice the memory, but next to no fixed cost
            return self._bits.random_raw(n).astype(np.uint32)
        return self._twister.randint(0, 2**32, n, np.uint32)

    def _advance(self, n):
        self._fresh = False
        self._position = (self._position + n - 1) % _BLOCK + 1

    def words64(self, n):
        """The next ``n`` pairs of words as uint64, first word high."""
        rest = self._rest.size - self._at
        if 2 * n - rest < _DIRECT:
            pairs = self.words(2 * n).reshape(-1, 2)
            return pairs[:, ::-1].copy().view(np.uint64).reshape(-1)
        if not rest:
            self._before = None
            self._advance(2 * n)
            return self._twister.randint(0, 2**64, n, np.uint64)
        first = self.words(rest)
        if rest % 2:
            first = np.concatenate((first, self._draw(1)))
        self._rest, self._at, self._before = _NONE, 0, None
        first = first.reshape(-1, 2)[:, ::-1].copy().view(np.uint64).reshape(-1)
        return np.concatenate((first, self.words64(n - first.size)))

    def doubles(self, n):
        """``n`` uniforms in [0, 1) with 53 bits each."""
        bits = self.words64(n)
        np.bitwise_and(bits, _MASK53, bits)
        out = bits.view(np.int64).astype(np.float64)
        out *= 2.0**-53
        return out

    def few_doubles(self, n):
        """The same as a list, which costs less for few."""
        words = self.words(2 * n).tolist()
        return [((high << 32 | low) & _LOW53) * 2.0**-53 for high, low in zip(words[::2], words[1::2])]

    def block_doubles(self):
        """Some uniforms as a list, one at least; ``give_back`` takes unused ones."""
        pairs = min((self._rest.size - self._at) // 2, _BLOCK)
        return self.doubles(max(pairs, 1)).tolist()

    def give_back(self, count):
        """Undraw the last ``count`` uniforms of the last ``block_doubles``."""
        self._at -= 2 * count

    def mark(self):
        """Where the sequence is: for `back`."""
        self._settle()
        return self._twister.get_state(legacy=False), self._position, self._fresh, self._rest[self._at:].copy()

    def back(self, mark):
        """Go on from a mark."""
        twister, position, fresh, rest = mark
        self._twister.set_state(twister)
        self._made(position, fresh)
        self._rest = rest

    # ------------------------------------------------------------------ state
    def state(self):
        """The generator's state as bytes."""
        self._settle()
        position = self._position - (self._rest.size - self._at)
        left, following = (1, 0) if self._fresh else (_BLOCK + 1 - position, position)
        normal, single = self.next_normal, self._float_normal
        return b"".join((
            _HEAD.pack(self.seed, left, 1, following),
            self._twister.get_state(legacy=False)["state"]["key"].astype("<u8").tobytes(),
            _TAIL.pack(0.0, normal or 0.0, 0.0, normal is not None,
                       single or 0.0, single is not None)))

    def restore(self, state):
        """Continue from bytes that :meth:`state` returned."""
        state = bytes(state)
        if len(state) != STATE_SIZE:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {STATE_SIZE} but found the "
                f"input RNG state size to be {len(state)}")
        seed, left, seeded, following = _HEAD.unpack_from(state)
        fresh = left == 1 and following == 0
        # torch checks the ranges alone; a pair that does not add up it would run
        # past the end of its table with
        if not seeded or not (fresh or 0 < left == _BLOCK + 1 - following <= _BLOCK):
            raise RuntimeError("Invalid mt19937 state")
        _, normal, _, valid, single, single_valid = _TAIL.unpack_from(state, STATE_SIZE - _TAIL.size)
        key = np.frombuffer(state, "<u8", _BLOCK, _HEAD.size).astype(np.uint32)
        self.seed = seed
        self._made(_BLOCK if fresh else following, fresh)
        self._twister.set_state(("MT19937", key, self._position))
        self.next_normal = normal if valid else None
        self._float_normal = single if single_valid else None


def entropy():
    """A seed from the operating system, 53 bits as in PyTorch."""
    return int.from_bytes(os.urandom(8), "little") & (2**53 - 1)
