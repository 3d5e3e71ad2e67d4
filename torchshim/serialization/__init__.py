"""torch.save and torch.load: PyTorch's zip format and the older one, both ways.

`load` runs nothing from a file unless asked to (`weights_only=False`); `save` replaces a file only once the new one is complete.
"""
from __future__ import annotations

import contextlib
import enum
import io
import os
import pickle
import struct
import sys
import warnings
from collections.abc import Callable
from tempfile import mkdtemp                # noqa: F401  a name of torch.serialization's
from typing import TypeAlias

import numpy as np

from .. import _utils
from ..tensor.api.storages import NAMED, TypedStorage, UntypedStorage, fresh_storage
from ..tensor.core.device import accelerators, device as torch_device
from ..tensor.core.dtype import ALL, dtype as torch_dtype
from ..tensor.core.layout import ALL as layouts
from ..tensor.core.overriding import settle
from . import weights_only as _safe
from .archive import Reader, Writer, replacing
from .pickling import find_torch, pickler, storage_name

MAP_LOCATION: TypeAlias = Callable[[UntypedStorage, str], UntypedStorage] | torch_device | str | dict[str, str] | None

__all__ = ["save", "load", "add_safe_globals", "get_safe_globals", "clear_safe_globals", "safe_globals", "get_unsafe_globals_in_checkpoint",
           "register_package", "location_tag", "default_restore_location", "LoadEndianness", "get_default_load_endianness",
           "set_default_load_endianness", "get_crc32_options", "set_crc32_options", "get_default_mmap_options", "set_default_mmap_options",
           "skip_data", "check_module_version_greater_or_equal", "validate_cuda_device", "SourceChangeWarning", "storage_to_tensor_type",
           "normalize_storage_type"]

DEFAULT_PROTOCOL = 2
LONG_SIZE, INT_SIZE, SHORT_SIZE = 8, 4, 2
MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
PROTOCOL_VERSION = 1001
UnpicklingError = pickle.UnpicklingError


class SourceChangeWarning(Warning):
    """A pickled module's source differs from the one it is loaded with. PyTorch's old files could tell; nothing here warns of it."""


class LoadEndianness(enum.Enum):
    """The byte order to read files with that do not record theirs."""
    NATIVE = 1
    LITTLE = 2
    BIG = 3


class _Options:
    """What the functions below set, for the whole process as in torch."""
    endianness, crc32, mmap_flags, skip = None, True, 2, None


def get_default_load_endianness():
    """The `LoadEndianness` for files that do not record their byte order, or None."""
    return _Options.endianness


def set_default_load_endianness(endianness):
    """Set it; TypeError for anything but a LoadEndianness or None."""
    if not isinstance(endianness, LoadEndianness) and endianness is not None:
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _Options.endianness = endianness


def get_crc32_options():
    """Whether `save` computes checksums. The zip files written here always carry them."""
    return _Options.crc32


def set_crc32_options(compute_crc32):
    """Kept and returned by `get_crc32_options`; the files carry checksums either way."""
    _Options.crc32 = bool(compute_crc32)


def get_default_mmap_options():
    """The flag that files are mapped with: MAP_PRIVATE (2) or MAP_SHARED (1)."""
    return _Options.mmap_flags


class set_default_mmap_options:
    """Map files with MAP_PRIVATE (writes stay in memory) or MAP_SHARED; also a context that undoes it."""

    def __init__(self, flags):
        if flags not in (1, 2):
            raise ValueError(f"Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or mmap.MAP_SHARED, but "
                             f"got {flags}")
        self.before, _Options.mmap_flags = _Options.mmap_flags, flags

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        _Options.mmap_flags = self.before


class skip_data:
    """Inside, `save` writes a file's structure with storages of zeros."""

    def __init__(self, materialize_fake_tensors=False):
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self):
        self.before, _Options.skip = _Options.skip, self

    def __exit__(self, *exc):
        _Options.skip = self.before


def add_safe_globals(safe_globals):
    """Let weights-only loads of this process construct these classes and call these functions (or `(object, "its name")` pairs)."""
    for g in safe_globals:
        if g not in _safe._user_allowed:
            _safe._user_allowed.append(g)


