"""Module: parameters, buffers and submodules by name, and a call."""
from __future__ import annotations

import types
import typing
import weakref
from collections import OrderedDict

from ...engine import warn
from ...tensor.core.tensor import Tensor
from ...utils.hooks import BackwardHook
from ..parameter import Buffer, Parameter
from . import _hooks
from ._conversion import Conversion
from ._state import EXTRA_STATE as _EXTRA_STATE_KEY_SUFFIX, State, _IncompatibleKeys  # noqa: F401  loaders of checkpoints ask for the key

_set = object.__setattr__
_global_forward_pre_hooks: dict = OrderedDict()         # hooks for every module, under torch's names: tests and libraries replace them
_global_forward_hooks: dict = OrderedDict()
_global_forward_hooks_with_kwargs: dict = {}
_global_forward_hooks_always_called: dict = {}
_global_backward_pre_hooks: dict = OrderedDict()
_global_backward_hooks: dict = OrderedDict()
_global_is_full_backward_hook = None                    # of which kind the hooks in _global_backward_hooks are
_global_buffer_registration_hooks: dict = OrderedDict()
_global_module_registration_hooks: dict = OrderedDict()
_global_parameter_registration_hooks: dict = OrderedDict()
_PLAIN = {"float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "int64": "Long", "int32": "Int",
          "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool", "complex64": "ComplexFloat", "complex128": "ComplexDouble"}


def typename(x):
    """A type as torch's errors name it."""
    if isinstance(x, Tensor):
        if type(x) is Tensor:
            return f"torch.{_PLAIN.get(x._ts_meta.dtype.name, '')}Tensor"
        return f"torch.{type(x).__name__}"
    cls = type(x)
    return cls.__qualname__ if cls.__module__ in ("builtins", None) else f"{cls.__module__}.{cls.__qualname__}"


def _named(x):
    """The same of something that may be a class or a function: its own name then."""
    if isinstance(x, Tensor) or not hasattr(x, "__qualname__"):
        return x.__name__ if isinstance(x, types.ModuleType) else x.type() if isinstance(x, Tensor) else typename(x)
    return x.__qualname__ if x.__module__ in ("builtins", None) else f"{x.__module__}.{x.__qualname__}".replace("torchshim.", "torch.")


def _addindent(text, n):
    first, *rest = text.split("\n")
    return "\n".join([first] + [" " * n + line for line in rest])


scripted = weakref.WeakSet()                   # the modules that torch.jit made


T_destination = typing.TypeVar("T_destination", bound=dict)


#: Where functions lie that are builtin in torch: as attributes of a class those do not become methods, and no function of Python.
_BUILTIN = tuple([base + part for base in ("torch", "torchshim") for part in ("", ".linalg", ".special", ".fft")])


def _is_builtin(f):
    """Whether torch has no Python function in the place of `f`."""
    if f.__class__ is not types.FunctionType or f.__module__ not in _BUILTIN:
        return False
    from ... import functional
    return getattr(functional, f.__name__, None) is not f


class NoTorchScript(AttributeError, NotImplementedError):
    """What a module would have if torch.jit had compiled it."""


