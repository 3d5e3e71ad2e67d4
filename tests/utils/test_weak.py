"""Protects torch.utils.weak: keys by identity that go with their objects."""
import gc

import torchshim as torch
from torchshim.utils.weak import TensorWeakRef, WeakIdKeyDictionary


def test_entries_go_with_their_tensors():
    a, b = torch.ones(2), torch.ones(2)
    seen = WeakIdKeyDictionary()
    seen[a], seen[b] = 1, 2
    assert seen[a] == 1 and seen[b] == 2 and torch.ones(2) not in seen and set(map(id, seen)) == {id(a), id(b)}
    del a
    gc.collect()
    assert len(seen) == 1 and list(seen.values()) == [2]


def test_a_weak_reference_to_a_tensor():
    t = torch.ones(1)
    r = TensorWeakRef(t)
    assert r() is t
    del t
    assert r() is None
