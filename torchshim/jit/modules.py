"""Modules read from TorchScript archives, and the archives."""
from __future__ import annotations

import copy
import copyreg
import io
import os
import pickle
import types

from .. import Tensor, serialization as files
from ..nn import Module, Parameter, functional
from ..serialization.archive import Reader, Writer, replacing
from ..serialization.pickling import Translating
from ..serialization.weights_only import Unpickler, UnpicklingError, global_name, globals_named
from . import _pickle
from ._script import ScriptModule, Standing, scripted_module
from .language import Broken, Object, Program

_TAGS = {f"torch.jit._pickle.{n}": f for n, f in vars(_pickle).items() if isinstance(f, types.FunctionType) and n.startswith(("build_",
    "restore_"))}
#: A record that says that an archive holds a module as `torch.save` writes it.
_OURS = "torchshim_module"


class LoadedModule(ScriptModule):
    """A module of an archive: its parameters, buffers and submodules are a Module's, its methods come from the archive's source."""

    _qualified = ""
    _methods: dict = {}
    _names = frozenset()

    def _take(self, state):
        """Become what the archive's pickle says."""
        Module.__init__(self)
        cls = type(self)
        for name, value in state.items():
            if name == "training":
                self.training = value
            elif isinstance(value, Module):
                self._modules[name] = value
            elif name in cls._parameter_names and (value is None or isinstance(value, Tensor)):
                if value is not None and type(value) is Tensor:
                    value.__class__ = Parameter    # in place: a list of the module's may hold the same tensor
                self._parameters[name] = value
            elif name in cls._buffer_names and (value is None or isinstance(value, Tensor)):
                self._buffers[name] = value
            else:
                self.__dict__[name] = value

    def _has(self, name):
        return (name in type(self)._names or name in self._parameters or name in self._buffers or name in self._modules
                or name in ("training",))

    def __reduce_ex__(self, protocol):
        """NotImplementedError: the archive is the file format of such modules."""
        raise pickle.PickleError("ScriptModules cannot be deepcopied using copy.deepcopy or saved using torch.save. Mixed serialization of "
                                 "script and non-script modules is not supported. For purely script modules use my_script_module.save("
                                 "<filename>) instead.")

    def __deepcopy__(self, memo):
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        from copy import deepcopy
        made.__dict__.update({k: deepcopy(v, memo) for k, v in self.__dict__.items()})
        return made

    def copy(self):
        """A copy with memory of its own."""
        from copy import deepcopy
        return deepcopy(self)

    def _get_name(self):
        return "RecursiveScriptModule"

    def extra_repr(self):
        """The name of the class that was scripted or traced."""
        return f"original_name={self.original_name}"

    @property
    def original_name(self):
        """The name of the class that was scripted or traced."""
        return self._qualified.rpartition(".")[2]

    @property
    def code(self):
        """The source of `forward`."""
        return self._sources.get("forward", "")

    def save(self, f, _extra_files=None):
        """Write the archive with the parameters, buffers and attributes of now."""
        save(self, f, _extra_files)


def _class(path, node, methods, constants, names, program):
    """The Python class for a class of modules in an archive."""
    import ast
    told = {n.targets[0].id: ast.literal_eval(n.value) for n in node.body
            if isinstance(n, ast.Assign) and isinstance(n.targets[0], ast.Name) and n.targets[0].id in ("__parameters__", "__buffers__")}
    source = program.units(path.rpartition(".")[0].replace(".", "/") + ".py")[""]
    sources = {n.name: ast.get_source_segment(source, n) + "\n" for n in node.body if isinstance(n, ast.FunctionDef)}
    space = {**constants, **methods, "_qualified": path, "_program": program, "_sources": sources, "_names": frozenset(names),
             "_parameter_names": frozenset(told.get("__parameters__", ())), "_buffer_names": frozenset(told.get("__buffers__", ())),
             "__module__": "torch.jit._script"}
    return type("RecursiveScriptModule", (LoadedModule,), space)