def get_safe_globals():
    """What the program has allowed so far."""
    return _safe.user_allowed()


def clear_safe_globals():
    """Forget what `add_safe_globals` allowed."""
    _safe._user_allowed.clear()


class safe_globals(_safe.allowing):
    """A context in which weights-only loads may construct these too."""


def get_unsafe_globals_in_checkpoint(f):
    """Names of the globals in a file that a weights-only load would refuse. Nothing of the file is run.

    f: a path or a file object of the zip format; ValueError for the older one."""
    with _opened(f, "rb") as file:
        if not _is_zip(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        names = _safe.globals_named(Reader(file).read("data.pkl"))
    allowed = {**_safe.default_table(), **_safe._user_table()}
    return [n for n in dict.fromkeys(names) if n not in allowed]


# -- where storages are ------------------------------------------------------------------------------------------------------
_packages: list = []


def register_package(priority, tagger, deserializer):
    """Teach save and load a kind of device: `tagger(storage)` names where it is or returns None, `deserializer(storage, name)` brings
    it there or returns None. Lower priorities are asked first."""
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda p: p[0])


def _accelerator(storage, location):
    kind = location.partition(":")[0]
    if kind not in ("cuda", "mps", "xpu", "tpu", "privateuseone"):
        return None
    if kind == "mps":
        raise RuntimeError("torch.UntypedStorage(): Storage device not recognized: mps")
    if kind != "tpu" and (kind != "cuda" or not accelerators("cuda")):
        why = "The PRIVATEUSEONE device module is not registered." if kind == "privateuseone" else \
            f"Attempting to deserialize object on a {kind.upper()} device but torch.{kind}.is_available() is False."
        raise RuntimeError(f"{why} If you are running on a CPU-only machine, please use torch.load with map_location=torch.device('cpu') to "
                           "map your storages to the CPU.")
    return storage.to(device=torch_device(location))


_packages += [(10, lambda s: "cpu" if s.device.type == "cpu" else None, lambda s, where: s if where == "cpu" else None),
              (20, lambda s: str(s.device) if s.device.type not in ("cpu", "meta") else None, _accelerator),
              (22, lambda s: "meta" if s.device.type == "meta" else None,
               lambda s, where: s.to(device=torch_device("meta")) if where == "meta" else None)]


def location_tag(storage):
    """The name of where a storage is, as files record it: "cpu", "cuda:0", "meta"."""
    for _, tagger, _ in _packages:
        location = tagger(storage)
        if location:
            return location
    raise RuntimeError(f"don't know how to determine data location of {type(storage)}")


def default_restore_location(storage, location):
    """Bring a storage to where its file says that it was. RuntimeError where there is no such device."""
    for _, _, deserializer in _packages:
        made = deserializer(storage, location)
        if made is not None:
            return made
    raise RuntimeError(f"don't know how to restore data location of {storage.__module__}.{type(storage).__name__} (tagged with {location})")


def validate_cuda_device(location):
    """The number in "cuda:N"; RuntimeError where there is no such device."""
    index, there = torch_device(location).index or 0, len(accelerators("cuda"))
    if not there:
        _accelerator(None, "cuda")
    if index >= there:
        raise RuntimeError(f"Attempting to deserialize object on CUDA device {index} but torch.cuda.device_count() is {there}. "
                           "Please use torch.load with map_location to map your storages to an existing device.")
    return index


def validate_hpu_device(location):
    """RuntimeError: there is no such device."""
    raise RuntimeError("The HPU device module is not registered. If you are running on a CPU-only machine, please use torch.load with "
                       "map_location=torch.device('cpu') to map your storages to the CPU.")


def _restore_location(map_location):
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, where: default_restore_location(storage, map_location.get(where, where))
    if isinstance(map_location, (str, torch_device)):
        return lambda storage, where: default_restore_location(storage, str(map_location))

    def restore(storage, where):
        made = map_location(storage, where)
        return default_restore_location(storage, where) if made is None else made.untyped() if isinstance(made, TypedStorage) else made
    return restore


# -- saving ------------------------------------------------------------------------------------------------------------------
def _numbers(storage):
    """A storage's bytes on the host."""
    s = storage.untyped()
    return b"" if s.device.type == "meta" else s._bytes().cpu().numpy().tobytes()


