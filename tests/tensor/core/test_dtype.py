"""dtypes and what stands for them."""
import pytest

import torchshim as torch


@pytest.mark.parametrize("given, meant", [(bool, torch.bool), (int, torch.int64), (float, torch.float64), (complex, torch.complex128)])
def test_python_types_stand_for_dtypes(given, meant):
    x = torch.ones(2, 3)
    made = [torch.ones(2, dtype=given), torch.tensor([1], dtype=given), x.to(given), x.to(dtype=given), torch.zeros_like(x, dtype=given),
            torch.full((2,), 1, dtype=given), x.new_zeros(2, dtype=given), torch.empty(2, dtype=given), torch.as_tensor([1], dtype=given)]
    assert {t.dtype for t in made} == {meant} and torch.promote_types(given, torch.float32) == torch.promote_types(meant, torch.float32)
    if given in (float, complex):
        assert torch.finfo(given).bits == 64 and torch.nn.Linear(1, 1).to(torch.device("cpu"), float).weight.dtype == torch.float64
    else:
        with pytest.raises(TypeError, match="requires a floating point input type"):
            torch.finfo(given)


def test_other_types_do_not():
    for call in (lambda: torch.ones(2, dtype=str), lambda: torch.finfo(str), lambda: torch.promote_types(str, torch.int8)):
        with pytest.raises(TypeError, match="must be torch.dtype, not type"):
            call()
