"""Protects torch.save and torch.load: PyTorch's files are read, ours hold what PyTorch's hold, and no file runs or destroys anything.

goldens/ was written by PyTorch 2.13: ``python tests/serialization/goldens/record.py``.
"""
import copy
import importlib.util
import io
import os
import pathlib
import pickle
import pickletools
import random
import zipfile
from collections import OrderedDict

import pytest
import torchshim as torch

HERE = pathlib.Path(__file__).resolve().parent
GOLDENS = HERE / "goldens"
_spec = importlib.util.spec_from_file_location("serialization_content", HERE / "content.py")
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
content, describe = _module.content, _module.describe
WANT = (GOLDENS / "content.txt").read_text().splitlines()


def saved(obj, **options):
    out = io.BytesIO()
    torch.save(obj, out, **options)
    return out.getvalue()


def loaded(data, **options):
    return torch.load(io.BytesIO(data), **options)


@pytest.mark.parametrize("name", ["zip.pt", "legacy.pt"])
@pytest.mark.parametrize("weights_only", [True, False])
def test_reads_pytorchs_files(name, weights_only):
    got = torch.load(GOLDENS / name, weights_only=weights_only)
    assert list(describe(torch, got)) == WANT
    got["x"][0, 0, 0] = 77                     # memory that was shared still is
    assert got["t"][0, 0, 0] == 77 and got["e"][0, 0] == 77


def test_maps_files_without_writing_to_them():
    before = (GOLDENS / "zip.pt").read_bytes()
    got = torch.load(GOLDENS / "zip.pt", mmap=True)
    assert list(describe(torch, got)) == WANT
    got["x"].add_(1)
    assert got["t"][0, 0, 0] == 1 and (GOLDENS / "zip.pt").read_bytes() == before


def names(pickled):
    """The globals and strings of a pickle in order of first appearance; which equal objects are one is left to a run."""
    return list(dict.fromkeys((op.name, arg) for op, arg, _ in pickletools.genops(pickled) if op.name in ("GLOBAL", "BINUNICODE")))


@pytest.mark.parametrize("zipped", [True, False])
def test_writes_what_pytorch_writes(zipped):
    """The same content under the same names, record by record; and twice the same bytes."""
    ours = saved(content(torch), _use_new_zipfile_serialization=zipped)
    assert list(describe(torch, loaded(ours))) == WANT
    if zipped:
        theirs = zipfile.ZipFile(GOLDENS / "zip.pt").read("zip/data.pkl")
        mine = zipfile.ZipFile(io.BytesIO(ours))
        assert names(mine.read("archive/data.pkl")) == names(theirs)
        for record in zipfile.ZipFile(GOLDENS / "zip.pt").namelist():
            if "/data/" in record:
                assert mine.read(record.replace("zip/", "archive/")) == zipfile.ZipFile(GOLDENS / "zip.pt").read(record)
        assert all(i.compress_type == zipfile.ZIP_STORED for i in mine.infolist())
    assert saved(content(torch), _use_new_zipfile_serialization=zipped) == ours


def test_modules_by_their_torch_names():
    m = torch.load(GOLDENS / "module.pt", weights_only=False)
    assert type(m[0]) is torch.nn.Linear and m[0].weight.tolist() == [[0.5], [0.5]]
    data = saved(m)
    assert b"torchshim" not in data and b"torch.nn.modules.linear" in data
    assert str(loaded(data, weights_only=False)) == str(m)
    with pytest.raises(pickle.UnpicklingError, match=r"add_safe_globals\(\[torch.nn.modules"):
        loaded(data)


def test_plain_pickles():
    d = content(torch)
    assert list(describe(torch, pickle.loads(pickle.dumps(d)))) == WANT
    x = torch.ones(2)
    x.note = "kept"
    assert pickle.loads(pickle.dumps(x)).note == "kept" and loaded(saved(x)).note == "kept"


def test_attributes_and_subclasses_come_back():
    p = torch.nn.Parameter(torch.ones(2), requires_grad=False)
    p.tag = 3
    q = loaded(saved(p))
    assert type(q) is torch.nn.Parameter and q.tag == 3 and not q.requires_grad
    t = torch.ones(1).as_subclass(Sub)
    with torch.serialization.safe_globals([Sub]):
        assert type(loaded(saved(t))) is Sub
    with pytest.raises(pickle.UnpicklingError):
        loaded(saved(t))


class Sub(torch.Tensor):
    pass


def test_map_location():
    data = saved({"a": torch.arange(3.)})
    for where in ("meta", {"cpu": "meta"}, torch.device("meta"), lambda storage, place: storage.to(device="meta")):
        assert loaded(data, map_location=where)["a"].device.type == "meta"
    assert loaded(data, map_location=lambda storage, place: None)["a"].tolist() == [0, 1, 2]


class Hostile:
    """A pickle that would run a command."""
    def __init__(self, f, args):
        self.f, self.args = f, args

    def __reduce__(self):
        return self.f, self.args


