"""Random permutations: the result of a shuffle by swaps, in turn where LAPACK can do them, else computed all at once."""

import array
import functools

import numpy as np

from ..engine.blas import can_swap, swapped

WIDE = (2**32 - 1) // 20  # from this length on 64-bit draws and another shuffle
_SEQUENTIAL = 64  # up to here a plain loop is the quicker way
_CHUNK = 16384
_FEW = 4096  # what does not depend on the words is kept up to here


def shuffled(n, words):
    """What swapping elements ``i`` and ``i + words[i] % (n - i)`` of 0..n-1 gives,
    for i = 0, 1, ... n-2 in turn."""
    if n > _SEQUENTIAL:
        targets = _targets(n, words)
        return swapped(n, targets) if can_swap() else _all_at_once(targets)
    order = list(range(n))
    for i, word in enumerate(words.tolist()):
        k = i + word % (n - i)
        order[i], order[k] = order[k], order[i]
    return np.array(order, np.int64)


@functools.lru_cache(maxsize=16)
def _places(n):
    """The first places of the swaps, and among how many the second one is chosen."""
    places = np.arange(n - 1, dtype=np.float64)
    return places, n - places


def _targets(n, words):
    """Each step's second place, the last step's being its own."""
    out = np.empty(n, np.int64)
    out[-1] = n - 1
    if n <= _FEW:
        places, spans = _places(n)
        part = words.astype(np.float64)
        quotient = np.divide(part, spans)
        np.floor(quotient, quotient)
        quotient *= spans
        part -= quotient
        part += places
        out[:-1] = part
        return out
    for at in range(0, n - 1, _CHUNK):
        part = words[at:at + _CHUNK].astype(np.float64)
        places = np.arange(at, at + part.size, dtype=np.float64)
        spans = n - places
        # remainders by float division, several times faster than by integers; the
        # floor of the quotient is exact as a word has 32 bits
        quotient = part / spans
        np.floor(quotient, quotient)
        quotient *= spans
        part -= quotient
        part += places
        out[at:at + part.size] = part
    return out


def _all_at_once(target):
    """Result of the swaps (i, target[i]), target[i] >= i, without doing them.

    Step i moves to place i, for good, what then lies at target[i].  That was
    put there by the latest earlier step j with the same target, and was at
    place j until step j; or else it has lain there from the start.  Likewise
    what is at place j at step j came from the latest step aimed at j.  So two
    links per element and following one of them to its end do it."""
    n = target.size
    step = np.arange(n)
    # steps by target, and within one target in order
    by_step = target << 32
    by_step |= step
    by_step.sort()
    value = by_step >> 32
    by_step &= 0xFFFFFFFF
    again = value[1:] == value[:-1]
    # source[j]: the last step before j aimed at j, or j itself when there is none.
    # Of repeated indices the last one stays; a step that swaps nothing must not
    # count, so it writes to place 0, whose source is known.
    source = step.copy()
    target[target == step] = 0
    source[target] = step
    source[0] = 0
    source, spare = _ends(source, target)
    # by arithmetic instead of a selection, whose branches could not be predicted
    change = np.take(source, by_step[:-1], out=spare[1:], mode="clip")
    change -= value[1:]
    change *= again
    value[1:] += change
    step[by_step] = value
    return step


def _ends(link, spare):
    """The end of every chain of links, by doubling; ends link to themselves.
    Returns that and a work array, in the two arrays given."""
    while True:
        np.take(link, link, out=spare, mode="clip")
        if np.array_equal(spare, link):
            return link, spare
        link, spare = spare, link


def shuffled_wide(n, draw):
    """The inside-out shuffle of very long permutations; ``draw(m)`` gives the
    next ``m`` 64-bit words."""
    order = array.array("q", bytes(8 * n))
    chunk = 1 << 20
    for at in range(0, n, chunk):
        words = draw(min(chunk, n - at))
        spans = np.arange(at + 1, at + 1 + words.size, dtype=np.uint64)
        for i, z in enumerate((words % spans).tolist(), at):
            order[i] = order[z]
            order[z] = i
    return np.frombuffer(order, np.int64)
