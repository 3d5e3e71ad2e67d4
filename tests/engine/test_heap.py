"""What arrays give back stays with the process, unless the user has tuned the allocator."""
import platform

import pytest

from torchshim.engine import heap


def test_glibc_is_told(monkeypatch):
    for name in ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES"):
        monkeypatch.delenv(name, raising=False)
    if platform.libc_ver()[0] != "glibc":
        pytest.skip("another C library")
    assert heap.keep()


def test_what_the_user_tuned_stays(monkeypatch):
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", "65536")
    assert not heap.keep()
