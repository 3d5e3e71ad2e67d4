"""The parts of a PyTorch .pt2 archive: a program's graph as JSON, its tensors' memory, its example inputs.

NAME/models/model.json, NAME/data/weights/weight_0 … and model_weights_config.json, which says what of that memory each tensor sees; likewise
NAME/data/constants. Memory that several tensors see is written once. Follows what torch.export.save of PyTorch 2.13 writes (archive
version 0, schema 8).
"""
from __future__ import annotations

import io
import json
import sys

from .. import Tensor, UntypedStorage, empty, serialization, strided, uint8
from ..nn import Parameter
from ..serialization.archive import Reader, Writer
from .codes import NUMBERS, device_of, device_written, dtype_of

MODEL = "model"
_KINDS = {"weights": "weight", "constants": "tensor"}


def tensor_meta(t, sizes=None):
    """How a tensor lies in its memory, as JSON; sizes: where they are not the tensor's own."""
    number = lambda n: {"as_int": int(n)}
    return {"dtype": NUMBERS[t.dtype], "sizes": [number(n) for n in t.shape] if sizes is None else sizes,
            "requires_grad": t.requires_grad, "device": device_written(t.device), "strides": [number(n) for n in t.stride()],
            "storage_offset": number(t.storage_offset()), "layout": 7}


def _bytes_of(data):
    out = io.BytesIO()
    serialization.save(data, out)
    return out.getbuffer()


def write(file, stem, model, weights, constants, examples, extra):
    """An archive: `model` is the JSON, weights and constants are tensors by name, examples (args, kwargs) or None, extra {name: text}."""
    with Writer(file, stem, (".data/version", b"6\n")) as out:
        for folder, tensors in (("weights", weights), ("constants", constants)):
            config, known = {}, {}
            for name, t in tensors.items():
                if not isinstance(t, Tensor):
                    raise NotImplementedError(f"torchshim: torch.export.save of a program that holds a {type(t).__name__}")
                pickled = type(t) not in (Tensor, Parameter) or t.layout is not strided or t.dtype not in NUMBERS
                key = id(t) if pickled else id(t.untyped_storage()._ts_st)
                path = known.get(key)
                if path is None:
                    path = known[key] = f"{_KINDS[folder]}_{len(known)}"
                    out.write(f"data/{folder}/{path}", _bytes_of(t) if pickled else serialization._numbers(t.untyped_storage()))
                config[name] = {"path_name": path, "is_param": isinstance(t, Parameter), "use_pickle": pickled,
                                "tensor_meta": None if pickled else tensor_meta(t)}
            out.write(f"data/{folder}/{MODEL}_{folder}_config.json", json.dumps({"config": config}).encode())
        out.write(f"models/{MODEL}.json", json.dumps(model).encode())
        if examples is not None:
            out.write(f"data/sample_inputs/{MODEL}.pt", _bytes_of(examples))
        for name, text in extra.items():
            out.write(f"extra/{name}", text if isinstance(text, bytes) else str(text).encode())
        for name, text in (("archive_format", "pt2"), ("archive_version", "0"), ("byteorder", sys.byteorder)):
            out.write(name, text.encode())


class Archive:
    """An archive that is read: `model` (its JSON), `weights`, `constants`, `examples`. RuntimeError where it is none.

    What is pickled in it is read as `torch.load(weights_only=True)` reads."""

    def __init__(self, file):
        self.reader = Reader(file)
        if self.reader.read("archive_format") != b"pt2":
            raise RuntimeError("Invalid archive format")
        self.model = json.loads(self.reader.read(f"models/{MODEL}.json"))
        self.weights, self.constants = self._tensors("weights"), self._tensors("constants")
        self.examples = self._pickled(f"data/sample_inputs/{MODEL}.pt")

    def extra(self, name):
        """The text of an extra file, or None."""
        return self.reader.read(f"extra/{name}").decode() if self.reader.has(f"extra/{name}") else None

    def _pickled(self, name):
        return serialization.load(io.BytesIO(self.reader.read(name)), weights_only=True) if self.reader.has(name) else None

    def _tensors(self, folder):
        name = f"data/{folder}/{MODEL}_{folder}_config.json"
        if not self.reader.has(name):
            return {}
        found, memory = {}, {}
        for name, said in json.loads(self.reader.read(name))["config"].items():
            path = f"data/{folder}/{said['path_name']}"
            if said["use_pickle"]:
                found[name] = self._pickled(path)
                continue
            meta = said["tensor_meta"]
            if path not in memory:
                memory[path] = UntypedStorage.from_buffer(self.reader.read(path), dtype=uint8)
            number = lambda n: n["as_int"]
            t = empty(0, dtype=dtype_of(meta["dtype"])).set_(memory[path], number(meta["storage_offset"]), [number(n) for n in meta["sizes"]],
                                                             [number(n) for n in meta["strides"]])
            if meta["device"]["type"] != "cpu":
                t = t.to(device_of(meta["device"]))
            found[name] = Parameter(t, meta["requires_grad"]) if said["is_param"] else t.requires_grad_(meta["requires_grad"])
        return found
