"""A reader of pickles that runs nothing but a fixed list of constructors (torch.load's `weights_only=True`).

It interprets the opcodes that torch.save writes and refuses all others. What a pickle may name is looked up in a table of
allowed globals; nothing is imported for it.
"""
from __future__ import annotations

import collections
import functools
import pickle
import threading

import _codecs
import _compat_pickle

from ..dropin.names import is_torchshim, to_torch

UnpicklingError = pickle.UnpicklingError
#: Modules whose functions must not be allowed by anyone.
BLOCKED = frozenset(("sys", "os", "posix", "nt"))
_user_allowed: list = []
_local = threading.local()


def global_name(obj):
    """The name by which a pickle calls a class or function, with torch's names for ours."""
    module = to_torch(obj.__module__) if is_torchshim(obj.__module__) else obj.__module__
    return f"{module}.{obj.__qualname__}"


def user_allowed():
    """The globals that the program has allowed, in this thread's contexts too."""
    return _user_allowed + [g for group in getattr(_local, "groups", ()) for g in group]


class allowing:
    """Allow some more globals in a `with` block, for this thread."""

    def __init__(self, safe_globals):
        self.globals = list(safe_globals)

    def __enter__(self):
        _local.groups = [*getattr(_local, "groups", ()), self.globals]

    def __exit__(self, *exc):
        _local.groups = _local.groups[:-1]


def _user_table():
    table = {}
    for g in user_allowed():
        if isinstance(g, tuple):
            if len(g) != 2 or not callable(g[0]) or not isinstance(g[1], str):
                raise ValueError("Expected a tuple (global, str of callable full path)")
            table[g[1]] = g[0]
        else:
            table[global_name(g)] = g
    return table


@functools.cache
def default_table():
    """What every weights-only load may name."""
    from .. import _tensor, _utils
    from ..nn.parameter import Parameter
    from ..tensor.core.device import device
    from ..tensor.core import qscheme
    from ..tensor.core.dtype import ALL
    from ..tensor.core.size import Size
    from ..tensor.core.tensor import Tensor
    from ..tensor.api.storages import NAMED, TypedStorage, UntypedStorage
    from . import _get_layout
    table = {"collections.OrderedDict": collections.OrderedDict, "collections.Counter": collections.Counter,
             "torch.nn.parameter.Parameter": Parameter, "torch.serialization._get_layout": _get_layout, "torch.Size": Size,
             "torch.Tensor": Tensor, "torch._tensor.Tensor": Tensor, "torch.device": device, "_codecs.encode": _codecs.encode,
             "builtins.bytearray": bytearray, "builtins.set": set, "builtins.complex": complex,
             "torch._tensor._rebuild_from_type_v2": _tensor._rebuild_from_type_v2,
             "torch.storage.TypedStorage": TypedStorage, "torch.storage.UntypedStorage": UntypedStorage}
    table.update({f"torch.{n}": d for n, d in ALL.items()})
    table.update({f"torch.{n}": s for n, s in NAMED.items()})
    table.update({f"torch.{s.name}": s for s in (qscheme.per_tensor_affine, qscheme.per_tensor_symmetric, qscheme.per_channel_affine,
                                                 qscheme.per_channel_symmetric, qscheme.per_channel_affine_float_qparams)})
    table.update({f"torch._utils.{n}": f for n, f in vars(_utils).items() if n.startswith("_rebuild")})
    return table


def globals_named(pickled):
    """The names of all globals that a pickle asks for, in order."""
    import pickletools                         # only files need it
    names = []
    for opcode, arg, _ in pickletools.genops(pickled):
        if opcode.name == "GLOBAL":
            names.append(_modern(".".join(arg.split(" ", 1))))
        elif opcode.name in ("INST", "STACK_GLOBAL", "EXT1", "EXT2", "EXT4"):
            raise UnpicklingError(f"unsupported opcode {opcode.name}")
    return names


def _modern(full):
    """A global's name in Python 3: pickles of protocol 2 have those of Python 2."""
    module, _, name = full.partition(".")
    if module in ("__builtin__", "copy_reg"):
        if (module, name) in _compat_pickle.NAME_MAPPING:
            return ".".join(_compat_pickle.NAME_MAPPING[module, name])
        return f"{_compat_pickle.IMPORT_MAPPING[module]}.{name}"
    return full


