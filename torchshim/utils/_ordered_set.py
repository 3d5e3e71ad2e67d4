"""torch.utils._ordered_set: a set that remembers the order in which its elements came."""
from __future__ import annotations

from collections.abc import MutableSet, Reversible

__all__ = ["OrderedSet"]


class OrderedSet(MutableSet, Reversible):
    """A mutable set that iterates in the order of insertion."""
    __slots__ = ("_dict",)

    def __init__(self, iterable=None):
        self._dict = dict.fromkeys(iterable) if iterable is not None else {}

    @staticmethod
    def _from_dict(dict_inp):
        made = OrderedSet()
        made._dict = dict_inp
        return made

    def __contains__(self, elem):
        return elem in self._dict

    def __iter__(self):
        return iter(self._dict)

    def __len__(self):
        return len(self._dict)

    def __reversed__(self):
        return reversed(self._dict)

    def __repr__(self):
        return f"{type(self).__name__}({list(self)})"

    def __getstate__(self):
        return list(self._dict)

    def __setstate__(self, state):
        self._dict = dict.fromkeys(state)

    def add(self, elem):
        """Put an element at the end, unless it is there."""
        self._dict[elem] = None

    def discard(self, elem):
        """Take an element out, if it is there."""
        self._dict.pop(elem, None)

    def clear(self):
        """Take all elements out."""
        self._dict.clear()

    def pop(self):
        """Take the last element out. KeyError for an empty set."""
        if not self:
            raise KeyError("pop from an empty set")
        return self._dict.popitem()[0]

    def copy(self):
        """Another set of the same elements."""
        return OrderedSet(self)

    def difference(self, *others):
        """The elements that are in none of the others."""
        made = self.copy()
        made.difference_update(*others)
        return made

    def difference_update(self, *others):
        """Take out what is in the others."""
        for other in others:
            for x in list(other):
                self.discard(x)

    def update(self, *others):
        """Put in what is in the others."""
        for other in others:
            for x in other:
                self.add(x)

    def intersection(self, *others):
        """The elements that are in all of the others too."""
        kept = [set(other) for other in others]
        return OrderedSet([x for x in self if all([x in other for other in kept])])

    def intersection_update(self, *others):
        """Keep what is in all of the others."""
        self._dict = self.intersection(*others)._dict

    def issubset(self, other):
        """Whether all elements are in the other."""
        other = set(other)
        return all([x in other for x in self])

    def issuperset(self, other):
        """Whether all elements of the other are here."""
        return all([x in self for x in other])

    def symmetric_difference(self, other):
        """What is in one of the two only."""
        other = OrderedSet(other)
        return OrderedSet([*[x for x in self if x not in other], *[x for x in other if x not in self]])

    def symmetric_difference_update(self, other):
        """Become that."""
        self._dict = self.symmetric_difference(other)._dict

    def union(self, *others):
        """The elements of all."""
        made = self.copy()
        made.update(*others)
        return made