def save(obj, f, pickle_module=pickle, pickle_protocol=DEFAULT_PROTOCOL, _use_new_zipfile_serialization=True,
         _disable_byteorder_record=False):
    """Write an object to a file that PyTorch and torchshim can load.

    obj: anything that pickles; tensors that share memory share it when they come back. f: a path, or an object with `write`. A file at
    that path is replaced only once the new one is complete. pickle_protocol: 2 is what every torch reads.
    Follows https://docs.pytorch.org/docs/stable/notes/serialization.html. RuntimeError for tensors that see the same memory as
    different types, and where the folder does not exist.
    """
    settle()
    if isinstance(f, (str, os.PathLike)):
        path = os.fspath(f)
        with replacing(path) as file:
            _write(obj, file, os.path.splitext(os.path.basename(path))[0] or "archive", pickle_module, pickle_protocol,
                   _use_new_zipfile_serialization, _disable_byteorder_record)
    elif hasattr(f, "write"):
        _write(obj, f, "archive", pickle_module, pickle_protocol, _use_new_zipfile_serialization, _disable_byteorder_record)
    else:
        raise AttributeError("expected 'f' to be string, path, or a file-like object with a 'write' attribute")


class _Storages:
    """The storages met while an object is pickled, numbered in order."""

    def __init__(self):
        self.known, self.dtypes, self.in_order = {}, {}, []

    def entry(self, obj):
        """(class, key, location, elements) of a storage; None for any other object."""
        if not isinstance(obj, (TypedStorage, UntypedStorage)):
            return None
        cls, numel = storage_name(obj)
        storage = obj.untyped()
        if numel and storage.device.type != "meta":
            kind = getattr(cls, "dtype", ALL["uint8"])
            if self.dtypes.setdefault(id(storage._ts_st), kind) is not kind:
                raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        key = self.known.get(id(storage._ts_st))
        if key is None:
            key = self.known[id(storage._ts_st)] = str(len(self.in_order))
            self.in_order.append(storage)      # and alive while its id is a key
        return cls, key, location_tag(storage), numel


def _write(obj, file, stem, module, protocol, zipped, no_byteorder):
    storages, out = _Storages(), io.BytesIO()

    def persistent_id(x):
        entry = storages.entry(x)
        return None if entry is None else ("storage", *entry)
    if not zipped:
        return _write_legacy(obj, file, module, protocol, storages)
    pickler(out, protocol, persistent_id, module).dump(obj)
    if isinstance(file, io.TextIOBase):
        file.write(memoryview(b""))            # its own refusal, of what PyTorch writes
    with Writer(file, stem) as archive:
        archive.write("data.pkl", out.getbuffer())
        archive.write(".format_version", b"1")
        archive.write(".storage_alignment", b"64")
        if not no_byteorder:
            archive.write("byteorder", sys.byteorder.encode())
        for key, storage in enumerate(storages.in_order):
            archive.write(f"data/{key}", bytes(storage.nbytes()) if _Options.skip is not None else _numbers(storage))