def test_hostile_pickles_run_nothing(tmp_path):
    flag = tmp_path / "ran"
    tries = [Hostile(f, a) for f, a in (
        (os.system, (f"touch {flag}",)), (eval, (f"open({str(flag)!r}, 'w')",)), (exec, (f"open({str(flag)!r}, 'w')",)),
        (open, (str(flag), "w")), (getattr, (os, "system")), (__import__, ("os",)), (pickle.loads, (b"cos\nsystem\n(S'true'\ntR.",)),
        (torch.load, (str(flag),)), (type, ("A", (), {})), (setattr, (torch.Tensor, "x", 1)))]
    refused = 0
    for wrapped in (lambda h: h, lambda h: {"a": h}, lambda h: [torch.ones(1), (h,)], lambda h: OrderedDict(a={1: h}),
                    lambda h: {2: [[h], h]}, lambda h: (torch.zeros(2).to_sparse(), h)):
        for h in tries:
            for zipped in (True, False):
                try:
                    data = saved(wrapped(h), _use_new_zipfile_serialization=zipped)
                except (pickle.PicklingError, TypeError):
                    continue
                with pytest.raises(pickle.UnpicklingError):
                    loaded(data)
                refused += 1
    assert refused >= 100
    raw = [b"cposix\nsystem\n(S'touch %s'\ntR." % str(flag).encode(), b"\x80\x02cbuiltins\neval\nX\x01\x00\x00\x001\x85R.",
           b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n}X\x0c\x00\x00\x00__defaults__K\x01sb.",
           b"\x80\x02ctorch\nTensor\n}X\x07\x00\x00\x00__add__K\x01sb.", b"(iposix\nsystem\n.", b"\x80\x04\x8c\x05posix\x8c\x06system\x93."]
    for pickled in raw:
        with pytest.raises(Exception):
            loaded(pickled)
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as z:
            z.writestr("a/data.pkl", pickled)
        with pytest.raises(pickle.UnpicklingError):
            loaded(out.getvalue())
    assert not flag.exists() and torch._utils._rebuild_tensor_v2.__defaults__ == (None,)


