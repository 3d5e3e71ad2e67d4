"""Protects storage objects: identity, bytes, writes through them, and the old typed ones.

Every expectation holds for real torch 2.13: replacing the import below by `import torch` must leave the file green.
"""
import copy
import gc
import subprocess
import sys

import numpy as np
import pytest

import torchshim as torch


def test_one_object_for_one_storage():
    x = torch.arange(6.0).reshape(2, 3)
    s = x.untyped_storage()
    assert s is x.untyped_storage() is x[1].untyped_storage() is x.detach().t().untyped_storage()
    assert s.data_ptr() == x.data_ptr() and x[1].data_ptr() == s.data_ptr() + 12
    assert len(s) == s.size() == s.nbytes() == 24 and s.element_size() == 1
    assert s != x.clone().untyped_storage() and torch.is_storage(s) and not torch.is_storage(x)
    assert torch.zeros(0).untyped_storage().data_ptr() == 0


def test_bytes():
    x = torch.ones(2)
    s = x.untyped_storage()
    assert s.tolist() == [0, 0, 128, 63] * 2 and s[3] == 63
    s[3] = 64
    assert x.tolist() == [4.0, 1.0] and x._version == 0
    s.fill_(0)
    assert x.tolist() == [0.0, 0.0]
    s.copy_(torch.tensor([2.0, 3.0]).untyped_storage())
    assert x.tolist() == [2.0, 3.0]
    assert torch.ones(2, 3).t().clone().untyped_storage().nbytes() == 24
    with pytest.raises(IndexError):
        s[8]


def test_set_from_a_storage():
    x = torch.arange(6.0)
    y = torch.empty(0).set_(x.untyped_storage(), 1, (2, 2), (2, 1))
    assert y.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    y.fill_(-1)
    assert x.tolist() == [0.0, -1.0, -1.0, -1.0, -1.0, 5.0]


def test_copies():
    x = torch.ones(2)
    s = x.untyped_storage()
    c = s.clone()
    c[0] = 7
    assert s[0] == 0 and c.data_ptr() != s.data_ptr()
    a, b = copy.deepcopy((x, x[:1]))
    assert a.untyped_storage() is b.untyped_storage() and a.untyped_storage() is not s


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
def test_the_class_of_a_storage():
    assert torch.ones(3).storage_type() is torch.FloatStorage and torch.ones(3).bool().storage_type() is torch.BoolStorage


def test_typed_storages():
    x = torch.tensor([1, 2], dtype=torch.int16)
    t = x.storage()
    assert type(t).__name__ == "TypedStorage" and t.dtype is torch.int16 and len(t) == 2 and t.nbytes() == 4 and t.tolist() == [1, 2]
    t[0] = 9
    assert x.tolist() == [9, 2] and isinstance(t, torch.ShortStorage) and not isinstance(t, torch.FloatStorage)
    assert torch.FloatStorage([1, 2]).tolist() == [1.0, 2.0]


def test_what_is_set_on_a_storage_stays_with_its_memory():
    x = torch.ones(2)
    x.untyped_storage().note = 3
    assert x.untyped_storage().note == 3 and not hasattr(torch.ones(2).untyped_storage(), "note")


def test_storages_of_files(tmp_path):
    name = str(tmp_path / "numbers")
    x = torch.FloatTensor(torch.FloatStorage.from_file(name, True, 4)).copy_(torch.arange(4.0))
    y = torch.from_file(name, True, 4)
    assert y.tolist() == [0, 1, 2, 3]
    y.fill_(2)
    assert x.tolist() == [2, 2, 2, 2]
    with pytest.raises(RuntimeError, match="not large enough"):
        torch.from_file(name, False, 5)


def test_copies_of_elements_in_other_dtypes():
    """Those of an untyped storage are its bytes."""
    s = torch.tensor([1.0, 2.0]).untyped_storage()
    assert s.float().tolist() == [0, 0, 128, 63, 0, 0, 0, 64] and s.float().dtype is torch.float32
    t = torch.FloatStorage([1, 2.5])
    assert t.long().tolist() == [1, 2] and t.bool().dtype is torch.bool and t.complex_double().tolist() == [1, 2.5]
    assert t.type() == "torch.FloatStorage" and t.type("torch.FloatStorage") is t and s.type() == "torch.storage.UntypedStorage"
    assert t.pickle_storage_type() == "FloatStorage" and t.filename is None and t.to(device="cpu").tolist() == [1, 2.5]
    assert not t.is_shared() and t.share_memory_() is t and t.is_shared() and t.tolist() == [1, 2.5]


def test_bytes_are_turned_around_by_elements():
    """The parts of complex numbers each."""
    s = torch.tensor([1.0]).untyped_storage()
    s.byteswap(torch.float32)
    assert s.tolist() == [63, 128, 0, 0]
    c = torch.tensor([1 + 2j]).untyped_storage()
    c.byteswap(torch.complex64)
    assert c.tolist() == [63, 128, 0, 0, 64, 0, 0, 0]