def _write_legacy(obj, file, module, protocol, storages):
    """The format before zip files: pickles in a row, then each storage's length and bytes."""
    def persistent_id(x):
        entry = storages.entry(x)
        return None if entry is None else ("storage", *entry, None)
    system = dict(protocol_version=PROTOCOL_VERSION, little_endian=sys.byteorder == "little",
                  type_sizes=dict(short=SHORT_SIZE, int=INT_SIZE, long=LONG_SIZE))
    for part in (MAGIC_NUMBER, PROTOCOL_VERSION, system):
        module.dump(part, file, protocol=protocol)
    out = io.BytesIO()
    pickler(out, protocol, persistent_id, module).dump(obj)
    file.write(out.getbuffer())
    module.dump([str(k) for k in range(len(storages.in_order))], file, protocol=protocol)
    for storage in storages.in_order:
        file.write(struct.pack("<q", storage.nbytes() // _element_size(storage, storages)))
        file.write(_numbers(storage))


def _element_size(storage, storages):
    return storages.dtypes.get(id(storage._ts_st), ALL["uint8"]).itemsize


def _get_layout(name):
    """The torch.layout that a pickle names."""
    return layouts[name.removeprefix("torch.")]


# -- loading -----------------------------------------------------------------------------------------------------------------
_CHANGED = ("In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from `False` to `True`. "
            "Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but it can result in arbitrary code "
            "execution. Do it only if you got the file from a trusted source.")
_LEARN = ("\n\nCheck the documentation of torch.load to learn more about types accepted by default with weights_only "
          "https://pytorch.org/docs/stable/generated/torch.load.html.")


def _refused(error):
    """torch's text around what a weights-only load stumbled over."""
    text = str(error)
    if "GLOBAL" in text and "was not an allowed global" in text:
        text = ("Weights only load failed. This file can still be loaded, to do so you have two options, \033[1mdo those steps only if you "
                f"trust the source of the checkpoint\033[0m. \n\t(1) {_CHANGED}\n\t(2) Alternatively, to load with `weights_only=True` "
                f"please check the recommended steps in the following error message.\n\tWeightsUnpickler error: {text}")
    elif "is blocked" in text:
        text = f"Weights only load failed. {_CHANGED}\n\n\n{text}"
    else:
        text = (f"Weights only load failed. {_CHANGED}\nPlease file an issue with the following so that we can make `weights_only=True` "
                f"compatible with your use case: WeightsUnpickler error: \n\n{text}")
    return UnpicklingError(text + _LEARN)


@contextlib.contextmanager
def _opened(f, mode):
    if isinstance(f, (str, os.PathLike)):
        with open(f, mode) as file:
            yield file
    else:
        yield f


def _is_zip(file):
    at = file.tell()
    start = file.read(4)
    file.seek(at)
    return start == b"PK\x03\x04"


def load(f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args):
    """Read what `torch.save` wrote, here or in PyTorch.

    f: a path, or a file object with read, readline, tell and seek. map_location: where storages go: a device, a dict from recorded to
    wanted locations, or a function (storage, location) -> storage or None. weights_only: True (the default unless `pickle_module` is
    given) constructs only tensors, containers and what `add_safe_globals` allows; False runs whatever the file says. mmap: leave
    storages on disk until they are read (a path in the zip format only).
    Raises pickle.UnpicklingError for what a weights-only load may not construct, RuntimeError for damaged files and devices that do not
    exist, EOFError for an empty file.
    """
    if weights_only is None:
        forced = os.environ.get("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "0").lower() in ("1", "y", "yes", "true")
        weights_only = pickle_module is None and not forced
    if os.environ.get("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "0").lower() in ("1", "y", "yes", "true"):
        weights_only = True
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    mmap = bool(mmap)
    if mmap and not isinstance(f, (str, os.PathLike)):
        raise ValueError("f must be a file path in order to use the mmap argument")
    if not isinstance(f, (str, os.PathLike)) and not (hasattr(f, "seek") and hasattr(f, "tell")):
        raise AttributeError(f"'{type(f).__name__}' object has no attribute 'seek'. You can only torch.load from a file that is seekable. "
                             "Please pre-load the data into a buffer like io.BytesIO and try to load from it instead.")
    if weights_only and pickle_load_args:
        warnings.warn("pickle_load_args only works if `weights_only=False`.", UserWarning, stacklevel=2)
    encoding = pickle_load_args.pop("encoding", "utf-8")
    args = dict(pickle_load_args, encoding=encoding)
    restore = _restore_location(map_location)
    with _opened(f, "rb") as file:
        if _is_zip(file):
            archive = Reader(file, os.fspath(f) if mmap else None)
            if archive.has("constants.pkl"):
                return _torchscript(file, map_location, weights_only)
            made = _Zipped(archive, restore, mmap)
            return _unpickle(io.BytesIO(archive.read("data.pkl")), made, weights_only, pickle_module, args)
        if mmap:
            raise RuntimeError(f"mmap can only be used with files saved with `torch.save({f}, _use_new_zipfile_serialization=True), "
                               "please torch.save your checkpoint with this option in order to use mmap.")
        return _load_legacy(file, restore, weights_only, pickle_module, args)


def _torchscript(file, map_location, weights_only):
    """An archive of torch.jit.save, which torch.load reads too unless only weights are wanted."""
    if weights_only:
        raise RuntimeError("Cannot use ``weights_only=True`` with TorchScript archives passed to ``torch.load``. " + _CHANGED)
    from ..jit import load
    warnings.warn("'torch.load' received a zip file that looks like a TorchScript archive dispatching to 'torch.jit.load' (call "
                  "'torch.jit.load' directly to silence this warning)", UserWarning, stacklevel=3)
    file.seek(0)
    return load(file, map_location)


def _unpickle(file, storages, weights_only, module, args):
    """The object in a pickle whose storages `storages.persistent_load` makes."""
    if weights_only:
        try:
            return _safe.Unpickler(file, storages.persistent_load, {}, **args).load()
        except UnpicklingError as error:
            raise _refused(error) from None
    base = (module or pickle).Unpickler

    class Chosen(base):
        def find_class(self, mod, name):
            if mod == "torch" or mod.startswith("torch."):
                try:
                    return find_torch(mod, name)
                except ModuleNotFoundError as error:
                    raise AttributeError(f"torchshim has no {mod}.{name}, which the file asks for") from error
            return super().find_class(mod, name)
    Chosen.persistent_load = lambda self, pid: storages.persistent_load(pid)
    return Chosen(file, **args).load()


def _entry(pid):
    """The parts of a storage's persistent id, checked."""
    if type(pid) is not tuple or len(pid) < 5:
        raise UnpicklingError(f"not a storage's persistent id: {pid!r:.100}")
    kind, cls, key, location, numel = pid[:5]
    if kind != "storage":
        raise RuntimeError(f"Unknown saved id type: {kind}")
    dtype = ALL["uint8"] if cls is UntypedStorage else getattr(cls, "dtype", None)
    if not isinstance(dtype, torch_dtype) or type(numel) is not int or numel < 0 or type(location) is not str:
        raise UnpicklingError(f"not a storage's persistent id: {pid!r:.100}")
    return cls, dtype, key, location, numel


def _array(data, dtype, numel):
    """The numbers in `data` as a 1-d array that may be written to."""
    if len(data) < numel * dtype.itemsize:
        raise RuntimeError(f"unexpected EOF, expected {numel * dtype.itemsize - len(data)} more bytes. The file might be corrupted.")
    return np.frombuffer(data, dtype.held.np, numel) if numel else np.empty(0, dtype.held.np)


class _Zipped:
    """The storages of a zip archive, read when they are first asked for."""

    def __init__(self, archive, restore, mapped):
        self.archive, self.restore, self.known, self.map = archive, restore, {}, None
        order = archive.read("byteorder").strip() if archive.has("byteorder") else None
        if order not in (None, b"little", b"big"):
            raise ValueError("Unknown endianness type: " + order.decode(errors="replace"))
        default = {LoadEndianness.LITTLE: b"little", LoadEndianness.BIG: b"big"}.get(_Options.endianness, sys.byteorder.encode())
        self.swap = (order or default) != sys.byteorder.encode()
        if mapped:
            self.map = np.memmap(archive.path, np.uint8, "c" if _Options.mmap_flags == 2 else "r+")

    def persistent_load(self, pid):
        cls, dtype, key, location, numel = _entry(pid)
        if key not in self.known:
            name, size = f"data/{key}", numel * dtype.itemsize
            if self.map is not None and not self.swap and numel:
                at = self.archive.offset(name)
                data = self.map[at:at + size].view(np.ndarray)
            else:
                data = bytearray(self.archive.read(name))
            a = _array(data, dtype, numel)
            if self.swap:
                a = a.byteswap()
            self.known[key] = self.restore(fresh_storage(a, dtype), location)
        return TypedStorage(wrap_storage=self.known[key], dtype=dtype, _internal=True)     # so it is even for an untyped one


class _Legacy:
    """The storages of the older format: they are filled after everything is unpickled."""

    def __init__(self, restore):
        self.restore, self.known = restore, {}

    def persistent_load(self, pid):
        if type(pid) is tuple and pid and pid[0] == "module":
            return pid[1]
        cls, dtype, key, location, numel = _entry(pid)
        if key not in self.known:
            s = self.restore(fresh_storage(np.zeros(numel, dtype.held.np), dtype), location)
            self.known[key] = s, dtype, numel
        s = self.known[key][0]
        if len(pid) > 5 and pid[5] is not None:
            raise NotImplementedError("torchshim: storages that are views of storages (files of PyTorch before 0.4)")
        return s if cls is UntypedStorage else TypedStorage(wrap_storage=s, dtype=dtype, _internal=True)


def _load_legacy(file, restore, weights_only, module, args):
    """The format before zip files."""
    def part():
        if weights_only:
            try:
                return _safe.Unpickler(file, _no_storage, {}, **args).load()
            except UnpicklingError as error:
                raise _refused(error) from None
        return (module or pickle).load(file, **args)
    start = file.tell()
    first = file.read(1)
    if not first:
        raise EOFError(*() if weights_only else ("Ran out of input",))
    if weights_only and isinstance(first, str):
        raise AssertionError("Expected bytes, got str")
    file.seek(start)
    magic = part()
    if magic != MAGIC_NUMBER or type(magic) is not int:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = part()
    if version != PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version}")
    part()                                     # the system it was written on: always little-endian numbers of known sizes
    storages = _Legacy(restore)
    with _utils._checked_at_the_end():
        made = _unpickle(file, storages, weights_only, module, args)
        _read_storages(file, part(), storages)
    return made


def _read_storages(file, keys, storages):
    for key in keys:
        if key not in storages.known:
            raise RuntimeError(f"the file has a storage {key!r:.50} that nothing uses. The file might be corrupted.")
        s, dtype, numel = storages.known[key]
        head = file.read(8)
        if len(head) < 8:
            raise RuntimeError(f"unexpected EOF, expected {8 - len(head)} more bytes. The file might be corrupted.")
        n = struct.unpack("<q", head)[0]
        if n != numel:
            raise RuntimeError(f"storage has wrong byte size: expected {numel * dtype.itemsize} got {n * dtype.itemsize}")
        data = file.read(numel * dtype.itemsize)
        a = _array(bytearray(data), dtype, numel)
        if s.device.type != "meta" and numel:
            _fill(s, a, dtype)


def _fill(s, array, dtype):
    """Put a storage's numbers under the tensors that see it already."""
    from ..tensor.api.sharing import from_numpy
    dtype = dtype.held
    t = s._tensor(dtype)
    t.copy_(fresh_storage(array, dtype)._tensor(dtype) if array.dtype.kind == "V" else from_numpy(array))


def _no_storage(pid):
    raise UnpicklingError("a storage where none belongs")


def storage_to_tensor_type(storage):
    """The legacy tensor type ("torch.FloatTensor") of a TypedStorage's class."""
    from .. import __dict__ as names
    return names[type(storage).__name__.replace("Storage", "Tensor")] if isinstance(storage, UntypedStorage) else \
        names[storage_name(storage)[0].__name__.replace("Storage", "Tensor")]


class StorageType:
    """The dtype of a storage by the name of its class, "FloatStorage"."""

    def __init__(self, name):
        self._dtype = NAMED[name].dtype

    @property
    def dtype(self):
        """The dtype."""
        return self._dtype

    def __str__(self):
        return f"StorageType(dtype={self.dtype})"


def normalize_storage_type(storage_type):
    """The storage class of that name in torch."""
    return NAMED.get(storage_type.__name__, storage_type)


def check_module_version_greater_or_equal(module, req_version_tuple, error_if_malformed=True):
    """Whether `module.__version__` is at least `req_version_tuple`. RuntimeError for a version that can't be read, if asked for."""
    try:
        found = tuple(type(want)(part) for want, part in zip(req_version_tuple, module.__version__.split(".")))
    except Exception as error:
        message = (f"'{module.__name__}' module version string is malformed '{module.__version__}' and cannot be compared with tuple "
                   f"{req_version_tuple}")
        if error_if_malformed:
            raise RuntimeError(message) from error
        warnings.warn(message + ", but continuing assuming that requirement is met", stacklevel=2)
        return True
    return found >= tuple(req_version_tuple)
