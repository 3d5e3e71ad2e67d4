"""Checkpoints in a folder: `.metadata`, and files `__0_0.distcp` in which entries lie one after the other, each as torch.save writes it.

PyTorch reads what is written here, and what it wrote with any number of processes is read here. Reading runs nothing from a file: the
metadata may name the classes of this package only, and other entries than tensors are read as `torch.load(weights_only=True)` reads them.
"""
from __future__ import annotations

import collections
import dataclasses
import enum
import io
import os
import pathlib
import pickle
import uuid

import torchshim as torch

from ...dropin.names import to_torch
from ...engine import warn
from ...futures import Future
from ...serialization import pickling
from . import metadata as _metadata
from .metadata import StorageMeta
from .planner import LoadItemType, WriteItemType
from .storage import StorageReader, StorageWriter, WriteResult

__all__ = ["FileSystemWriter", "FileSystemReader", "SerializationFormat"]
CURRENT_DCP_VERSION = "1.0.0"
_METADATA = ".metadata"


@dataclasses.dataclass
class _StorageInfo:
    """Where an entry lies."""
    relative_path: str
    offset: int
    length: int
    transform_descriptors: tuple | None = None

    def __getstate__(self):
        return {k: v for k, v in self.__dict__.items() if v is not None}


@dataclasses.dataclass
class _StoragePrefix:
    prefix: str


class SerializationFormat(enum.Enum):
    """How a tensor is written."""
    TORCH_SAVE = "torch_save"
    SAFETENSORS = "safetensors"


def _replace(path, write):
    """Write a file under another name, and give it its own when it is complete."""
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with open(temporary, "wb") as file:
            result = write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return result