# torch allows these, too; few files need what they bring with them.
_NESTED = ("torch.nested._internal.nested_tensor.NestedTensor", "torch.nested._internal.nested_tensor._rebuild_njt",
           "torch._dynamo.decorators._DimRange")
_OWN_STATE = (list, set, bytearray, complex)


_KNOWN = frozenset("PROTO GLOBAL NEWOBJ REDUCE BUILD APPEND APPENDS SETITEM SETITEMS MARK TUPLE TUPLE1 TUPLE2 TUPLE3 NONE NEWFALSE NEWTRUE "
                   "EMPTY_TUPLE EMPTY_LIST EMPTY_DICT EMPTY_SET BININT BININT1 BININT2 BINFLOAT BINUNICODE LONG1 SHORT_BINSTRING BINPERSID "
                   "BINGET LONG_BINGET BINPUT LONG_BINPUT STOP".split())


def _opcodes(file):
    """(name, argument) of each opcode of a pickle. An unknown one is refused before its argument is read."""
    from pickletools import code2op            # only files need it
    while True:
        code = file.read(1)
        if not code:
            raise EOFError
        opcode = code2op.get(code.decode("latin-1"))
        if opcode is None or opcode.name not in _KNOWN:
            raise UnpicklingError(f"Unsupported operand {ord(code)}")
        yield opcode.name, None if opcode.arg is None else opcode.arg.reader(file)