class Module(State, Conversion):
    """Base class of all neural network modules.

    Parameters, buffers and modules assigned as attributes are registered under their names; a subclass defines `forward`.
    """

    dump_patches = False
    T_destination = T_destination
    training: bool
    call_super_init = False

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        for name, f in [*vars(cls).items()]:
            if _is_builtin(f):                 # `activation = torch.tanh`
                setattr(cls, name, staticmethod(f))

    def __init__(self, *args, **kwargs):
        if not self.call_super_init and kwargs:
            raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
        if not self.call_super_init and args:
            raise TypeError(f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given")
        d = self.__dict__
        d["training"] = True
        d["_parameters"], d["_buffers"], d["_non_persistent_buffers_set"] = {}, {}, set()
        d["_backward_pre_hooks"], d["_backward_hooks"], d["_is_full_backward_hook"] = OrderedDict(), OrderedDict(), None
        for name in ("_forward_hooks", "_forward_hooks_with_kwargs", "_forward_hooks_always_called", "_forward_pre_hooks",
                     "_forward_pre_hooks_with_kwargs", "_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks",
                     "_load_state_dict_post_hooks"):
            d[name] = OrderedDict()
        d["_modules"] = {}
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def forward(self, *input):
        """What the module computes; subclasses define it."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    # -- registration -------------------------------------------------------------------------------------------------
    def _check_name(self, kind, name, table):
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."' + (f", got: {name}" if kind == "module" else ""))
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in table:
            raise KeyError(f"attribute '{name}' already exists")

    def register_buffer(self, name, tensor, persistent=True):
        """Add a tensor that is state but not trained; persistent: whether the state_dict holds it."""
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name("buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)")
        self._buffers[name] = _hooks.run_registration(_global_buffer_registration_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name, param):
        """Add a Parameter (or None)."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name("parameter", name, self._parameters)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)")
            if param.grad_fn is not None:
                raise ValueError(f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. "
                                 f"To express '{name}' as a function of another Tensor, compute the value in the forward() method.")
            param = _hooks.run_registration(_global_parameter_registration_hooks, self, name, param)
        self._parameters[name] = param

    def add_module(self, name, module):
        """Add a submodule (or None)."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{_named(module)} is not a Module subclass")
        self._check_name("module", name, self._modules)
        self._modules[name] = _hooks.run_registration(_global_module_registration_hooks, self, name, module)

    def register_module(self, name, module):
        """As add_module."""
        self.add_module(name, module)

    def __getattr__(self, name):
        d = self.__dict__
        table = d.get("_parameters")
        if table is not None and name in table:
            return table[name]
        table = d.get("_buffers")
        if table is not None and name in table:
            return table[name]
        table = d.get("_modules")
        if table is not None and name in table:
            return table[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)

    def __setattr__(self, name, value):
        d = self.__dict__
        params, modules, buffers = d.get("_parameters"), d.get("_modules"), d.get("_buffers")
        if isinstance(value, Parameter):
            if params is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, d, buffers, modules, self._non_persistent_buffers_set)
            self.register_parameter(name, value)
        elif params is not None and name in params:
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, d, params, buffers, self._non_persistent_buffers_set)
            modules[name] = _hooks.run_registration(_global_module_registration_hooks, self, name, value)
        elif modules is not None and name in modules:
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None expected)")
            modules[name] = _hooks.run_registration(_global_module_registration_hooks, self, name, value)
        elif isinstance(value, Buffer) or buffers is not None and name in buffers:
            if buffers is None:
                raise AttributeError("cannot assign buffer before Module.__init__() call")
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)")
            if name in buffers:
                persistent = value.persistent if isinstance(value, Buffer) else name not in self._non_persistent_buffers_set
            else:
                self._forget(name, d, params, modules)
                persistent = value.persistent
            if name in buffers and not isinstance(value, Buffer):
                buffers[name] = _hooks.run_registration(_global_buffer_registration_hooks, self, name, value)
            else:
                self.register_buffer(name, value, persistent)
        else:
            _set(self, name, value)

    @staticmethod
    def _forget(name, *tables):
        for table in tables:
            if table is None or name not in table:
                continue
            if isinstance(table, dict):
                del table[name]
            else:
                table.discard(name)

    def __delattr__(self, name):
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            super().__delattr__(name)

    def __dir__(self):
        names = dir(type(self)) + list(self.__dict__) + list(self._parameters) + list(self._modules) + list(self._buffers)
        return sorted(n for n in names if not n[0].isdigit())

    def __setstate__(self, state):
        self.__dict__.update(state)
        for name in ("_forward_hooks", "_forward_hooks_with_kwargs", "_forward_hooks_always_called", "_forward_pre_hooks",
                     "_forward_pre_hooks_with_kwargs", "_state_dict_hooks", "_state_dict_pre_hooks", "_load_state_dict_pre_hooks",
                     "_load_state_dict_post_hooks", "_backward_pre_hooks", "_backward_hooks"):
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    def __getstate__(self):
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        if hasattr(state.get("forward"), "_torchdynamo_graphs"):       # see `compile`
            del state["forward"]
        return state

    # -- the call -----------------------------------------------------------------------------------------------------
    def __call__(self, *args, **kwargs):
        d = self.__dict__
        if not (d["_forward_hooks"] or d["_forward_pre_hooks"] or d["_backward_hooks"] or d["_backward_pre_hooks"]
                or _global_forward_hooks or _global_forward_pre_hooks or _global_backward_hooks or _global_backward_pre_hooks):
            call = self.forward
        else:
            call = self._call_hooked
            args, kwargs = (args, kwargs), {}
        try:
            return call(*args, **kwargs)
        except Exception as error:
            if not scripted or self not in scripted:
                raise
            from ...jit.errors import retold
            made = retold(error, "forward", (call, args, kwargs))
            if made is error:
                raise
            raise made from None

    def _call_impl(self, *args, **kwargs):
        return Module.__call__(self, *args, **kwargs)

    _wrapped_call_impl = _call_impl

    def _call_hooked(self, args, kwargs):
        called = set()
        try:
            return self._with_hooks(args, kwargs, called)
        except Exception:
            # hooks with always_call run even now; their errors are only warned about
            always = [(k, h, k in _global_forward_hooks_with_kwargs) for k, h in _global_forward_hooks.items()
                      if k in _global_forward_hooks_always_called]
            always += [(k, h, k in self._forward_hooks_with_kwargs) for k, h in self._forward_hooks.items()
                       if k in self._forward_hooks_always_called]
            for k, hook, with_kwargs in always:
                if k not in called:
                    try:
                        hook(self, args, kwargs, None) if with_kwargs else hook(self, args, None)
                    except Exception as error:
                        warn("module forward hook with ``always_call=True`` raised an exception that was silenced as "
                             f"another error was raised in forward: {error}")
            raise

    def _with_hooks(self, args, kwargs, called):
        for k, hook in (*_global_forward_pre_hooks.items(), *self._forward_pre_hooks.items()):
            if k in self._forward_pre_hooks_with_kwargs:
                r = hook(self, args, kwargs)
                if r is not None:
                    if not (isinstance(r, tuple) and len(r) == 2):
                        raise RuntimeError(f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {r}.")
                    args, kwargs = r
            else:
                r = hook(self, args)
                if r is not None:
                    args = r if isinstance(r, tuple) else (r,)
        full, old = _backward_hooks_of(self)
        pre = [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]
        watch = BackwardHook(self, full, pre) if full or pre else None
        if watch is not None:
            args = watch.setup_input_hook(args)
        result = self.forward(*args, **kwargs)
        for k, hook in (*_global_forward_hooks.items(), *self._forward_hooks.items()):
            called.add(k)
            if k in self._forward_hooks_with_kwargs or k in _global_forward_hooks_with_kwargs:
                r = hook(self, args, kwargs, result)
            else:
                r = hook(self, args, result)
            if r is not None:
                result = r
        if watch is not None:
            if not isinstance(result, (Tensor, tuple)):
                warn("For backward hooks to be called, module output should be a Tensor or a tuple of Tensors but received "
                     f"{type(result)}")
            else:
                result = watch.setup_output_hook(result)
        if old:
            _hooks.watch_node(self, old, args, result)
        return result

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """`hook(module, args[, kwargs])` before forward; may return new arguments."""
        return _hooks.add(self._forward_pre_hooks, hook, prepend, [self._forward_pre_hooks_with_kwargs] if with_kwargs else [])

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """`hook(module, args[, kwargs], output)` after forward; may return another output. always_call: also after an error."""
        marks = [self._forward_hooks_with_kwargs] * with_kwargs + [self._forward_hooks_always_called] * always_call
        return _hooks.add(self._forward_hooks, hook, prepend, marks)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """`hook(module, grad_output)` before the module's backward; may return other gradients."""
        return _hooks.add(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """`hook(module, grad_input, grad_output)` once the inputs' gradients are there; may return others."""
        if self._is_full_backward_hook is False:
            raise RuntimeError("Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only "
                               "one of them.")
        self.__dict__["_is_full_backward_hook"] = True
        return _hooks.add(self._backward_hooks, hook, prepend)

    def register_backward_hook(self, hook):
        """torch's old kind: `hook(module, grad_input, grad_output)` on the node that made the output, with what that node sees."""
        if self._is_full_backward_hook is True:
            raise RuntimeError("Cannot use both regular backward hooks and full backward hooks on a single Module. Please use only "
                               "one of them.")
        self.__dict__["_is_full_backward_hook"] = False
        return _hooks.add(self._backward_hooks, hook)

    # -- walking ------------------------------------------------------------------------------------------------------
    def _named_members(self, get, prefix="", recurse=True, remove_duplicate=True):
        seen = set()
        for path, module in self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]:
            for name, value in get(module):
                if value is None or value in seen:
                    continue
                if remove_duplicate:
                    seen.add(value)
                yield path + ("." if path else "") + name, value

    def parameters(self, recurse=True):
        """All parameters, each once; recurse: those of submodules too."""
        for _, p in self.named_parameters(recurse=recurse):
            yield p

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """(name, parameter) pairs."""
        yield from self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """All buffers, each once."""
        for _, b in self.named_buffers(recurse=recurse):
            yield b

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """(name, buffer) pairs."""
        yield from self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def children(self):
        """The direct submodules, each once."""
        for _, m in self.named_children():
            yield m

    def named_children(self):
        """(name, direct submodule) pairs."""
        seen = set()
        for name, m in self._modules.items():
            if m is not None and m not in seen:
                seen.add(m)
                yield name, m

    def modules(self, remove_duplicate=True):
        """This module and all below it, each once unless remove_duplicate is False."""
        for _, m in self.named_modules(remove_duplicate=remove_duplicate):
            yield m

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """(name, module) pairs from this module ("") down."""
        if memo is None:
            memo = set()
        if self not in memo:
            if remove_duplicate:
                memo.add(self)
            yield prefix, self
            for name, m in self._modules.items():
                if m is not None:
                    yield from m.named_modules(memo, prefix + ("." if prefix else "") + name, remove_duplicate)

    def get_submodule(self, target):
        """The submodule at a dotted path."""
        module = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"`{name}` is not an nn.Module")
        return module

    def set_submodule(self, target, module, strict=False):
        """Put `module` at a dotted path; strict: something must be there already."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def _member(self, target, what, accept):
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        value = getattr(module, name)
        if not accept(module, name, value):
            raise AttributeError(f"`{name}` is not {what}")
        return value

    def get_parameter(self, target):
        """The parameter at a dotted path."""
        return self._member(target, "an nn.Parameter", lambda m, n, v: isinstance(v, Parameter))

    def get_buffer(self, target):
        """The buffer at a dotted path."""
        return self._member(target, "a buffer", lambda m, n, v: n in m._buffers)

    # -- changing everything ------------------------------------------------------------------------------------------
    def apply(self, fn):
        """Call `fn` on every submodule, children first, then on this module."""
        for m in self.children():
            m.apply(fn)
        fn(self)
        return self

    def share_memory(self):
        """Tensors move to memory that other processes can see; see Tensor.share_memory_."""
        return self._apply(lambda t: t.share_memory_())

    def _replicate_for_data_parallel(self):
        """A module that shares all with this one except its tables, and has no parameters of its own."""
        replica = self.__new__(type(self))
        replica.__dict__ = self.__dict__.copy()
        replica._parameters, replica._buffers, replica._modules = {}, self._buffers.copy(), self._modules.copy()
        replica._is_replica = True
        return replica

    def train(self, mode=True):
        """Switch training behaviour (dropout, …) on or off, here and below."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for m in self.children():
            m.train(mode)
        return self

    def eval(self):
        """Switch training behaviour off."""
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Whether the parameters want gradients."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Forget all gradients, or fill them with zeros."""
        for p in self.parameters():
            if p.grad is None:
                continue
            if set_to_none:
                p.grad = None
            else:
                if p.grad.grad_fn is not None:
                    p.grad.detach_()
                else:
                    p.grad.requires_grad_(False)
                p.grad.zero_()

    def compile(self, *args, **kwargs):
        """Let calls of `forward` be those of torch.compile(self.forward, ...), where a backend of the program's own is to get its graphs;
        they are recorded and compiled in any case."""
        from ..._dynamo.eval_frame import compile
        compiled = compile(self.forward, *args, **kwargs)
        if getattr(compiled, "_torchdynamo_graphs", None) is not None:
            self.__dict__["forward"] = compiled

    # -- text ---------------------------------------------------------------------------------------------------------
    def _get_name(self):
        return type(self).__name__

    def extra_repr(self):
        """What stands in the parentheses of the repr; subclasses override it."""
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): " + _addindent(repr(m), 2) for name, m in self._modules.items()]
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({lines[0]})"
        if not lines + children:
            return self._get_name() + "()"
        return self._get_name() + "(\n  " + "\n  ".join(lines + children) + "\n)"


