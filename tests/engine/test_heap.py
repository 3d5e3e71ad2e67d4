"""What arrays give back stays with the process, unless the user has tuned the allocator."""
import platform

import pytest

import torchshim as torch
from torchshim.engine import heap
from torchshim.engine.compile import policy


def test_glibc_is_told(monkeypatch):
    for name in ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES"):
        monkeypatch.delenv(name, raising=False)
    if platform.libc_ver()[0] != "glibc":
        pytest.skip("another C library")
    assert heap.keep()


def test_what_the_user_tuned_stays(monkeypatch):
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    assert not heap.keep()


def test_what_a_dear_compile_left_is_given_back(monkeypatch):
    """It was a third of a GPT's memory as long as the process lived."""
    asked = []
    monkeypatch.setattr(heap, "give_back", lambda: asked.append(1))
    policy.pin("compiled")
    try:
        (torch.ones(3, 5) * 2.5).sum().item()
        assert not asked
        monkeypatch.setattr(policy, "LARGE", 0)
        (torch.ones(3, 5) * 2.5).prod().item()
        assert asked == [1]
    finally:
        policy.pin(None)


def test_memory_is_given_back_where_the_allocator_can():
    if platform.libc_ver()[0] != "glibc":
        pytest.skip("another C library")
    held = [bytearray(100_000) for _ in range(20)]
    del held
    assert heap.give_back() in (True, False) and heap._function("malloc_trim")