class Unpickler:
    """Reads one pickle from `file`. `persistent_load` resolves storages; `overrides` maps global names to what stands for them."""

    def __init__(self, file, persistent_load, overrides, encoding="bytes"):
        self.file, self.persistent_load, self.encoding = file, persistent_load, encoding
        self.allowed = {**default_table(), **overrides}

    @functools.cached_property
    def users(self):
        """What the user allows, looked at when something else than the default is met."""
        return _user_table()

    def find(self, full):
        """The object behind a global's name, or an UnpicklingError that says how to allow it."""
        full = _modern(full)
        found = self.allowed.get(full)
        if found is None:
            found = self.users.get(full)
        if full.partition(".")[0] in BLOCKED:
            raise UnpicklingError(f"Trying to load unsupported GLOBAL {full} whose module {full.partition('.')[0]} is blocked.")
        if found is None and full in _NESTED:
            from .pickling import find_torch
            module, _, name = full.rpartition(".")
            found = self.users[full] = find_torch(module, name)
        if found is None:
            shown = full.removeprefix("builtins.")
            raise UnpicklingError(
                f"Unsupported global: GLOBAL {shown} was not an allowed global by default. Please use "
                f"`torch.serialization.add_safe_globals([{shown}])` or the `torch.serialization.safe_globals([{shown}])` context manager "
                "to allowlist this global if you trust this class/function.")
        return found

    def load(self):
        """The object that the pickle holds."""
        stack, marks, memo = [], [], {}
        allowed_values = None

        def to_mark():
            nonlocal stack
            items, stack = stack, marks.pop()
            return items

        def allows(value):
            nonlocal allowed_values
            if allowed_values is None:
                allowed_values = {id(v) for v in self.allowed.values()}
            return id(value) in allowed_values or any(value is v for v in self.users.values())
        try:
            for name, arg in _opcodes(self.file):
                if name == "PROTO":
                    if arg != 2:
                        import warnings
                        warnings.warn(f"Detected pickle protocol {arg} in the checkpoint, which was not the default pickle protocol used "
                                      "by `torch.load` (2). The weights_only Unpickler might not support all instructions implemented by "
                                      "this protocol, please file an issue for adding support if you encounter this.", UserWarning,
                                      stacklevel=4)
                elif name == "GLOBAL":
                    stack.append(self.find(".".join(arg.split(" ", 1))))
                elif name == "NEWOBJ":
                    args, cls = stack.pop(), stack.pop()
                    if not allows(cls):
                        raise UnpicklingError(f"Can not create new object for {cls}, only allowlisted constructors are allowed.")
                    from ..tensor.core.tensor import Tensor
                    made = cls.__new__(cls, *args)
                    if cls in _OWN_STATE or isinstance(made, Tensor):
                        made.__init__(*args)
                    stack.append(made)
                elif name == "REDUCE":
                    args, f = stack.pop(), stack.pop()
                    if not allows(f):
                        raise UnpicklingError(f"Trying to call reduce for unrecognized function {f}")
                    stack.append(f(*args))
                elif name == "BUILD":
                    self.build(stack[-2], stack.pop())
                elif name in ("APPEND", "APPENDS"):
                    items = [stack.pop()] if name == "APPEND" else to_mark()
                    if type(stack[-1]) is not list:
                        raise UnpicklingError(f"Can only append to lists, but got {type(stack[-1])}")
                    stack[-1].extend(items)
                elif name in ("SETITEM", "SETITEMS"):
                    items = [stack.pop(-2), stack.pop()] if name == "SETITEM" else to_mark()
                    if type(stack[-1]) not in (dict, collections.OrderedDict, collections.Counter) and not allows(type(stack[-1])):
                        raise UnpicklingError(f"Can only SETITEMS for dict, collections.OrderedDict, collections.Counter, but got "
                                              f"{type(stack[-1])}")
                    for k in range(0, len(items), 2):
                        stack[-1][items[k]] = items[k + 1]
                elif name == "MARK":
                    marks.append(stack)
                    stack = []
                elif name == "TUPLE":
                    items = to_mark()
                    stack.append(tuple(items))
                elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
                    n = int(name[-1])
                    stack[-n:] = [tuple(stack[-n:])]
                elif name == "NONE":
                    stack.append(None)
                elif name == "NEWFALSE":
                    stack.append(False)
                elif name == "NEWTRUE":
                    stack.append(True)
                elif name == "EMPTY_TUPLE":
                    stack.append(())
                elif name == "EMPTY_LIST":
                    stack.append([])
                elif name == "EMPTY_DICT":
                    stack.append({})
                elif name == "EMPTY_SET":
                    stack.append(set())
                elif name in ("BININT", "BININT1", "BININT2", "BINFLOAT", "BINUNICODE", "LONG1"):
                    stack.append(arg)
                elif name == "SHORT_BINSTRING":
                    raw = arg.encode("latin1")
                    stack.append(raw if self.encoding == "bytes" else raw.decode(self.encoding))
                elif name == "BINPERSID":
                    pid = stack.pop()
                    if type(pid) is not tuple and type(pid) is not int or type(pid) is tuple and pid and type(pid[0]) is tuple:
                        raise UnpicklingError(f"persistent_load id must be tuple or int, but got {type(pid)}")
                    if type(pid) is tuple and pid and pid[0] != "storage":
                        raise UnpicklingError(f"Only persistent_load of storage is allowed, but got {pid[0]}")
                    stack.append(self.persistent_load(pid))
                elif name in ("BINGET", "LONG_BINGET"):
                    stack.append(memo[arg])
                elif name in ("BINPUT", "LONG_BINPUT"):
                    if arg < 0:
                        raise UnpicklingError("negative argument")
                    memo[arg] = stack[-1]
                elif name == "STOP":
                    return stack.pop()
        except (IndexError, KeyError, ValueError, UnicodeError, OverflowError) as error:
            if isinstance(error, UnpicklingError):
                raise
            if isinstance(error, ValueError) and ("remain" in str(error) or "exhausted" in str(error) or "not enough data" in str(error)):
                raise EOFError("the pickle ends too early; the file might be corrupted") from error
            raise UnpicklingError(f"the pickle is damaged: {type(error).__name__} {error}") from error
        raise EOFError

    def build(self, inst, state):
        """Give `inst` its state, where that can run nothing that is not allowed."""
        from ..nn.parameter import Parameter
        from ..tensor.core.tensor import Tensor
        if type(inst) in (Tensor, Parameter):
            if not isinstance(state, tuple):
                raise UnpicklingError(f"Can only build Tensor from a tuple, but got {type(state)}")
            raise UnpicklingError("tensors saved by PyTorch before 0.2 are not supported")
        if type(inst) is collections.OrderedDict:
            inst.__dict__.update(state)
            return
        if id(type(inst)) in {id(v) for v in self.users.values()}:
            if hasattr(inst, "__setstate__"):
                inst.__setstate__(state)
                return
            attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
            for k, v in (attributes or {}).items():
                inst.__dict__[k] = v
            for k, v in (slots or {}).items():
                setattr(inst, k, v)
            return
        raise UnpicklingError(f"Can only build Tensor, Parameter, OrderedDict or types allowlisted via `add_safe_globals`, but got "
                              f"{type(inst)}")