def test_storages_of_buffers():
    data = bytes(range(8))
    assert torch.IntStorage.from_buffer(data, byte_order="big").tolist() == [0x00010203, 0x04050607]
    assert torch.IntStorage.from_buffer(data, byte_order="little", offset=4).tolist() == [0x07060504]
    assert torch.ShortStorage.from_buffer(data, byte_order="little", count=2, offset=1).tolist() == [0x0201, 0x0403]
    assert torch.ByteStorage.from_buffer(b"abc").tolist() == [97, 98, 99]
    assert torch.UntypedStorage.from_buffer(b"abcd", dtype=torch.int8).nbytes() == 4
    assert torch.ComplexFloatStorage.from_buffer(bytes([63, 128, 0, 0, 64, 0, 0, 0]), byte_order="big").tolist() == [1 + 2j]
    for args, error in (({}, RuntimeError), ({"byte_order": "x"}, ValueError), ({"byte_order": "big", "offset": 9}, ValueError),
                        ({"byte_order": "big", "count": 5}, ValueError), ({"byte_order": "big", "offset": 1}, ValueError)):
        with pytest.raises(error):
            torch.FloatStorage.from_buffer(data, **args)
    with pytest.raises(RuntimeError, match="argument 'dtype' cannot be None"):
        torch.UntypedStorage.from_buffer(data)


def test_slices_of_a_storage_share_its_memory():
    # they were copies
    x = torch.arange(10.)
    whole = x.untyped_storage()
    part = whole[8:20]
    assert part.nbytes() == 12 and part.data_ptr() == whole.data_ptr() + 8
    x[3] = 7.5
    assert part.tolist() == whole.tolist()[8:20]
    part[2:4] = 0
    assert x[2] == 0
    assert whole[:16].data_ptr() == whole.data_ptr() and len(whole[5:2]) == 0
    with pytest.raises(RuntimeError, match="only a step of 1 is supported"):
        whole[::2]


def test_sizes_in_memory_count_the_elements():
    sizes = [torch.zeros(n).storage().__sizeof__() for n in (0, 10, 100)]
    assert sizes[1] - sizes[0] == 40 and sizes[2] - sizes[0] == 400


def test_a_typed_storage_of_another_dtype_is_no_place_for_a_tensor():
    with pytest.raises(RuntimeError, match="Expected a Storage of type float or an UntypedStorage, but got type Double for argument 1 "
                                           "'storage'"):
        torch.zeros(2).set_(torch.zeros(2, dtype=torch.float64).storage())


def test_typed_storages_say_once_that_they_are_deprecated():
    program = ("import warnings, {} as torch\nwith warnings.catch_warnings(record=True) as w:\n    warnings.simplefilter('always')\n"
               "    x = torch.ones(2)\n    x.untyped_storage()\n    assert not w\n    x.storage(), x.storage(), torch.FloatStorage(3)\n"
               "[said] = w\nassert said.category is UserWarning and str(said.message).startswith('TypedStorage is deprecated. It will be')\n"
               "assert str(said.message).endswith('To access UntypedStorage directly, use tensor.untyped_storage() instead of "
               "tensor.storage()')\n")
    subprocess.run([sys.executable, "-c", program.format("torchshim")], check=True)


def test_storages_that_lead_to_each_other_are_collected():
    gone = []

    class Told:
        def __del__(self):
            gone.append(1)
    a, b = torch.UntypedStorage(2), torch.UntypedStorage(2)
    a.other, b.other, a.told = b, a, Told()
    held = torch.UntypedStorage(2)
    held.first = a
    del a, b
    gc.collect()
    assert not gone and held.first.other.other is held.first
    del held
    gc.collect()
    assert gone


def test_memory_grows_under_a_storage_object():
    """set_, Tensor.resize_ and Storage.resize_ make room in the one memory that its tensors and its storage object go on sharing."""
    x = torch.arange(4.0)
    s, window = x.untyped_storage(), torch.zeros(0)
    window.set_(s, 2, (3, 2))                  # elements 2 to 7 of 4
    window[0, 0] = 9
    assert x.tolist() == [0, 1, 9, 3] and s.nbytes() == 32 and window.untyped_storage() is s is x.untyped_storage()
    x.resize_(10)
    x[2] = 5
    assert s.nbytes() == 40 and window[0, 0].item() == 5
    s.resize_(64)
    x[3] = 6
    assert s.nbytes() == 64 and window[0, 1].item() == 6 and window.data_ptr() == x.data_ptr() + 8


def test_set_to_what_a_tensor_is_already_makes_no_room():
    """As in torch, whose resize returns before it looks at the memory then."""
    x = torch.ones(1)
    with pytest.raises(RuntimeError, match=r"setStorage: sizes \[1\], strides \[\], storage offset 3, .* size of 16 are out of bounds"):
        x.set_(x.untyped_storage(), 3, x.size())
    with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
        x.set_(torch.from_numpy(np.ones(3, np.float32)).untyped_storage(), 0, (5,))


def test_the_plain_storage_is_of_the_default_dtype():
    assert torch.Storage is torch.FloatStorage
    try:
        torch.set_default_dtype(torch.float64)
        assert torch.Storage is torch.DoubleStorage
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.Storage is torch.FloatStorage
