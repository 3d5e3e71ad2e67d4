"""torch._subclasses.fake_tensor: tensors that have shapes, dtypes and a device, but no values.

A FakeTensor lies on the meta device and says that it lies elsewhere. Functions of such ones give such ones; a mode makes every new tensor
one.
"""
from __future__ import annotations

import contextlib
import functools

from .. import Tensor
from ..overrides import TorchFunctionMode, begin, get_ignored_functions, resolve_name
from ..nn import Parameter
from ..tensor.core.device import device as as_device, get_default_device
from ..tensor.core.dtype import dtype as as_dtype, get_default_dtype
from ..tensor.core.overriding import DisableTorchFunctionSubclass, disabled_torch_function_impl, switches

__all__ = ["FakeTensor", "FakeTensorMode", "is_fake", "unset_fake_temporarily", "DataDependentOutputException",
           "DynamicOutputShapeException", "UnsupportedFakeTensorException", "UnsupportedOperatorException"]


class UnsupportedFakeTensorException(RuntimeError):
    """What a FakeTensor cannot stand for."""


class _OfOperator(RuntimeError):
    def __init__(self, func):
        super().__init__(func)
        self.func = func


class DynamicOutputShapeException(_OfOperator):
    """The shape of an operator's result depends on values."""


class DataDependentOutputException(_OfOperator):
    """An operator's result is a value."""


class UnsupportedOperatorException(_OfOperator):
    """An operator without a rule for shapes."""


#: Functions that ask for values, and the operator that does it.
_VALUES = dict.fromkeys("item tolist __bool__ __float__ __int__ __index__ __complex__ __contains__ gaussian_nll_loss one_hot is_nonzero"
                        .split(), "_local_scalar_dense") | {"equal": "equal", "allclose": "allclose"}
#: The same of those whose result's shape depends on values.
_SHAPES = {"nonzero": "nonzero", "argwhere": "nonzero", "masked_select": "masked_select", "unique": "_unique2", "bincount": "bincount",
           "unique_consecutive": "unique_consecutive", "ctc_loss": "_ctc_loss", "repeat_interleave": "repeat_interleave.Tensor"}
_OWN = frozenset(
    "__repr__ __str__ __format__ __hash__ requires_grad_ backward retain_grad register_hook __deepcopy__ __reduce_ex__".split())


def _operator(name):
    from .. import ops
    base, _, overload = name.partition(".")
    return getattr(getattr(ops.aten, base), overload or "default")


def _tensors(values):
    return [y for x in values for y in (x if isinstance(x, (list, tuple)) else (x,)) if isinstance(y, Tensor)]


def _faked(x, device, mode):
    """What a function returned, with its tensors as fake ones."""
    if isinstance(x, FakeTensor):
        return x
    if isinstance(x, Tensor):
        x.__class__ = FakeTensor
        x.fake_device, x.fake_mode = device, mode
        return x
    if isinstance(x, (tuple, list)) and _tensors(x):
        made = [_faked(y, device, mode) for y in x]
        return tuple(made) if type(x) is tuple else type(x)(made)
    return x


