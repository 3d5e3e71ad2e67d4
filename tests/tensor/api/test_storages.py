"""Protects storage objects: identity, bytes, writes through them, and the old typed ones.

Every expectation holds for real torch 2.13: replacing the import below by `import torch` must leave the file green.
"""
import copy

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
