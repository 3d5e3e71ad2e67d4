"""Protects files of quantized tensors: torch's are read, ours come back, with levels, scales, zero points and strides."""
import pathlib

import pytest

import torchshim as torch

WRITTEN_BY_TORCH = pathlib.Path(__file__).with_name("written_by_torch.pt")


def tensors():
    x = torch.arange(12.).reshape(3, 4) / 7 - 0.8
    scales, points = torch.tensor([.1, .2, .3]), torch.tensor([1, 2, 3])
    return [torch.quantize_per_tensor(x, 0.1, 3, torch.quint8), torch.quantize_per_tensor(x, 0.1, 3, torch.qint8).t(),
            torch.quantize_per_tensor(x, 0.1, 3, torch.qint32)[1:], torch.quantize_per_channel(x, scales, points, 0, torch.qint8),
            torch.quantize_per_channel(x, scales, points.float(), 0, torch.quint4x2)]


def same(a, b):
    return a.equal(b) and a.dtype is b.dtype and a.stride() == b.stride() and a.qscheme() is b.qscheme()


def test_files_of_torch_are_read():
    assert all([same(a, b) for a, b in zip(tensors(), torch.load(WRITTEN_BY_TORCH), strict=True)])


@pytest.mark.parametrize("zipped", [True, False])
def test_what_was_written_comes_back(tmp_path, zipped):
    torch.save(tensors(), tmp_path / "t.pt", _use_new_zipfile_serialization=zipped)
    assert all([same(a, b) for a, b in zip(tensors(), torch.load(tmp_path / "t.pt"), strict=True)])


def test_memory_is_shared_in_files(tmp_path):
    q = tensors()[0]
    torch.save([q, q[1:]], tmp_path / "t.pt")
    a, b = torch.load(tmp_path / "t.pt")
    a[1] = 2.5
    assert b[0, 0].item() == 2.5
