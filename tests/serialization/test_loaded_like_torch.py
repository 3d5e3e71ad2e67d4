"""What torch.load makes of storages, generators, nested tensors and of what is no checkpoint is what PyTorch makes of it."""
import io
import pickle

import pytest

import torchshim as torch


def saved(obj, **how):
    file = io.BytesIO()
    torch.save(obj, file, **how)
    file.seek(0)
    return file


def test_an_untyped_storage_comes_back_as_bytes():
    s = torch.load(saved(torch.ones(2).untyped_storage()))
    assert type(s) is torch.storage.TypedStorage and s.dtype == torch.uint8 and s.nbytes() == 8


def test_generators_are_saved_under_torch_s_name_and_refused_by_it():
    g = torch.Generator().manual_seed(3)
    torch.rand(3, generator=g)
    file = saved(g)
    assert b"torch._C\nGenerator\n" in file.getvalue()
    loaded = torch.load(file, weights_only=False)
    assert loaded.initial_seed() == 3 and torch.equal(torch.rand(4, generator=loaded), torch.rand(4, generator=g))
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match=r"Unsupported global: GLOBAL torch\._C\.Generator was not"):
        torch.load(file)


def test_nested_tensors_load_with_weights_only_in_torch_s_form():
    a = torch.nested.nested_tensor([torch.ones(2), torch.zeros(3)])
    b = torch.nested.nested_tensor([torch.ones(2), torch.zeros(3)], layout=torch.jagged)
    file = saved([a, b, b * 2])
    assert b"torch._utils\n_rebuild_nested_tensor" in file.getvalue()
    assert b"torch.nested._internal.nested_tensor\n_rebuild_njt" in file.getvalue()
    x, y, z = torch.load(file)
    assert [t.tolist() for t in x.unbind()] == [t.tolist() for t in y.unbind()] == [[1, 1], [0, 0, 0]]
    assert (y + z).unbind()[0].tolist() == [3, 3]          # of the same ragged size, as they were


@pytest.mark.parametrize("data, error, text", [
    (b"", EOFError, "^$"), (b"garbage", pickle.UnpicklingError, "\n\nUnsupported operand 103\n\n"),
    (b"PK\x03\x04abc", RuntimeError, "reading zip archive: not a ZIP archive")])
def test_what_is_no_checkpoint(data, error, text):
    with pytest.raises(error, match=text):
        torch.load(io.BytesIO(data))


def test_text_is_refused():
    with pytest.raises(AssertionError, match="Expected bytes, got str"):
        torch.load(io.StringIO("abc"))
    with pytest.raises(TypeError, match="string argument expected, got 'memoryview'"):
        torch.save(1, io.StringIO())


@pytest.mark.parametrize("where, error, text", [
    ("foo", RuntimeError, r"don't know how to restore data location of torch\.storage\.UntypedStorage \(tagged with foo\)"),
    ("xpu", RuntimeError, r"on a XPU device but torch\.xpu\.is_available\(\) is False"),
    ("mps", RuntimeError, r"torch\.UntypedStorage\(\): Storage device not recognized: mps"),
    (lambda s, at: 3, TypeError, "Argument 'wrap_storage' must be UntypedStorage, but got <class 'int'>")])
def test_places_that_are_not_there(where, error, text):
    with pytest.raises(error, match=text):
        torch.load(saved(torch.ones(1)), map_location=where)


def test_unpickling_s_own_arguments_are_of_no_use_to_weights():
    with pytest.warns(UserWarning, match="pickle_load_args only works if `weights_only=False`"):
        torch.load(saved(torch.ones(1)), encoding="latin1")
    with pytest.warns(UserWarning), pytest.raises(TypeError, match=r"Unpickler\.__init__\(\) got an unexpected keyword argument 'foo'"):
        torch.load(saved(torch.ones(1)), foo=1)