@pytest.mark.parametrize("name", ["zip.pt", "legacy.pt"])
def test_damaged_files_raise_or_hold_tensors(name):
    """A file cut anywhere, or with any bit flipped, gives a clear error, or something that loads: nothing hangs or crashes."""
    data = (GOLDENS / name).read_bytes()
    clear = (RuntimeError, EOFError, pickle.UnpicklingError, ValueError, TypeError, AttributeError, NotImplementedError, MemoryError)
    for n in range(0, len(data), max(1, len(data) // 60)):
        with pytest.raises(clear):
            loaded(data[:n])
    flips = random.Random(0)
    for _ in range(150):
        k = flips.randrange(len(data))
        damaged = bytearray(data)
        damaged[k] ^= 1 << flips.randrange(8)
        try:
            loaded(bytes(damaged))
        except clear:
            pass


def test_a_file_cut_at_every_kilobyte():
    data = saved({"w": torch.arange(4096.0), "b": torch.ones(2048, dtype=torch.float64), "s": torch.eye(30).to_sparse_csr()})
    for n in range(0, len(data), 1024):
        with pytest.raises((RuntimeError, EOFError)):
            loaded(data[:n])


def test_sparse_tensors_that_fit_no_matrix_are_refused():
    from torchshim._utils import _rebuild_sparse_tensor as rebuild
    one = torch.ones(1)
    with pytest.raises(RuntimeError, match="size is inconsistent with indices: for dim 0, size is 2 but found index 5"):
        rebuild(torch.sparse_coo, (torch.tensor([[5]]), one, (2,)))
    with pytest.raises(RuntimeError, match="`0 <= col_indices < ncols` is not satisfied."):
        rebuild(torch.sparse_csr, (torch.tensor([0, 1]), torch.tensor([7]), one, (1, 2)))


def test_saving_is_atomic(tmp_path):
    """What fails in the middle leaves the old file and nothing else."""
    path = tmp_path / "model.pt"
    torch.save({"a": torch.ones(3)}, path)
    before = path.read_bytes()

    class Full:
        def __reduce__(self):
            raise OSError(28, "No space left on device")
    with pytest.raises(OSError):
        torch.save([torch.zeros(1000), Full()], path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["model.pt"]
    with pytest.raises(RuntimeError, match="Parent directory"):
        torch.save({}, tmp_path / "no" / "x.pt")
    (tmp_path / "link.pt").symlink_to(path)
    torch.save({"a": 1}, tmp_path / "link.pt")
    assert (tmp_path / "link.pt").is_symlink() and torch.load(path) == {"a": 1}


def test_a_disk_that_fills_while_an_archive_is_written(tmp_path, monkeypatch):
    from torchshim.serialization import archive
    path = tmp_path / "model.pt"
    torch.save({"a": torch.ones(3)}, path)
    before, write = path.read_bytes(), archive.Writer.write

    def full(self, name, data):
        if name == "data/0":
            raise OSError(28, "No space left on device")
        write(self, name, data)
    monkeypatch.setattr(archive.Writer, "write", full)
    with pytest.raises(OSError):
        torch.save({"a": torch.zeros(3)}, path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["model.pt"]


def test_unsafe_globals_are_named():
    assert torch.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(saved([Hostile(os.system, ("x",)), range(2)]))) == [
        "posix.system", "builtins.range"]


def test_texts_of_errors():
    data = saved({})
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        loaded(data, weights_only=True, pickle_module=pickle)
    with pytest.raises(ValueError, match="must be a file path in order to use the mmap"):
        loaded(data, mmap=True)
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        loaded(saved(torch.ones(1)), map_location="cuda")
    a = torch.arange(6.)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        saved([a, a.untyped_storage()])
    with pytest.raises(AttributeError, match="'write' attribute"):
        torch.save({}, 5)


def test_layouts_and_memory_formats():
    made = [torch.strided, torch.channels_last]
    assert pickle.loads(pickle.dumps(made)) == made and loaded(saved(torch.strided)) is torch.strided
    assert loaded(saved(made), weights_only=False)[1] is torch.channels_last


@pytest.mark.parametrize("zipped", [True, False])
def test_negated_views_come_back_negated(zipped):
    b = io.BytesIO()
    torch.save(torch._neg_view(torch.arange(3.)), b, _use_new_zipfile_serialization=zipped)
    b.seek(0)
    y = torch.load(b)
    assert y.tolist() == [-0., -1., -2.] and y.is_neg()


@pytest.mark.parametrize("layout", ["csr", "csc", "bsr", "coo"])
def test_sparse_tensors_of_the_older_format_are_checked_once_their_numbers_are_there(layout):
    x = torch.eye(4)
    s = {"csr": x.to_sparse_csr, "csc": x.to_sparse_csc, "coo": x.to_sparse, "bsr": lambda: x.to_sparse_bsr((2, 2))}[layout]()
    b = io.BytesIO()
    torch.save(s, b, _use_new_zipfile_serialization=False)
    b.seek(0)
    y = torch.load(b)
    assert y.layout is s.layout and torch.equal(y.to_dense(), x)


def test_a_buffer_is_a_plain_tensor_in_files():
    m = torch.nn.Module()
    m.b = torch.nn.Buffer(torch.ones(2), persistent=False)
    assert type(m.b) is torch.Tensor and isinstance(m.b, torch.nn.Buffer) and not m.state_dict()
    assert isinstance(copy.deepcopy(m).b, torch.nn.Buffer) and "b" in dict(copy.deepcopy(m).named_buffers())
    b = io.BytesIO()
    torch.save({"b": m.b}, b)
    b.seek(0)
    assert type(torch.load(b)["b"]) is torch.Tensor


def test_odd_entries_of_the_allow_list_matter_only_when_it_is_asked():
    b = io.BytesIO()
    torch.save(torch.ones(2), b)
    b.seek(0)
    with torch.serialization.safe_globals([3]):
        assert torch.load(b).tolist() == [1, 1]


def test_a_file_object_needs_no_more_than_to_read_and_seek():
    class Plain:
        def __init__(self, data):
            file = io.BytesIO(data)
            self.read, self.readline, self.seek, self.tell = file.read, file.readline, file.seek, file.tell
    assert torch.load(Plain(saved({"x": torch.ones(2)})))["x"].tolist() == [1, 1]


def test_what_cannot_be_pickled_is_told_as_by_the_c_pickler():
    class Local:
        pass
    unfindable = type("Unfindable", (), {"__module__": __name__, "__qualname__": "Unfindable"})
    for bad, kind, text in ((Local, AttributeError, "Can't pickle local object "), (Local(), AttributeError, "Can't pickle local object "),
                            (unfindable, pickle.PicklingError, "attribute lookup Unfindable on "),
                            (type("A", (), {"__module__": "nowhere"}), pickle.PicklingError, "import of module 'nowhere' failed")):
        with pytest.raises(kind) as error:
            torch.save(bad, io.BytesIO())
        assert text in str(error.value)


class _Asked:
    """A file object that is none of Python's, and notes what it is asked for."""

    def __init__(self, data=b"", names=("read", "readline", "seek", "tell", "write", "flush")):
        self.file, self.calls = io.BytesIO(data), set()
        for name in names:
            setattr(self, name, lambda *args, name=name: (self.calls.add(name), getattr(self.file, name)(*args))[1])


def test_what_is_asked_of_file_objects():
    """As in torch: writing to one takes `write` alone, reading one its `readinto` where it has one."""
    file = _Asked()
    torch.save(torch.arange(3.0), file)
    assert file.calls <= {"write", "flush"}
    for more in ((), ("readinto",)):
        read = _Asked(file.file.getvalue(), ("read", "readline", "seek", "tell", *more))
        assert torch.load(read).tolist() == [0, 1, 2]
        assert ("readinto" in read.calls) == bool(more)