def register_module_forward_pre_hook(hook):
    """`hook(module, args)` before every module's forward; may return new arguments."""
    return _hooks.add(_global_forward_pre_hooks, hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """`hook(module, args, output)` after every module's forward; may return another output."""
    return _hooks.add(_global_forward_hooks, hook, marks=[d for d, on in ((_global_forward_hooks_with_kwargs, with_kwargs),
                                                                   (_global_forward_hooks_always_called, always_call)) if on])


def register_module_full_backward_pre_hook(hook):
    """`hook(module, grad_output)` before every module's backward; may return other gradients."""
    return _hooks.add(_global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook):
    """`hook(module, grad_input, grad_output)` after every module's backward; may return other input gradients."""
    return _add_backward(hook, True)


def register_module_backward_hook(hook):
    """torch's old kind of backward hook: on the node of every module's output, with the gradients that this node sees."""
    return _add_backward(hook, False)


def _add_backward(hook, full):
    global _global_is_full_backward_hook
    if _global_is_full_backward_hook is not None and _global_is_full_backward_hook is not full:
        raise RuntimeError("Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only one of "
                           "them.")
    _global_is_full_backward_hook = full
    return _hooks.add(_global_backward_hooks, hook)


def _backward_hooks_of(module):
    """(full hooks, hooks of the old kind) on a module."""
    kinds = [], []
    for hooks, full in ((_global_backward_hooks, _global_is_full_backward_hook), (module._backward_hooks, module._is_full_backward_hook)):
        kinds[full is False].extend(hooks.values())
    return kinds


def register_module_buffer_registration_hook(hook):
    """`hook(module, name, buffer)` when a buffer is registered; may return another."""
    return _hooks.add(_global_buffer_registration_hooks, hook)


def register_module_module_registration_hook(hook):
    """`hook(module, name, submodule)` when a submodule is registered; may return another."""
    return _hooks.add(_global_module_registration_hooks, hook)


def register_module_parameter_registration_hook(hook):
    """`hook(module, name, parameter)` when a parameter is registered; may return another."""
    return _hooks.add(_global_parameter_registration_hooks, hook)


_getattr, _NONE = Module.__getattr__, {}


def registered(module):
    """The parameters by name, for a layer's forward to read without the detour over __getattr__; none where a subclass has a __getattr__
    of its own, which is to be asked (Pyro's modules count on it)."""
    return module._parameters if type(module).__getattr__ is _getattr else _NONE
