"""What factories make of their keywords, of `out` and of data. Expectations are PyTorch 2.13's."""
import math
import warnings

import numpy as np
import pytest

import torchshim as torch


def test_out_decides_and_is_checked():
    with pytest.raises(RuntimeError, match=r"dtype Long does not match dtype of out parameter \(Float\)"):
        torch.zeros(3, dtype=torch.int64, out=torch.ones(3))
    with pytest.raises(RuntimeError, match=r"device type meta does not match device type of out parameter \(cpu\)"):
        torch.ones(3, device="meta", out=torch.ones(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")                 # they resize without a word
        assert torch.full((2, 3), 1.5, out=torch.ones(4).long()).tolist() == [[1] * 3] * 2
    assert torch.zeros(2, requires_grad=True, out=torch.ones(2)).requires_grad


def test_ranges_count_the_elements_of_out():
    x = torch.zeros(2, 3)
    y = torch.linspace(0, 3, 4, out=x[:, 1:])
    assert x.tolist() == [[0, 0, 1], [0, 2, 3]] and y.shape == (2, 2)
    with pytest.warns(UserWarning, match="does not match the computed number of elements 3"):
        assert torch.arange(3, out=torch.ones(4)).shape == (3,)


def test_ranges_in_integers():
    assert torch.arange(0.5, 5.5, 1.5, dtype=torch.int64).tolist() == [0, 1, 2, 3, 4]
    assert torch.arange(0.5, 5.5, 1.5, dtype=torch.int32).tolist() == [0, 1, 2, 3]
    for wrong, error in ((torch.bool, NotImplementedError), (torch.complex64, NotImplementedError)):
        with pytest.raises(error, match='"arange_cpu" not implemented'):
            torch.arange(3, dtype=wrong)
    with pytest.raises(RuntimeError, match="unsupported range: 0.5 -> inf"):
        torch.arange(0.5, float("inf"))


def test_an_output_made_anew_lies_as_the_result():
    assert torch.exp(torch.ones(2, 3).t(), out=torch.empty(0)).stride() == (1, 3)


def test_numbers_that_a_dtype_cannot_hold():
    assert torch.tensor([-1], dtype=torch.uint8).item() == 255
    for data, dtype, error in (([300], torch.uint8, RuntimeError), ([float("nan")], torch.int32, RuntimeError), (2 ** 63, None, ValueError),
                               (1j, torch.float32, TypeError)):
        with pytest.raises(error):
            torch.tensor(data, dtype=dtype)


def test_data_keeps_its_layout():
    assert torch.tensor(np.zeros((2, 3)).T).stride() == (1, 3)


def test_asarray():
    assert torch.asarray(bytearray(8), dtype=torch.int32).tolist() == [0, 0]
    for what, options in ((np.float64(1), {}), ([1.], {}), (torch.zeros(2), {"dtype": torch.float64})):
        with pytest.raises((ValueError, RuntimeError), match="can't alias"):
            torch.asarray(what, copy=False, **options)
    x = torch.ones(2, requires_grad=True)
    assert torch.asarray(x, copy=True).grad_fn is not None and not torch.asarray(x, requires_grad=False).requires_grad


def test_sizes_beyond_every_address():
    with pytest.raises(RuntimeError, match="Storage size calculation overflowed"):
        torch.empty(2, 4, 2 ** 29, 2 ** 29, dtype=torch.float64)
    with pytest.raises(RuntimeError, match="Stride calculation overflowed"):
        torch.empty(()).resize_([0, 4, 2 ** 61])


def test_the_elements_of_a_vector_are_views():
    x = torch.zeros(200)
    next(iter(x)).fill_(3)
    assert x[0] == 3 and sum(map(int, x)) == 3


def test_unset_memory_shows_under_deterministic_algorithms():
    torch.use_deterministic_algorithms(True)
    try:
        assert torch.empty(2).isnan().all() and torch.empty_strided((2,), (3,)).isnan().all() and torch.ones(1).new_empty(2).isnan().all()
        assert torch.empty(1, dtype=torch.int8).item() == 127 and torch.zeros(1).item() == 0
        with pytest.raises(RuntimeError, match="max_unpooling2d_forward_out does not have a deterministic implementation"):
            torch.nn.functional.max_unpool2d(torch.ones(1, 1, 2, 2), torch.zeros(1, 1, 2, 2, dtype=torch.long), 2)
    finally:
        torch.use_deterministic_algorithms(False)
    assert torch.empty(2).tolist() == [0, 0]


def test_tensors_on_storages():
    x = torch.arange(3.0)
    y = torch.ones(0).new(x.untyped_storage())
    assert y.data_ptr() == x.data_ptr() and torch.tensor(x.untyped_storage(), dtype=torch.float32).tolist() == [0, 1, 2]
    assert torch.tensor(torch.UntypedStorage(20)).tolist() == [0, 0]
    with pytest.raises(RuntimeError, match="Expected a Storage of type Long"):
        torch.tensor(x._typed_storage(), dtype=torch.int64)


def test_the_order_of_dimensions_in_memory():
    x = torch.empty(2, 3, 4, 5, memory_format=torch.channels_last)
    assert x.dim_order() == (0, 2, 3, 1) and torch.ones(1, 3, 1, 2).expand(4, 3, 5, 2).dim_order() == (0, 1, 2, 3)
    with pytest.raises(RuntimeError, match="unique dim order"):
        torch.empty(2, 1, 2).dim_order(ambiguity_check=True)


def test_strides_of_dimensions_of_one_element_are_kept():
    """What is made like a dense tensor has its very strides, and `to` asks the order of strides,
    not whether the elements lie so already."""
    w = torch.zeros(6, 4, 1, 1)
    last = w.to(memory_format=torch.channels_last)
    assert last is not w and last.stride() == (4, 1, 4, 4)
    assert w.contiguous(memory_format=torch.channels_last) is w
    for made in (torch.zeros_like(last), torch.rand_like(last), last.double(), last.to(torch.int, copy=True), torch.full_like(last, 2.)):
        assert made.stride() == (4, 1, 4, 4)
    assert last.double(memory_format=torch.contiguous_format).stride() == (4, 1, 1, 1)
    turned = torch.zeros(3, 4).t()
    assert turned.to(memory_format=torch.contiguous_format) is turned
    assert torch.nn.functional.conv2d(torch.zeros(2, 4, 5, 5), last).stride() == (150, 1, 30, 6)


def test_lists_of_themselves():
    """They are refused, and not followed to the end of the stack."""
    a = [0]
    a.append(a)
    for data in (a, [[1, 2], a]):
        with pytest.raises(TypeError, match="self-referential lists are incompatible"):
            torch.tensor(data)
    a = []
    a.append(a)
    with pytest.raises(ValueError, match="too many dimensions 'list'"):
        torch.tensor(a)


def test_views_of_nothing_behind_memory():
    """What has no elements reaches nowhere."""
    x = torch.tensor([1.0]).as_strided((2, 0), (1, 1), 7)
    assert x.storage_offset() == 7 and x.sum() == 0


@torch.inference_mode()
def test_inference_tensors_that_say_they_require_grad_may_be_resized():
    """Nobody follows them."""
    x = torch.ones(1, 2, requires_grad=True)
    assert x.resize_(1, 1).shape == (1, 1) and x.requires_grad


def test_a_copy_is_told_of_with_the_function_that_makes_it():
    x = torch.ones(2)
    with pytest.warns(UserWarning, match=r"rather than torch.tensor\(sourceTensor\)"):
        torch.tensor(x)
    with pytest.warns(UserWarning, match=r"rather than tensor.new_tensor\(sourceTensor\)"):
        x.new_tensor(x)


@pytest.mark.parametrize("make, text", [
    (lambda: torch.FloatTensor([1, "a"]), "must be real number, not str"),
    (lambda: torch.tensor([1, None], dtype=torch.float32), "must be real number, not NoneType"),
    (lambda: torch.LongTensor([None]), "'NoneType' object cannot be interpreted as an integer"),
    (lambda: torch.tensor([{}], dtype=torch.bool), "'dict' object cannot be interpreted as an integer"),
    (lambda: torch.nn.Sequential(torch.nn.ReLU), "torch.nn.modules.activation.ReLU is not a Module subclass"),
    (lambda: torch.nn.Sequential(torch.nn.functional.relu), "torch.nn.functional.relu is not a Module subclass"),
    (lambda: torch.ones(1).to(device=1.5), "to() received an invalid combination of arguments - got (device=float, ), but expected one of"),
    (lambda: torch.nn.Linear(1, 1).to(device="cpu", dtype="float"),
     "to() received an invalid combination of arguments - got (dtype=str, device=str, ), but expected one of")])
def test_what_is_no_number_no_module_and_no_place(make, text):
    with pytest.raises(TypeError) as refusal:
        make()
    assert str(refusal.value).startswith(text)


def test_nested_numbers_are_taken_as_they_are_nested():
    """Even lists of Python's numbers, which are read level by level, and those that are not even."""
    assert torch.tensor([[1, 2], (3, 4)]).tolist() == [[1, 2], [3, 4]] and torch.tensor(((True,), [False])).dtype is torch.bool
    assert torch.tensor([[[1.5, 2], [3, True]]]).shape == (1, 2, 2) and torch.tensor([[1, 2.5j]]).dtype is torch.complex64
    assert torch.tensor([[], []]).shape == (2, 0) and torch.tensor([[1e300]]).tolist() == [[math.inf]]
    assert torch.tensor([[1.75, -2.5]], dtype=torch.int32).tolist() == [[1, -2]]
    deep = 1.0
    for _ in range(12):
        deep = [deep]
    assert torch.tensor(deep).ndim == 12
    for data, error in (([[1, 2], [3]], ValueError), ([[1], 2], TypeError), ([[2 ** 63]], ValueError), ([1, "a"], TypeError)):
        with pytest.raises(error):
            torch.tensor(data)


def test_sequences_of_other_classes_are_asked_for_their_first_element_before_they_are_gone_through():
    class Numbers:
        def __init__(self, given):
            self.given = given

        def __len__(self):
            return len(self.given)

        def __getitem__(self, k):
            return self.given[k]

    class Silent(Numbers):
        def __getitem__(self, k):
            raise TypeError
    assert torch.tensor(Numbers([1.0, 2.0])).tolist() == [1, 2] and torch.tensor([Numbers([1]), Numbers([2])]).tolist() == [[1], [2]]
    assert torch.tensor(Numbers([1, 2])).dtype == torch.tensor(range(2)).dtype == torch.int64
    with pytest.raises(ValueError, match="could not determine the shape of object type 'Silent'"):
        torch.tensor(Silent([1, 2]))
