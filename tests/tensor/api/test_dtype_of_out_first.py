"""What torch 2.13 says of the dtype of an out tensor before it asks for a kernel, and of what is written by an index that is one truth."""
import pytest

import torchshim as torch


def empty(dtype):
    return torch.empty(2, dtype=dtype)


TRUTHS = torch.tensor([True, False])
COMPLEX = torch.tensor([1 + 2j, -3j])


@pytest.mark.parametrize("call, text", [
    (lambda: torch.floor(TRUTHS, out=empty(torch.int64)), "Found dtype Long but expected Bool"),
    (lambda: torch.abs(TRUTHS, out=empty(torch.uint8)), "Found dtype Byte but expected Bool"),
    (lambda: torch.round(COMPLEX, out=empty(torch.float32)), "Found dtype Float but expected ComplexFloat"),
    (lambda: torch.i0(COMPLEX, out=empty(torch.float32)), "result type ComplexFloat can't be cast to the desired output type Float"),
    (lambda: torch.lerp(TRUTHS, TRUTHS, TRUTHS, out=empty(torch.int32)), "Found dtype Int but expected Bool"),
    (lambda: torch.dot(TRUTHS, TRUTHS, out=empty(torch.int32)), "result dtype Int does not match input dtype Bool"),
    (lambda: torch.amax(COMPLEX, 0, out=empty(torch.float32)),
     "Expected the dtype for input and out to match, but got ComplexFloat for input's dtype and Float for out's dtype."),
    (lambda: torch.mode(COMPLEX, 0, out=(empty(torch.float32), empty(torch.int64))),
     "expected scalar type 'ComplexFloat' but got 'Float' for values output"),
    (lambda: torch.median(TRUTHS, 0, out=(empty(torch.int32), empty(torch.int64))),
     "Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but type torch.IntTensor does not equal "
     "CPUBoolType (while checking arguments for median)"),
    (lambda: torch.mv(torch.ones(2, 2), torch.ones(2), out=empty(torch.float64)),
     "addmv input tensors must have the same dtype, but got Double, Float, and Float"),
    (lambda: torch.mv(torch.ones(2, 2), torch.ones(2), out=torch.empty(0, dtype=torch.float64)),
     "Expected out tensor to have dtype float, but got double instead"),
    (lambda: torch.inner(torch.ones(2), torch.ones(2), out=empty(torch.float64)),
     "tensordot: Expected the output tensor to have dtype Float, but got an output tensor with dtype Double"),
    (lambda: torch.abs(COMPLEX, out=empty(torch.int64)), "result type Float can't be cast to the desired output type Long"),
])
def test_dtype_before_kernel(call, text):
    with pytest.raises(RuntimeError) as info:
        call()
    assert str(info.value).split("\n")[0] == text


def test_a_missing_kernel_is_told_where_the_dtype_fits():
    with pytest.raises(NotImplementedError, match="\"floor_vml_cpu\" not implemented for 'Bool'"):
        torch.floor(TRUTHS, out=empty(torch.bool))


def test_sizes_of_complex_numbers_go_into_other_dtypes():
    assert torch.abs(COMPLEX, out=empty(torch.float64)).tolist() == [2.2360680103302, 3.0]
    assert torch.logsumexp(COMPLEX.real.to(torch.complex64), 0, out=torch.empty((), dtype=torch.float32)).dtype == torch.float32


@pytest.mark.parametrize("key", [torch.tensor(True), torch.tensor(False), (torch.tensor(True), 0), (..., torch.tensor(True))])
@pytest.mark.parametrize("value", [torch.tensor(1), torch.tensor([1])])
def test_one_truth_as_an_index_casts_nothing(key, value):
    x = torch.zeros(2, 3)
    with pytest.raises(RuntimeError, match="Index put requires the source and destination dtypes match, got Float for the destination and Long"):
        x[key] = value
    x[key] = value.float()
    assert x.sum().item() in (0, 3, 6)


def test_no_index_at_all():
    with pytest.raises(RuntimeError, match=r"sym_strides\(\) called on an undefined Tensor"):
        torch.zeros(3).index_put((), torch.tensor(1.))


def test_isin_takes_a_number_in_its_own_precision():
    assert torch.isin(torch.tensor([0.1], dtype=torch.float64), 0.1).item()
    assert torch.isin(torch.tensor([0.1]), 0.1).item()
    with pytest.raises(RuntimeError, match=r"Unsupported input type encountered for isin\(\): ComplexDouble"):
        torch.isin(torch.ones(2), 1j)