class FileSystemWriter(StorageWriter):
    """Writes to the folder `path`. single_file_per_rank: all entries in one file, else one each. overwrite:
    whether a checkpoint there may go."""

    def __init__(self, path, single_file_per_rank=True, sync_files=True, thread_count=1, per_thread_copy_ahead=10_000_000,
                 cache_staged_state_dict=False, overwrite=True, _extensions=None, serialization_format=SerializationFormat.TORCH_SAVE):
        if serialization_format is not SerializationFormat.TORCH_SAVE or _extensions:
            raise NotImplementedError("torchshim: FileSystemWriter with safetensors or extensions")
        self.path, self.overwrite, self.single_file_per_rank = pathlib.Path(path), overwrite, single_file_per_rank
        self.save_id = str(uuid.uuid4())

    def reset(self, checkpoint_id=None):
        if checkpoint_id:
            self.path = pathlib.Path(checkpoint_id)
        self.save_id = str(uuid.uuid4())

    def set_up_storage_writer(self, is_coordinator, *args, **kwargs):
        self.is_coordinator = is_coordinator

    def prepare_local_plan(self, plan):
        self.path.mkdir(parents=True, exist_ok=True)
        if (self.path / _METADATA).exists():
            if not self.overwrite:
                raise RuntimeError(f"Checkpoint already exists and {self.overwrite=}.")
            warn(f"Detected an existing checkpoint in {self.path}, overwriting since {self.overwrite=}. Past version 2.5 of PyTorch, "
                 "`overwrite` will default to False. Set this variable to True to maintain this functionality or False to raise when an "
                 "existing checkpoint is found.")
        return plan

    def prepare_global_plan(self, plans):
        return [dataclasses.replace(plan, storage_data=_StoragePrefix(f"__{k}_")) for k, plan in enumerate(plans)]

    def write_data(self, plan, planner):
        items = sorted(plan.items, key=lambda item: item.type is not WriteItemType.BYTE_IO)
        results = []
        for k, part in enumerate([items] if self.single_file_per_rank else [[item] for item in items]):
            name = f"{plan.storage_data.prefix}{k}.distcp"
            if part:
                results += _replace(self.path / name, lambda file, part=part, name=name: [_write(file, x, planner, name) for x in part])
        done = Future()
        done.set_result(results)
        return done

    def finish(self, metadata, results):
        metadata = dataclasses.replace(metadata, version=CURRENT_DCP_VERSION, storage_meta=self.storage_meta(),
                                       storage_data={r.index: r.storage_data for rs in results for r in rs})
        _replace(self.path / _METADATA, lambda file: pickling.Translating(file, 4).dump(metadata))

    def storage_meta(self):
        return StorageMeta(checkpoint_id=self.path, save_id=self.save_id)

    @property
    def checkpoint_id(self):
        """The folder."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id):
        return isinstance(checkpoint_id, (str, os.PathLike)) and "://" not in str(checkpoint_id)


def _write(file, item, planner, name):
    data, start = planner.resolve_data(item), file.tell()
    if item.type is WriteItemType.BYTE_IO:
        file.write(data.getbuffer())
    else:
        data = data.detach().cpu()
        if data.untyped_storage().nbytes() != data.numel() * data.element_size():
            data = data.clone()               # a view does not bring all that it is a view of
        whole = io.BytesIO()
        torch.save(data, whole)
        file.write(whole.getbuffer())
    length = file.tell() - start
    return WriteResult(item.index, length, _StorageInfo(name, start, length))


class _Metadata(pickle.Unpickler):
    """Makes the classes of this package, and what they consist of."""
    allowed = {("torch", "Size"), ("torch.serialization", "_get_layout"), ("collections", "OrderedDict"), ("torch", "device")}
    own = {to_torch(__name__): (_StorageInfo,), to_torch(_metadata.__name__): (
        _metadata.ChunkStorageMetadata, _metadata._MEM_FORMAT_ENCODING, _metadata.TensorProperties, _metadata.TensorStorageMetadata,
        _metadata.BytesStorageMetadata, _metadata.Metadata, _metadata.MetadataIndex, _metadata.StorageMeta)}

    def find_class(self, module, name):
        for cls in self.own.get(module, ()):
            if cls.__name__ == name:
                return cls
        if (module, name) in self.allowed:
            return pickling.find_torch(module, name) if module != "collections" else collections.OrderedDict
        if module == "torch" and isinstance(getattr(torch, name, None), torch.dtype):
            return getattr(torch, name)
        if module.partition(".")[0] == "pathlib" and name in ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath"):
            return pathlib.PurePosixPath if "Posix" in name else pathlib.PureWindowsPath
        raise pickle.UnpicklingError(f"a checkpoint's metadata asks for {module}.{name}, which is no part of it")


class FileSystemReader(StorageReader):
    """Reads the folder `path`."""

    def __init__(self, path, _extension_registry=None):
        self.path, self.load_id, self.storage_data = pathlib.Path(path), str(uuid.uuid4()), {}

    def reset(self, checkpoint_id=None):
        if checkpoint_id:
            self.path = pathlib.Path(checkpoint_id)
        self.load_id, self.storage_data = str(uuid.uuid4()), {}

    def read_metadata(self, *args, **kwargs):
        with open(self.path / _METADATA, "rb") as file:
            found = _Metadata(file).load()
        if not isinstance(found, _metadata.Metadata):
            raise pickle.UnpicklingError(f"{self.path / _METADATA} holds no checkpoint's metadata")
        if found.storage_meta is None:
            found.storage_meta = StorageMeta()
        found.storage_meta.load_id = self.load_id
        return found

    def set_up_storage_reader(self, metadata, is_coordinator, *args, **kwargs):
        if metadata.storage_data is None:
            raise AssertionError("storage_data must not be None in metadata")
        self.storage_data = metadata.storage_data

    def prepare_local_plan(self, plan):
        return plan

    def prepare_global_plan(self, plans):
        return plans

    def read_data(self, plan, planner):
        by_file = {}
        for item in plan.items:
            by_file.setdefault(self.storage_data[item.storage_index].relative_path, []).append(item)
        for name, items in by_file.items():
            path = self.path / name
            if not path.resolve().is_relative_to(self.path.resolve()):
                raise pickle.UnpicklingError(f"a checkpoint's metadata leads out of its folder: {name}")
            with open(path, "rb") as file:
                for item in items:
                    self._read(file, item, planner)
        done = Future()
        done.set_result(None)
        return done

    def _read(self, file, item, planner):
        place = self.storage_data[item.storage_index]
        if getattr(place, "transform_descriptors", None):
            raise NotImplementedError(f"torchshim: a checkpoint written with {place.transform_descriptors}")
        file.seek(place.offset)
        data = io.BytesIO(file.read(place.length))
        if item.type is LoadItemType.BYTE_IO:
            planner.load_bytes(item, data)
            return
        found = torch.load(data, map_location="cpu", weights_only=True)
        for d, (start, length) in enumerate(zip(item.storage_offsets, item.lengths)):
            found = found.narrow(d, start, length)
        target = planner.resolve_tensor(item).detach()
        if target.size() != found.size():
            raise AssertionError(f"req {item.storage_index} mismatch sizes {target.size()} vs {found.size()}")
        target.copy_(found)
        planner.commit_tensor(item, target)

    @property
    def checkpoint_id(self):
        """The folder."""
        return self.path

    @classmethod
    def validate_checkpoint_id(cls, checkpoint_id):
        return FileSystemWriter.validate_checkpoint_id(checkpoint_id)
