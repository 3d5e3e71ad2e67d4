"""What `script` and `trace` make of a module: a module of their own class, with the parameters and buffers of the one that was given.

Nothing is compiled. The code that runs is Python's, of a copy that shares the tensors: what is set here (training, attributes) does not
change the module that was given, as in torch.
"""
from __future__ import annotations

import copy
import io
import types
import typing

from ..dropin import missing_attribute as _missing_attribute
from ..nn import Module, Parameter
from ..nn.modules.module import NoTorchScript, scripted

TORCHSCRIPT = {"code", "code_with_constants", "graph", "graph_for", "inlined_graph", "_c"}


class Attribute(typing.NamedTuple):
    """A value for an attribute of a module, with its type: scripting puts the value there."""
    value: typing.Any
    type: typing.Any


class ScriptModule(Module):
    """A base for modules whose methods are `script_method`s: an ordinary module."""

    def __setattr__(self, name, value):
        super().__setattr__(name, value.value if isinstance(value, Attribute) else value)

    def __getattr__(self, name):
        if name in TORCHSCRIPT:
            raise NoTorchScript(f"torchshim: .{name} of a scripted or traced module; there is no TorchScript here, and the module's code is "
                                "Python's (torch.jit.save keeps it)", name=name, obj=self)
        return super().__getattr__(name)

    def save(self, f, _extra_files=None):
        """Write the module for `load`."""
        from . import save
        save(self, f, _extra_files)

    def save_to_buffer(self, _extra_files=None):
        """The bytes that `save` writes."""
        out = io.BytesIO()
        self.save(out, _extra_files)
        return out.getvalue()

    def register_full_backward_hook(self, hook, prepend=False):
        """Refused: in torch a script module's attributes keep their types, and this one is None."""
        raise RuntimeError("Could not cast attribute '_is_full_backward_hook' to type NoneType: Cannot cast True to None")

    def register_backward_hook(self, hook):
        """Refused for the same reason."""
        raise RuntimeError("Could not cast attribute '_is_full_backward_hook' to type NoneType: Cannot cast False to None")


_OWN = frozenset(vars(Module())) - {"training"} | {"_code"}


class Standing(ScriptModule):
    """A module for another one, `_code`, whose tensors and attributes it has."""

    def __init__(self, code, parts):
        Module.__init__(self)
        d = self.__dict__
        del d["training"]
        d["_code"] = code
        for table in ("_parameters", "_buffers", "_non_persistent_buffers_set"):
            d[table] = code.__dict__[table]
        for name, m in code._modules.items():
            d["_modules"][name] = m if m is None or isinstance(m, ScriptModule) else parts(m)
        for name, value in code.__dict__.items():
            if isinstance(value, Attribute):
                code.__dict__[name] = value.value

    @property
    def forward(self):
        """What the module computes, with its hooks."""
        code = self._code
        return code if code._forward_hooks or code._forward_pre_hooks else code.forward

    def __getattr__(self, name):
        if name in TORCHSCRIPT:
            return super().__getattr__(name)
        d = self.__dict__
        for table in ("_modules", "_parameters", "_buffers"):
            if name in d.get(table, ()):
                return d[table][name]
        if "_code" in d and not name.startswith("__"):
            try:
                return getattr(d["_code"], name)
            except AttributeError:
                pass
        raise AttributeError(f"'RecursiveScriptModule' object has no attribute '{name}'", name=name, obj=self)

    def __setattr__(self, name, value):
        if name in _OWN:
            object.__setattr__(self, name, value)
            return
        value = value.value if isinstance(value, Attribute) else value
        setattr(self._code, name, value)
        if isinstance(value, Module):
            self._modules[name] = value if isinstance(value, ScriptModule) else type(self)._part(value)

    def __delattr__(self, name):
        delattr(self._code, name)
        self._modules.pop(name, None)

    def __dir__(self):
        return sorted({*super().__dir__(), *dir(self._code)})

    @property
    def original_name(self):
        """The name of the class that was scripted or traced."""
        return type(self._code).__name__

    def extra_repr(self):
        """The name of the class that was scripted or traced."""
        return f"original_name={self.original_name}"

    def __reduce_ex__(self, protocol):
        """As in torch such a module is not pickled: RuntimeError."""
        from .modifiers import _qualified_name
        raise RuntimeError(f"Tried to serialize object {_qualified_name(type(self._code))} which does not have a __getstate__ method defined!")

    def __copy__(self):
        return _noted(type(self)(copy.copy(self._code)))

    def __deepcopy__(self, memo):
        made = memo[id(self)] = _noted(type(self)(copy.deepcopy(self._code, memo)))
        return made


