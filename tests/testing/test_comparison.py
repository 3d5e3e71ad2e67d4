"""assert_close: what it finds and how it says so; make_tensor: torch's own values. Texts and digits are PyTorch 2.13's."""
import pytest

import torchshim as torch
from torchshim.testing import assert_close, make_tensor


def text(*args, **options):
    with pytest.raises((AssertionError, TypeError, ValueError)) as found:
        assert_close(*args, **options)
    return str(found.value)


def test_tensors_apart():
    assert text(torch.tensor([[1., 2], [3, 4]]), torch.tensor([[1., 2], [3, 5]])) == (
        "Tensor-likes are not close!\n\nMismatched elements: 1 / 4 (25.0%)\nGreatest absolute difference: 1.0 at index (1, 1) (up to 1e-05 "
        "allowed)\nGreatest relative difference: 0.20000000298023224 at index (1, 1) (up to 1.3e-06 allowed)")
    assert "not equal!" in text(torch.tensor([1, 2]), torch.tensor([1, 3]))
    assert text(torch.tensor(1.), torch.tensor(2.)).startswith("Scalars are not close!\n\nExpected 2.0 but got 1.0.\nAbsolute difference: "
        "1.0")


def test_nested_results_name_the_place():
    assert text({"a": [1, torch.ones(2)]}, {"a": [1, torch.zeros(2)]}).endswith("The failure occurred for item ['a'][1]")
    assert "length of the sequences mismatch: 1 != 2" in text([1], [1, 2])
    assert "Missing keys in the actual mapping: ['b']" in text({"a": 1}, {"b": 1})


def test_attributes_and_kinds():
    assert "attribute 'dtype'" in text(torch.ones(1), torch.ones(1, dtype=torch.float64))
    assert "attribute 'shape'" in text(torch.ones(1), torch.ones(2))
    assert "No comparison pair" in text(torch.ones(1), 1.0)
    assert "but got no atol" in text(1.0, 1.0, rtol=0.1)
    assert text(1, 2, msg=lambda m: m[:7] + "!") == "Scalars!"
    assert_close(torch.ones(1), torch.ones(1, dtype=torch.float64), check_dtype=False)
    assert_close(float("nan"), float("nan"), equal_nan=True)


def test_make_tensor():
    torch.manual_seed(0)
    assert make_tensor(3, dtype=torch.float32, device="cpu").tolist() == [-0.06738138198852539, 4.8279924392700195, -7.407406330108643]
    assert make_tensor((2, 3), dtype=torch.int64, device="cpu", noncontiguous=True).stride() == (6, 2)
    assert (make_tensor(50, dtype=torch.uint8, device="cpu", exclude_zero=True) != 0).all()
    with pytest.raises(ValueError, match="`low` must be less than `high`"):
        make_tensor(2, dtype=torch.int32, device="cpu", low=5, high=5)


@pytest.mark.parametrize("make", ["to_sparse", "to_sparse_csr", "to_sparse_csc", "to_sparse_bsr", "to_sparse_bsc"])
def test_sparse_tensors_of_every_layout(make):
    options = ((1, 1),) if "bs" in make else ()
    one, twice = [getattr(m, make)(*options) for m in (torch.eye(2), 2 * torch.eye(2))]
    torch.testing.assert_close(one, one.clone())
    with pytest.raises(AssertionError, match=f"Sparse {make.rpartition('_')[2].upper() if make != 'to_sparse' else 'COO'} values are not "
                                             "close!"):
        torch.testing.assert_close(one, twice)


def test_quantized_tensors_are_compared_by_what_they_stand_for():
    def quantized(values, scale=0.1, zero=5):
        return torch.quantize_per_tensor(torch.tensor(values), scale, zero, torch.quint8)
    torch.testing.assert_close(quantized([1.0, 2.0]), quantized([1.0, 2.0], 0.2))
    with pytest.raises(AssertionError, match=r"^Quantized tensor-likes are not close!\n\nMismatched elements: 1 / 2 .*\n"
                                             r"Greatest absolute difference: 1.0 at index \(1,\) \(up to 1e-05 allowed\)"):
        torch.testing.assert_close(quantized([1.0, 2.0]), quantized([1.0, 3.0]))
    with pytest.raises(AssertionError, match="^Quantized scalars are not close!"):
        torch.testing.assert_close(quantized(1.0), quantized(2.0))
    with pytest.raises(AssertionError, match="'is_quantized' do not match: True != False"):
        torch.testing.assert_close(quantized([1.0]), torch.ones(1))


def test_a_boolean_and_a_number_have_no_comparison():
    with pytest.raises(RuntimeError, match=r"^Originating a NumberPair\(\) at item \[1\] with\n\nbool\(\): True\n\nand\n\nint\(\): 1\n"):
        torch.testing.assert_close([1, True], [1, 1])


@pytest.mark.parametrize("name, words", [("__init__", "Originating a TensorLikePair"), ("compare", "Comparing\n\nTensorLikePair")])
def test_what_fails_otherwise_is_told_as_unexpected(monkeypatch, name, words):
    from torchshim.testing import _comparison

    def broken(*args, **kwargs):
        raise KeyError("x")
    monkeypatch.setattr(_comparison.TensorLikePair, name, broken)
    with pytest.raises(RuntimeError, match=f"(?s){words}.*resulted in the unexpected exception above") as found:
        assert_close(torch.tensor(1.0), torch.tensor(1.0))
    assert isinstance(found.value.__cause__, KeyError)
