"""Protects the memo that operators, metas and others keep what they made in: bounded, and one answer for all threads."""
import threading

import numpy as np

import torchshim as torch
from torchshim.engine.compile import policy
from torchshim.engine.record import meta, trie
from torchshim.engine.record.memo import Memo


def test_the_older_half_is_forgotten():
    memo = Memo(8)
    for k in range(9):
        memo.keep(k, str(k))
    assert list(memo) == [4, 5, 6, 7, 8]


def test_what_is_there_stays():
    memo = Memo(8)
    assert memo.keep("a", 1) == 1
    assert memo.keep("a", 2) == 1 == memo.get("a")


def test_threads_agree_and_the_bound_holds():
    memo, wrong = Memo(64), []

    def work():
        for k in range(3000):
            if memo.keep(k, object()) is None or len(memo) > 64 + 4:
                wrong.append(k)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_states_that_are_long_unused_are_forgotten(monkeypatch):
    """Code that never repeats stays bounded; what is compiled stays compiled."""
    monkeypatch.setattr(trie, "TRIE_CAP", 200)
    monkeypatch.setattr(trie, "_full", 200)
    monkeypatch.setattr(trie, "_roots", {})    # not what other tests left
    monkeypatch.setitem(trie.counters, "states", 0)

    def step(x):
        return (x * 2 + 1).sum().item()
    kept = torch.ones(3)
    kept.tolist()
    monkeypatch.setattr(policy, "tier", "compiled")
    step(kept)
    monkeypatch.setattr(policy, "tier", "operators")
    pending = torch.ones(2) * 3
    start = most = trie.counters["states"]
    for n in range(4, 304):
        assert step(torch.ones(n)) == 3 * n
        most = max(most, trie.counters["states"])
    assert most - start < 900                  # of about 1500
    assert pending.tolist() == [3, 3]
    monkeypatch.setattr(policy, "tier", "compiled")
    compiled = torch.stats()["compiles"]
    assert step(kept) == 9 and torch.stats()["compiles"] == compiled


def test_metas_that_nobody_holds_are_forgotten(monkeypatch):
    monkeypatch.setattr(meta, "META_CAP", 200)
    monkeypatch.setattr(meta, "_full", 200)
    of = lambda n: meta.meta_of((n, 7, 0, 11), np.dtype("float32"), "meta")
    kept, before = [of(n) for n in range(50)], len(meta._interned)
    for n in range(50, 5000):
        of(n)
    assert len(meta._interned) < 2 * before + 1000
    assert all(of(n) is m for n, m in enumerate(kept))


def test_an_empty_trie_can_be_halved(monkeypatch):
    """Whatever the count says: halving what is not there leaves nothing, and the next trace begins."""
    trie.clear()
    monkeypatch.setitem(trie.counters, "states", 10 ** 9)
    assert trie.root("nowhere") is trie.root("nowhere") and trie.counters["states"] < 10
    trie.clear()