class RecursiveScriptModule(Standing):
    """What `script` makes of a module."""

    def __init__(self, code):
        super().__init__(code, RecursiveScriptModule)

    @classmethod
    def _part(cls, m):
        return cls(m)

    def __iter__(self):
        return iter(self._code)

    def __len__(self):
        return len(self._code)

    def __getitem__(self, k):
        return self._code[k]

    def __contains__(self, key):
        return key in self._code

    def __bool__(self):
        return True


def _refused(name):
    def refuse(self, *args, **kwargs):
        raise RuntimeError(f"{name} is not supported on ScriptModules")
    refuse.__doc__ = "Refused, as in torch."
    refuse.__name__ = name
    return refuse


for _name in ("get_submodule set_submodule get_parameter get_buffer ipu xpu mtia bfloat16 to_empty register_full_backward_pre_hook "
              "register_backward_hook register_full_backward_hook register_forward_pre_hook register_forward_hook "
              "register_state_dict_post_hook register_state_dict_pre_hook register_load_state_dict_pre_hook "
              "register_load_state_dict_post_hook requires_grad_ compile").split():
    setattr(RecursiveScriptModule, _name, _refused(_name))


class Frozen(RecursiveScriptModule):
    """What `freeze` makes of a module: its tensors are constants, and of its attributes only those to be kept (`_ts_keeps`) are there."""

    def __init__(self, code):
        super().__init__(code)
        for table in ("_parameters", "_buffers", "_modules"):
            self.__dict__[table] = {}
        self._show()

    def _show(self):
        code = self._code
        for name in code._ts_keeps:
            for table in ("_parameters", "_buffers"):
                if name in code.__dict__[table]:
                    self.__dict__[table][name] = code.__dict__[table][name]
            if name in code._modules:
                m = code._modules[name]
                self._modules[name] = m if isinstance(m, ScriptModule) else RecursiveScriptModule(m)

    def __getattr__(self, name):
        if name in TORCHSCRIPT or name in self._code._ts_keeps:
            return super().__getattr__(name)
        raise AttributeError(f"'RecursiveScriptModule' object has no attribute '{name}'", name=name, obj=self)

    def __setattr__(self, name, value):
        if name == "training":                 # which the code does not ask any more
            object.__setattr__(self, name, value)
            return
        super().__setattr__(name, value)
        self._show()

    @property
    def original_name(self):
        """The name of the class that was scripted or traced."""
        return self._code.original_name if isinstance(self._code, ScriptModule) else type(self._code).__name__


Frozen.__name__ = "RecursiveScriptModule"


def frozen_module(module, keeps):
    """A scripted or traced module, frozen; the memory of its tensors is shared. RuntimeError for a name to keep that it has not."""
    for name in keeps:
        if not hasattr(module, name):
            raise RuntimeError(f"Unknown name: {name}")
    kept = [getattr(module, name) for name in keeps]
    kept = {id(t) for x in kept for t in ((*x.parameters(), *x.buffers()) if isinstance(x, Module) else (x,))}
    code = module._code if isinstance(module, Standing) else module
    memo = {id(t): t if id(t) in kept else Parameter(t, False) if isinstance(t, Parameter) else t.detach()
            for t in (*code.parameters(), *code.buffers())}
    code = copy.deepcopy(code, memo)
    code.__dict__["_ts_keeps"] = tuple(keeps)
    return _noted(Frozen(code))


def _noted(made):
    scripted.add(made)
    return made


def _holds(value, module):
    """Whether a function that is an attribute of a module was made for it: it would go on to work with that one."""
    f, seen = value, 0
    while f is not None and seen < 10:
        cells = [c.cell_contents for c in getattr(f, "__closure__", None) or () if c != types.CellType()]
        cells += [*getattr(f, "args", ())] if hasattr(f, "func") else []
        if any([x is module or getattr(x, "__self__", None) is module for x in cells]):
            return True
        f, seen = getattr(f, "__wrapped__", None), seen + 1
        if getattr(f, "__self__", None) is module:
            return True
    return False


def _copied(module):
    """A copy with the same tensors; the module itself where its parts can't be told from it."""
    for m in module.modules():
        if any([callable(v) and not isinstance(v, (Module, type)) and _holds(v, m) for v in vars(m).values()]):
            return module
    tensors = [t for m in module.modules() for t in (*m._parameters.values(), *m._buffers.values()) if t is not None]
    try:
        made = copy.deepcopy(module, {id(t): t for t in tensors})
    except Exception:                          # some attribute is one that can't be copied
        return module
    return made if type(made) is type(module) else module


def scripted_module(module, cls=RecursiveScriptModule):
    """The module as `script` (or with another class `trace`) gives it."""
    if "_ts_keeps" in module.__dict__:         # read from a file of a frozen one
        return _noted(Frozen(module))
    return module if isinstance(module, ScriptModule) else _noted(cls(_copied(module)))


__getattr__ = _missing_attribute(__name__)
