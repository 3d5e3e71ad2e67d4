"""Checkpoints in the safetensors format, as Hugging Face's libraries keep models: `model-00001-of-00002.safetensors` and an index.

A file is eight bytes that say how long the header is, the header (JSON: each tensor's dtype, shape and place) and the tensors one after the
other. Reading runs nothing from it.
"""
from __future__ import annotations

import io
import json
import pathlib

import torchshim as torch

from ...futures import Future
from .filesystem import FileSystemReader, FileSystemWriter, _replace
from .metadata import ChunkStorageMetadata, Metadata, MetadataIndex, StorageMeta, TensorProperties, TensorStorageMetadata
from .planner import LoadItemType, WriteItemType
from .storage import WriteResult

__all__ = ["HuggingFaceStorageWriter", "HuggingFaceStorageReader"]
_INDEX = "model.safetensors.index.json"
_NAMES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64, "I32": torch.int32,
          "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8, "BOOL": torch.bool, "C64": torch.complex64}
_DTYPES = {dtype: name for name, dtype in _NAMES.items()}


def _bytes_of(t):
    t = t.detach().cpu().contiguous()
    return t.view(-1).view(torch.uint8).numpy().tobytes() if t.numel() else b""


def _file_name(k, n):
    return f"model-{k:05}-of-{n:05}.safetensors"


class HuggingFaceStorageWriter(FileSystemWriter):
    """Writes tensors to the folder `path`; anything else of a state_dict is left out. fqn_to_index_mapping: the number of the file of each
    name (default: one file). NotImplementedError with save_distributed: there is one process."""

    def __init__(self, path, fqn_to_index_mapping=None, thread_count=1, save_distributed=False, enable_consolidation=False,
                 thread_count_consolidation=1):
        if save_distributed or enable_consolidation:
            raise NotImplementedError("torchshim: HuggingFaceStorageWriter with save_distributed; torch.distributed has one process here")
        super().__init__(path)
        self.fqn_to_index_mapping = fqn_to_index_mapping

    def prepare_local_plan(self, plan):
        self.path.mkdir(parents=True, exist_ok=True)
        return plan

    def prepare_global_plan(self, plans):
        return plans

    def write_data(self, plan, planner):
        by_file = {}
        for item in plan.items:
            if item.type is not WriteItemType.BYTE_IO:
                by_file.setdefault((self.fqn_to_index_mapping or {}).get(item.index.fqn, 1), []).append(item)
        n, results = max(by_file, default=1), []
        for k, items in by_file.items():
            tensors = {item.index.fqn: planner.resolve_data(item) for item in items}
            name = _file_name(k, n)
            _replace(self.path / name, lambda file, tensors=tensors: _write(file, tensors))
            results += [WriteResult(item.index, tensors[item.index.fqn].nbytes, name) for item in items]
        done = Future()
        done.set_result(results)
        return done

    def finish(self, metadata, results):
        found = sorted([(r.index.fqn, r.storage_data, r.size_in_bytes) for rs in results for r in rs])
        index = {"metadata": {"total_size": sum([size for _, _, size in found])}, "weight_map": {name: file for name, file, _ in found}}
        _replace(self.path / _INDEX, lambda file: file.write(json.dumps(index, indent=2).encode()))


def _write(file, tensors):
    unknown = [t.dtype for t in tensors.values() if t.dtype not in _DTYPES]
    if unknown:
        raise NotImplementedError(f"torchshim: a safetensors file with tensors of {unknown[0]}")
    shards = json.dumps({name: {"saved_offsets": [0] * t.ndim} for name, t in sorted(tensors.items())})
    header, at = {"__metadata__": {"format": "pt", "DCP_SHARDING_INFO": shards, "DCP_VERSION": "1.0"}}, 0
    ordered = sorted(tensors.items(), key=lambda pair: (-pair[1].element_size(), pair[0]))
    for name, t in ordered:
        header[name] = {"dtype": _DTYPES[t.dtype], "shape": list(t.shape), "data_offsets": [at, at + t.nbytes]}
        at += t.nbytes
    said = json.dumps(header, separators=(",", ":")).encode()
    said += b" " * (-len(said) % 8)
    file.write(len(said).to_bytes(8, "little") + said)
    for _, t in ordered:
        file.write(_bytes_of(t))


def _header(path):
    """What a file says of its tensors, and where they begin. ValueError for what is no such file."""
    size = path.stat().st_size
    with open(path, "rb") as file:
        n = int.from_bytes(file.read(8), "little")
        if not 2 <= n <= size - 8:
            raise ValueError(f"{path} is no safetensors file")
        found = json.loads(file.read(n))
    found.pop("__metadata__", None)
    return found, 8 + n


class HuggingFaceStorageReader(FileSystemReader):
    """Reads the safetensors files in the folder `path`, whoever wrote them."""

    def __init__(self, path, thread_count=1):
        super().__init__(path)

    def read_metadata(self, *args, **kwargs):
        known, places = {}, {}
        for path in sorted(pathlib.Path(self.path).glob("*.safetensors")):
            header, begin = _header(path)
            for name, said in header.items():
                dtype, shape = _NAMES.get(said["dtype"]), torch.Size(said["shape"])
                if dtype is None:
                    raise NotImplementedError(f"torchshim: a safetensors file with tensors of {said['dtype']}")
                start = torch.Size([0] * len(shape))
                known[name] = TensorStorageMetadata(TensorProperties(dtype), shape, [ChunkStorageMetadata(start, shape)])
                places[MetadataIndex(name, start)] = path.name, begin + said["data_offsets"][0], said["data_offsets"][1], dtype, shape
        return Metadata(known, storage_data=places, storage_meta=StorageMeta(load_id=self.load_id))

    def _of(self, item):
        at = item.storage_index
        found = self.storage_data.get(at)
        return found or next(place for index, place in self.storage_data.items() if index.fqn == at.fqn)

    def read_data(self, plan, planner):
        for item in plan.items:
            if item.type is LoadItemType.BYTE_IO:
                planner.load_bytes(item, io.BytesIO())
                continue
            name, start, _, dtype, shape = self._of(item)
            count = shape.numel() * dtype.itemsize
            with open(self.path / name, "rb") as file:
                file.seek(start)
                data = bytearray(file.read(count))
            if len(data) != count:
                raise ValueError(f"{self.path / name} ends before {item.storage_index.fqn} does")
            found = torch.frombuffer(data, dtype=dtype).view(shape) if count else torch.empty(shape, dtype=dtype)
            for d, (first, length) in enumerate(zip(item.storage_offsets, item.lengths)):
                found = found.narrow(d, first, length)
            target = planner.resolve_tensor(item).detach()
            if target.size() != found.size():
                raise AssertionError(f"req {item.storage_index} mismatch sizes {target.size()} vs {found.size()}")
            target.copy_(found)
            planner.commit_tensor(item, target)
        done = Future()
        done.set_result(None)
        return done
