"""Process-wide switches answer what is so; a change of the product's precision makes other programs, and changing back finds the first."""
import pytest

import torchshim as torch


def test_matmul_precision():
    a = torch.ones(2, 2)
    assert torch.get_float32_matmul_precision() == "highest"
    try:
        torch.set_float32_matmul_precision("medium")
        assert torch.get_float32_matmul_precision() == "medium" and (a @ a).tolist() == [[2, 2], [2, 2]]
        with pytest.warns(UserWarning, match="x is not one of 'highest', 'high', or 'medium'"):
            torch.set_float32_matmul_precision("x")
    finally:
        torch.set_float32_matmul_precision("highest")
    assert (a @ a).tolist() == [[2, 2], [2, 2]]


def test_threads():
    n = torch.get_num_threads()
    torch.set_num_threads(n + 1)
    assert torch.get_num_threads() == n + 1
    torch.set_num_threads(n)
    with pytest.raises(RuntimeError, match="set_num_threads expects a positive integer"):
        torch.set_num_threads(0)
    assert torch.set_flush_denormal(True) is False and not torch.is_warn_always_enabled()
