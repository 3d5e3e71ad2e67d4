"""Parameters that are functions of others: `register_parametrization(module, "weight", f)` makes module.weight f(original)."""
from __future__ import annotations

import copyreg
from collections.abc import Sequence
from contextlib import contextmanager
from copy import deepcopy

from ...autograd.grad_mode import no_grad
from ...tensor.core.tensor import Tensor
from ..modules.container import ModuleDict, ModuleList
from ..parameter import Parameter

__all__ = ["cached", "ParametrizationList", "register_parametrization", "is_parametrized", "remove_parametrizations",
           "type_before_parametrizations", "transfer_parametrizations_and_params"]

_cache_enabled = 0
_cache: dict = {}


@contextmanager
def cached():
    """Compute each parametrized tensor once while this lasts."""
    global _cache_enabled
    _cache_enabled += 1
    try:
        yield
    finally:
        _cache_enabled -= 1
        if not _cache_enabled:
            _cache.clear()


def _register(module, name, x):
    if isinstance(x, Parameter):
        module.register_parameter(name, x)
    else:
        module.register_buffer(name, x)


def _inverted(modules, value, strict):
    """What the modules' right inverses, last first, make of a value; those without one are passed over unless strict."""
    for m in reversed(modules):
        if hasattr(m, "right_inverse"):
            try:
                value = m.right_inverse(value)
            except NotImplementedError:
                if strict:
                    raise
        elif strict:
            raise RuntimeError(f"parametrization {type(m).__name__} does not implement right_inverse.")
    return value


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor with what they begin from: `original`, or `original0`, `original1` ... of several tensors."""

    def __init__(self, modules, original, unsafe=False):
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with no_grad():
            new = _inverted(list(self), original, strict=False)
        if not isinstance(new, (Tensor, Sequence)):
            raise ValueError(f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got {type(new).__name__}")
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if self.is_tensor:
            for what in ("dtype", "device"):
                if getattr(original, what) != getattr(new, what):
                    raise ValueError(f"When `right_inverse` outputs one tensor, it may not change the {what}.\noriginal.{what}: "
                                     f"{getattr(original, what)}\nright_inverse(original).{what}: {getattr(new, what)}")
            with no_grad():
                original.set_(new)
            _register(self, "original", original)
        else:
            for i, x in enumerate(new):
                if not isinstance(x, Tensor):
                    raise ValueError("'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got element "
                                     f"{i} of the sequence with type {type(x).__name__}.")
                if isinstance(original, Parameter):
                    x = Parameter(x, original.requires_grad)
                x.requires_grad_(original.requires_grad)
                _register(self, f"original{i}", x)
        if not unsafe:
            self._check_result(self(), shape, dtype)

    @staticmethod
    def _check_result(z, shape, dtype):
        if not isinstance(z, Tensor):
            raise ValueError(f"A parametrization must return a tensor. Got {type(z).__name__}.")
        for what, want, got in (("dtype", dtype, z.dtype), ("shape", shape, z.shape)):
            if want != got:
                raise ValueError(f"Registering a parametrization may not change the {what} of the tensor, unless `unsafe` flag is "
                                 f"enabled.\nunparametrized {what}: {want}\nparametrized {what}: {got}")

    def _originals(self):
        return [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value):
        """Change the originals so that the parametrized tensor becomes `value`, as far as the right inverses can."""
        with no_grad():
            value = _inverted(list(self), value, strict=True)
            if self.is_tensor:
                if not isinstance(value, Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
                if value.dtype != self.original.dtype:
                    raise ValueError(f"The tensor returned by `right_inverse` has dtype {value.dtype} while `original` has dtype "
                                     f"{self.original.dtype}")
                self.original.set_(value)
                return
            if not isinstance(value, Sequence):
                raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}.")
            if len(value) != self.ntensors:
                raise ValueError(f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got a sequence of length "
                                 f"{len(value)}.")
            for i, (x, original) in enumerate(zip(value, self._originals())):
                if not isinstance(x, Tensor):
                    raise ValueError(f"'right_inverse' must return a sequence of tensors or reference-type opaques. Got element {i} of "
                                     f"type {type(x).__name__}.")
                if original.dtype != x.dtype:
                    raise ValueError(f"Tensor {i} returned by `right_inverse` has dtype {x.dtype} while `original{i}` has dtype "
                                     f"{original.dtype}")
                original.set_(x)

    def forward(self):
        first, *others = self
        x = first(self.original) if self.is_tensor else first(*self._originals())
        for m in others:
            x = m(x)
        return x


def _deepcopy(self, memo):
    found = memo.get(id(self))
    if found is not None:
        return found
    copy = memo[id(self)] = type(self).__new__(type(self))
    copy.__dict__ = deepcopy(self.__dict__, memo)
    for slot in copyreg._slotnames(type(self)):
        if hasattr(self, slot):
            setattr(copy, slot, deepcopy(getattr(self, slot), memo))
    return copy


def _no_getstate(self):
    raise RuntimeError("Serialization of parametrized modules is only supported through state_dict(). See:\n"
                       "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
                       "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training")


def _own_class(module):
    """Give the module a class of its own, on which parametrized tensors are properties."""
    cls = type(module)
    members = {"__getstate__": _no_getstate}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = _deepcopy
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def _property(name):
    def get(self):
        parametrization = self.parametrizations[name]
        if not _cache_enabled:
            return parametrization()
        key = id(self), name
        if key not in _cache:
            _cache[key] = parametrization()
        return _cache[key]

    def put(self, value):
        self.parametrizations[name].right_inverse(value)
    return property(get, put)


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """Make module.tensor_name what the module `parametrization` computes from it. Several are applied in turn; unsafe: unchecked."""
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_addition(module, tensor_name, parametrization)
        known = module.parametrizations[tensor_name]
        known.append(parametrization)
        known.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        made = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _own_class(module)
            module.parametrizations = ModuleDict()
        setattr(type(module), tensor_name, _property(tensor_name))
        module.parametrizations[tensor_name] = made
    else:
        raise ValueError(f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'")
    return module


def _check_addition(module, name, parametrization):
    """Whether one more parametrization, and its right inverse, keep the dtype and the shape."""
    y = getattr(module, name)
    x = parametrization(y)
    if not isinstance(x, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(x).__name__}.")
    for what in ("dtype", "shape"):
        if getattr(x, what) != getattr(y, what):
            raise ValueError(f"Registering a parametrization may not change the {what} of the tensor, unless the `unsafe` flag is "
                             f"enabled.\nmodule.{name}.{what}: {getattr(y, what)}\nparametrization(module.{name}).{what}: "
                             f"{getattr(x, what)}")
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        z = parametrization.right_inverse(x)
    except NotImplementedError:
        return
    if not isinstance(z, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(z).__name__}")
    for what in ("dtype", "shape"):
        if getattr(z, what) != getattr(y, what):
            raise ValueError(f"The tensor returned by parametrization.right_inverse must have the same {what} as module.{name}, unless the "
                             f"`unsafe` flag is enabled.\nmodule.{name}.{what}: {getattr(y, what)}\nreturned {what}: {getattr(z, what)}")


def is_parametrized(module, tensor_name=None):
    """Whether the tensor, or any, of the module is parametrized."""
    known = getattr(module, "parametrizations", None)
    if not isinstance(known, ModuleDict):
        return False
    return len(known) > 0 if tensor_name is None else tensor_name in known


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """Make the tensor a plain one again: with its present value, or, leave_parametrized=False, as the original."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    known = module.parametrizations[tensor_name]
    if known.is_tensor:
        original = known.original
        if leave_parametrized:
            with no_grad():
                original.set_(getattr(module, tensor_name))
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of "
                         "tensors.")
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module):
    """The module's class as it was before it was parametrized."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    """Parametrize to_module as from_module is, one tensor or all, and let it share the originals."""
    if not is_parametrized(from_module):
        return to_module
    for name in from_module.parametrizations if tensor_name is None else [tensor_name]:
        source = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        for m in source:
            register_parametrization(to_module, name, m)
        target = to_module.parametrizations[name]
        for n in ["original"] if source.is_tensor else [f"original{i}" for i in range(source.ntensors)]:
            setattr(target, n, getattr(source, n))
    return to_module