class _Reading(Unpickler):
    """A weights-only unpickler that makes the archive's own objects too."""

    def build(self, inst, state):
        if isinstance(inst, (LoadedModule, Object)):
            restore = type(inst).__dict__.get("__setstate__")
            if restore is not None:
                if isinstance(inst, Module):
                    Module.__init__(inst)
                restore(inst, state)
            elif isinstance(inst, LoadedModule):
                inst._take(state)
            else:
                inst.__dict__.update(state)
            return
        super().build(inst, state)


class _Parts:
    """An archive's storages below a folder of their own."""

    def __init__(self, archive, folder, restore):
        self.archive, self.folder = archive, folder
        self.inner = files._Zipped(self, restore, False)

    def has(self, name):
        return self.archive.has(self._there(name))

    def read(self, name):
        return self.archive.read(self._there(name))

    def _there(self, name):
        return name.replace("data/", f"{self.folder}/", 1) if name.startswith("data/") else name


def _pickled(archive, name, folder, restore, program):
    data = archive.read(name)
    known = dict(_TAGS)
    if program is not None:
        for g in globals_named(data):
            if g.startswith("__torch__."):
                known[g] = program.resolve(g)
    return _Reading(io.BytesIO(data), _Parts(archive, folder, restore).inner.persistent_load, known, "utf-8").load()


def _at_hand(names):
    """Of the globals of these names the classes of modules, and nn.functional's functions: nothing is imported for a file."""
    def classes(of):
        for c in of.__subclasses__():
            yield c
            yield from classes(c)
    functions = [f for f in vars(functional).values() if isinstance(f, types.FunctionType)]
    wanted = set(names)
    return [g for g in [Module, *classes(Module), *functions] if global_name(g) in wanted]


def load(f, map_location=None, _extra_files=None, _restore_shapes=False):
    """A module from an archive that `torch.jit.save` wrote, in PyTorch or here.

    PyTorch's holds source in TorchScript, which is computed with this library's operators; it can do nothing else. What it asks for and
    torchshim lacks raises NotImplementedError at this call. One that torchshim wrote holds a module as `torch.save` writes it: it is made
    of classes of modules that the program has defined or imported already, and of what a weights-only load takes; UnpicklingError for
    others. f: a path or a file object; _extra_files: a dict whose values are filled in. ValueError for a path where nothing is,
    RuntimeError for damaged files.
    """
    if isinstance(f, (str, os.PathLike)):
        if not os.path.exists(f):
            raise ValueError(f"The provided filename {os.fspath(f)} does not exist")
        if os.path.isdir(f):
            raise ValueError(f"The provided filename {os.fspath(f)} is a directory")
    with files._opened(f, "rb") as file:
        data = io.BytesIO(file.read())
    archive, restore = Reader(data), files._restore_location(map_location)
    for name in _extra_files or ():
        if archive.has(f"extra/{name}"):
            _extra_files[name] = archive.read(f"extra/{name}")
    if archive.has(_OURS):
        data.seek(0)
        with files.safe_globals(_at_hand(files.get_unsafe_globals_in_checkpoint(data))):
            data.seek(0)
            return scripted_module(files.load(data, map_location, weights_only=True))
    if not archive.has("constants.pkl"):
        raise RuntimeError("PytorchStreamReader failed locating file constants.pkl: file not found")

    def source(path):
        return archive.read(f"code/{path}").decode() if archive.has(f"code/{path}") else None
    try:
        program = Program(source, (), _class)
        program.archive = archive
        program.constants = _pickled(archive, "constants.pkl", "constants", restore, program)
        return _pickled(archive, "data.pkl", "data", restore, program)
    except UnpicklingError as error:
        raise Broken(f"torchshim: the TorchScript archive is damaged: {error}") from error


