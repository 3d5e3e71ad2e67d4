"""Protects the memo that operators, metas and others keep what they made in: bounded, and one answer for all threads."""
import threading

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