class FakeTensor(Tensor):
    """A tensor without values. `from_tensor` of a mode makes one, and functions make them of each other."""
    fake_mode, fake_device = None, as_device("cpu")

    device = property(lambda self: self.fake_device, doc="Where it says to lie.")
    is_meta = property(lambda self: self.fake_device.type == "meta")
    is_cpu = property(lambda self: self.fake_device.type == "cpu")
    is_cuda = property(lambda self: self.fake_device.type == "cuda")

    def get_device(self):
        """The index of that device, -1 for a CPU."""
        return -1 if self.fake_device.type == "cpu" else self.fake_device.index or 0

    def __repr__(self, *, tensor_contents=None):
        with DisableTorchFunctionSubclass():
            parts = ["...", *([f"device='{self.fake_device}'"] if self.fake_device.type != "cpu" else []), f"size={tuple(self.shape)}"]
            if self.dtype is not get_default_dtype():
                parts.append(f"dtype={self.dtype}")
            if self.grad_fn is not None:
                parts.append(f"grad_fn=<{self.grad_fn.name()}>")
            elif self.requires_grad:
                parts.append("requires_grad=True")
            said = f"FakeTensor({', '.join(parts)})"
            return f"Parameter({said})" if isinstance(self, Parameter) else said

    __str__ = __repr__

    def __format__(self, spec):
        return repr(self)

    __torch_function__ = staticmethod(disabled_torch_function_impl)         # until there is a mode: the class alone costs calls nothing

    @classmethod
    def _answer(cls, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        if _seen_by_a_mode():
            with DisableTorchFunctionSubclass():
                return func(*args, **kwargs)
        name = (resolve_name(func) or getattr(func, "__name__", "")).removesuffix(".__get__").rpartition(".")[2]
        if name in _VALUES:
            raise DataDependentOutputException(_operator(_VALUES[name]))
        if name in ("numpy", "__array__"):
            raise RuntimeError(".numpy() is not supported for tensor subclasses.")
        if name in _SHAPES and (name != "repeat_interleave" or _repeats_unknown(*args, **kwargs)) or name in (
                "__getitem__", "where") and _by_mask(name, args):
            by_dim = name == "unique" and kwargs.get("dim", args[4] if len(args) > 4 else None) is not None
            raise DynamicOutputShapeException(_operator("unique_dim" if by_dim else _SHAPES.get(name, "nonzero")))
        given = _tensors([*args, *kwargs.values()])
        mode = next((t.fake_mode for t in given if isinstance(t, FakeTensor)), None)
        with DisableTorchFunctionSubclass():
            if name in _OWN:
                return func(*args, **kwargs)
            real = [t for t in given if not isinstance(t, FakeTensor)]
            if real and name not in ("__set__", "__delete__"):
                if mode is None or not mode.allow_non_fake_inputs:
                    raise AssertionError("Please convert all Tensors to FakeTensors first or instantiate FakeTensorMode with "
                                         f"'allow_non_fake_inputs'. Found in {resolve_name(func) or name}")
                args, kwargs = _meta(args), {k: _meta(x) for k, x in kwargs.items()}
            args, device = _placed(name, list(args), kwargs)
            return _faked(func(*args, **kwargs), device or _common(name, given), mode)


def _seen_by_a_mode():
    """Whether operators come to a mode first."""
    from .._dispatch.python import state
    s = state()
    return bool(s.stack) and not s.off


def _by_mask(name, args):
    index = args[1:2] if name == "__getitem__" else () if len(args) > 1 else args[:1]
    found = _tensors(index[0] if index and isinstance(index[0], tuple) else index)
    return bool(found) and (name == "where" or any([t.dtype is _bool() for t in found]))


def _repeats_unknown(input, repeats=None, dim=None, *, output_size=None):
    """Whether only values tell how long a repetition is."""
    return output_size is None and (repeats is None or isinstance(repeats, Tensor))


def _bool():
    from .. import bool as kind
    return kind


def _meta(x):
    if isinstance(x, Tensor):
        return x if isinstance(x, FakeTensor) else x.detach().to("meta")
    return type(x)([_meta(y) for y in x]) if type(x) in (list, tuple) else x


def _placed(name, args, kwargs):
    """A call's arguments with the device that they name made the meta device, and that device."""
    found = None
    if kwargs.get("device") is not None:
        found, kwargs["device"] = as_device(kwargs["device"]), "meta"
    if name in ("to", "cpu", "cuda"):
        if name != "to":
            found = as_device("cpu" if name == "cpu" else args[1] if len(args) > 1 else "cuda")
            args = [args[0]]
        for k, x in enumerate(args[1:], 1):
            if isinstance(x, FakeTensor):
                found = x.fake_device
            elif isinstance(x, (str, as_device)) and not isinstance(x, as_dtype):
                found, args[k] = as_device(x), "meta"
    return args, found


def _common(name, given):
    devices = {t.fake_device for t in given if isinstance(t, FakeTensor) and t.ndim} or {
        t.fake_device for t in given if isinstance(t, FakeTensor)} or {as_device("cpu")}
    if len(devices) > 1:
        a, b = sorted(map(str, devices))
        raise RuntimeError(f"Unhandled FakeTensor Device Propagation for aten.{name}, found two different devices {a}, {b}")
    return devices.pop()


@functools.cache
def _awake():
    """Let functions ask FakeTensors."""
    begin()
    FakeTensor.__torch_function__ = FakeTensor._answer


class FakeTensorMode(TorchFunctionMode):
    """A context in which new tensors have no values. allow_non_fake_inputs: whether real ones may take part. Options for symbolic shapes
    and caches are accepted."""

    def __init__(self, *, allow_fallback_kernels=True, allow_non_fake_inputs=False, shape_env=None, static_shapes=None, export=False):
        super().__init__()
        _awake()
        self.allow_fallback_kernels, self.allow_non_fake_inputs = allow_fallback_kernels, allow_non_fake_inputs
        self.shape_env, self.static_shapes, self._known = shape_env, static_shapes is None or static_shapes, {}

    def from_tensor(self, tensor, *, static_shapes=None, source=None, symbolic_context=None, trace=True):
        """A FakeTensor like a tensor: the same one each time; a parameter stays one."""
        if isinstance(tensor, FakeTensor):
            return tensor
        found = self._known.get(id(tensor))
        if found is None:
            with DisableTorchFunctionSubclass():
                made = _faked(tensor.detach().to("meta"), tensor.device, self)
                if isinstance(tensor, Parameter):
                    made = Parameter(made, tensor.requires_grad)
                elif tensor.requires_grad:
                    made.requires_grad_()
            found = self._known[id(tensor)] = made, tensor
        return found[0]

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        given = _tensors([*args, *kwargs.values()])
        if any([isinstance(t, FakeTensor) for t in given]):
            return func(*args, **kwargs)
        name = (resolve_name(func) or getattr(func, "__name__", "")).rpartition(".")[2]
        if not given and func in get_ignored_functions() and name not in ("as_subclass",):
            if name in _PLAIN:
                return func(*args, **kwargs)
            device = as_device(kwargs.get("device") or get_default_device())
            if name in _AT_ONCE:
                return _faked(func(*args, **{**kwargs, "device": None}).to("meta"), device, self)
            return _faked(func(*args, **{**kwargs, "device": "meta"}), device, self)
        if given and self.allow_non_fake_inputs:
            made = func(*_meta(tuple(args)), **{k: _meta(x) for k, x in kwargs.items()})
            return _faked(made, given[0].device, self)
        return func(*args, **kwargs)


_PLAIN = frozenset("""broadcast_shapes can_cast result_type get_default_dtype get_rng_state initial_seed is_grad_enabled is_storage
    is_tensor load manual_seed promote_types save seed set_default_device set_default_dtype set_grad_enabled set_printoptions set_rng_state
    typename vmap""".split())
_AT_ONCE = frozenset("tensor as_tensor asarray from_numpy frombuffer vander tril_indices triu_indices".split())


def is_fake(x):
    """Whether a tensor has no values."""
    return isinstance(x, FakeTensor)


def maybe_get_fake_mode(t):
    """The mode of a FakeTensor; None for others."""
    return t.fake_mode if isinstance(t, FakeTensor) else None


@contextlib.contextmanager
def unset_fake_temporarily():
    """A block outside of any FakeTensorMode; what is entered is the mode that was left, or None."""
    s = switches()
    kept = s.stack
    s.stack = [m for m in kept if not isinstance(m, FakeTensorMode)]
    try:
        yield next((m for m in reversed(kept) if isinstance(m, FakeTensorMode)), None)
    finally:
        s.stack = kept