class _Naming(Translating):
    """Writes the archive's classes under their names there."""

    def save_global(self, obj, name=None):
        if isinstance(obj, type) and issubclass(obj, LoadedModule):
            home, _, last = obj._qualified.rpartition(".")
            self.write(pickle.GLOBAL + f"{home}\n{last}\n".encode())
            self.memoize(obj)
        else:
            super().save_global(obj, name)

    def save_type(self, obj):
        return self.save_global(obj) if issubclass(obj, LoadedModule) else super().save_type(obj)

    def __init__(self, *args):
        super().__init__(*args)
        self.seen = {}

    def reducer_override(self, obj):
        if isinstance(obj, LoadedModule):
            state = {"training": obj.training, **{k: v for k, v in obj.__dict__.items() if k in type(obj)._names and k != "training"},
                     **obj._parameters, **obj._buffers, **obj._modules}
            return copyreg.__newobj__, (type(obj),), {k: _plain(v, self.seen) for k, v in state.items()}
        return NotImplemented

    dispatch = {**Translating.dispatch, type: save_type}


class _Tagged:
    """A list that says what its elements are."""

    def __init__(self, tag, values):
        self.tag, self.values = tag, values

    def __reduce__(self):
        return self.tag, (self.values,)


def _plain(v, seen):
    """A value as TorchScript's pickles have it: parameters as tensors, lists of numbers or tensors with their tag. `seen` keeps what is
    shared so."""
    if isinstance(v, Parameter):
        if id(v) not in seen:
            seen[id(v)] = v.detach().requires_grad_(v.requires_grad)
        return seen[id(v)]
    if type(v) is list and v:
        for kind, tag in ((bool, _pickle.build_boollist), (int, _pickle.build_intlist), (float, _pickle.build_doublelist),
                          (Tensor, _pickle.build_tensorlist)):
            if all([isinstance(x, kind) for x in v]):
                return _Tagged(tag, [_plain(x, seen) for x in v])
    return v


def plain(m):
    """The module whose code a scripted or traced one runs, without such in its parts."""
    if isinstance(m, Standing):
        m = m._code
    if any([isinstance(part, Standing) for part in m.modules()]):
        made = copy.copy(m)
        made.__dict__["_modules"] = {name: None if part is None else plain(part) for name, part in m._modules.items()}
        return made
    return m


def save(m, f, _extra_files=None):
    """Write a module that `torch.jit.load` reads here.

    One that came from a TorchScript archive is written as such, for PyTorch too; any other as `torch.save` writes it, which only
    torchshim reads, where the module's class can be imported.
    """
    if not isinstance(m, Module):
        raise NotImplementedError("torchshim: torch.jit.save of a function; there is no TorchScript here")
    if isinstance(f, (str, os.PathLike)):
        with replacing(os.fspath(f)) as file:
            _write(m, file, os.path.splitext(os.path.basename(os.fspath(f)))[0] or "archive", _extra_files)
    else:
        _write(m, f, "archive", _extra_files)


def _write(m, file, stem, extra):
    storages, out = files._Storages(), io.BytesIO()

    def persistent_id(x):
        entry = storages.entry(x)
        return None if entry is None else ("storage", *entry)
    ours = not isinstance(m, LoadedModule)
    if ours:
        m = plain(m)
    writing = (Translating if ours else _Naming)(out, 2)
    writing.persistent_id = persistent_id
    writing.dump(m)
    with Writer(file, stem) as archive:
        archive.write("data.pkl", out.getbuffer())
        archive.write("byteorder", b"little")
        for key, storage in enumerate(storages.in_order):
            archive.write(f"data/{key}", files._numbers(storage))
        if ours:
            archive.write(_OURS, b"1")
        else:
            old = m._program.archive
            for name in old.zip.namelist():
                name = name.removeprefix(f"{old.stem}/")
                if name.startswith(("code/", "constants")):
                    archive.write(name, old.read(name))
        for name, data in (extra or {}).items():
            archive.write(f"extra/{name}", data.encode() if isinstance(data, str) else data)
