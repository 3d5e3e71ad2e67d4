"""Parameters and buffers: tensors that a Module recognises when they are assigned to it."""
from __future__ import annotations

from ..engine import present
from ..ops.promotion import kind_of
from ..tensor.api.looked_up import like_tensors
from ..tensor.api.parameters import name_in_c
from ..tensor.core.dispatch import wrap
from ..tensor.core.handle import read
from ..tensor.core.layout import strided
from ..tensor.core.overriding import disabled_torch_function_impl, dispatches, never_asks, of_class, settle
from ..tensor.core.size import Size
from ..tensor.core.tensor import Tensor, _TensorMeta
from ..tensor.core.view import detached
from ..tensor.core.write import is_inference


class _Kind(_TensorMeta):
    """isinstance() also accepts tensors of other classes that carry the kind's mark."""

    def __instancecheck__(cls, x):
        if type.__instancecheck__(cls, x):
            return True
        mark = cls.__dict__.get("_ts_mark")
        return mark is not None and isinstance(x, Tensor) and x.__dict__.get(mark, False)


_ParameterMeta = _Kind


def _marked(cls, data, requires_grad):
    """`data`'s memory as a leaf of class `cls`; a tensor subclass keeps its class and gets the mark."""
    if data is None:
        from ..tensor.api.creation import empty
        data = empty(0)
    settle()
    kept = type(data)
    if kept is not Tensor and kept is not cls and (data.layout is not strided or data.is_quantized):
        t = data.detach()
        t.__dict__[cls._ts_mark] = True
        return t.requires_grad_() if requires_grad else t
    if dispatches(kept):                       # its class says what detach gives
        t = data.detach()
        if type(t) is not kept and type(t) is Tensor:
            t.__class__ = cls
        else:
            t.__dict__[cls._ts_mark] = True
        return t.requires_grad_() if requires_grad else t
    t = detached(data)
    t._ts_edge = None
    if kept is Tensor or kept is cls:
        t.__class__ = cls
    else:
        t = of_class(t, kept)
        t.__dict__.update(data.__dict__)
        t.__dict__[cls._ts_mark] = True
    if requires_grad:
        if is_inference(t):
            return t._ts_ask_for_grad()
        t._ts_edge = True
    return t


@like_tensors
@never_asks
class Parameter(Tensor, metaclass=_Kind):
    """A tensor to be trained: assigned to a Module it appears in its `parameters()`.

    data: the values (its memory is shared); requires_grad: whether gradients are wanted.
    """
    __slots__ = ()
    __torch_function__ = staticmethod(disabled_torch_function_impl)
    _ts_mark = "_is_param"

    def __new__(cls, data=None, requires_grad=True):
        if data is not None and not isinstance(data, Tensor):
            raise AttributeError(f"'{name_in_c(type(data))}' object has no attribute 'detach'")
        if requires_grad and data is not None and kind_of(data._ts_meta.dtype) < 2:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        return _marked(cls, data, requires_grad)

    def __init__(self, *args, **kwargs):               # a subclass's own __new__ may take more
        pass

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()

    def __deepcopy__(self, memo):
        return _deepcopy(self, memo, {})               # attributes stay behind, as in torch


@never_asks
class Buffer(Tensor, metaclass=_Kind):
    """A tensor that belongs to a Module's state without being trained. persistent: whether it is in the state_dict."""
    __slots__ = ()
    __torch_function__ = staticmethod(disabled_torch_function_impl)
    _ts_mark = "_is_buffer"

    def __new__(cls, data=None, *, persistent=True):
        t = _marked(cls, data, data is not None and data.requires_grad)
        if type(t) is cls:
            t.__class__ = Tensor               # as in torch, where a buffer is no class of tensors: files hold plain ones
        t.persistent = persistent
        t._is_buffer = True
        return t

    def __init__(self, *args, **kwargs):
        pass

    def __deepcopy__(self, memo):
        return _deepcopy(self, memo, self.__dict__)


def _deepcopy(t, memo, attributes):
    """A copy with its own memory and no gradient. Values are immutable, so that sharing one is a copy."""
    if id(t) in memo:
        return memo[id(t)]
    y = wrap(present(read(t)), True if t.requires_grad else None)
    y.__class__ = type(t)
    y.__dict__.update(attributes)
    memo[id(t)] = y
    return y


_SHAPE = ("Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` when trying to "
          "load an uninitialized parameter into an initialized one. Call `forward` to initialize the parameters before accessing their "
          "attributes.")
_SHARE = ("Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters before calling "
          "`module.share_memory()`.")


_USE = ("Attempted to use an uninitialized parameter{}. This error happens when you are using a `LazyModule` or explicitly manipulating "
        "`torch.nn.parameter.{}` objects. When using LazyModules Call `forward` with a dummy batch to initialize the parameters before "
        "calling torch functions")


class _Waiting:
    """Stands where a tensor has its memory: who reads it gets torch's error."""
    __slots__ = ("cls", "gen", "version", "address")

    def __init__(self, cls):
        self.cls, self.gen, self.version, self.address = cls.__name__, 0, 0, None

    @property
    def value(self):
        raise ValueError(_USE.format("", self.cls))


def _waiting(cls, requires_grad, device, dtype):
    """A tensor of a class that waits; `_empty` holds its dtype and device."""
    from ..tensor.api.creation import empty
    held = empty(0, device=device, dtype=dtype)
    t = _marked(cls, held, requires_grad)
    t._empty, t._ts_st = held, _Waiting(cls)
    return t


def _told(name):
    """A property that only the dtype and device decide."""
    return property(lambda self: getattr(self.data, name), doc=f"{name} of the tensor to be.")


def _passed_on(name):
    def method(self, *args, **kwargs):
        return getattr(self.data, name)(*args, **kwargs)
    method.__name__ = name
    method.__doc__ = f"{name} of an empty tensor of this dtype and device."
    return method


def _refused(name):
    def method(self, *args, **kwargs):
        raise ValueError(_USE.format(f" in <method '{name}' of 'torch._C.TensorBase' objects>", type(self).__name__))
    method.__name__ = name
    method.__doc__ = "There is nothing yet: ValueError."
    return method


class UninitializedTensorMixin:
    """What a parameter or buffer that waits for its shape can and cannot do: be moved and cast, and little else.

    `data` is an empty tensor of its dtype and device. Operators that ask what it is raise ValueError.
    """
    __slots__ = ()
    cls_to_become = None

    @property
    def _ts_meta(self):
        return self._ts_st.value

    @property
    def data(self):
        """An empty tensor of the dtype and device."""
        return self._empty

    @data.setter
    def data(self, other):
        self._empty = other.detach()

    dtype, device, is_meta, is_cpu, is_cuda = [_told(n) for n in ("dtype", "device", "is_meta", "is_cpu", "is_cuda")]
    for _name in "is_complex is_floating_point half float double char short int long cuda cpu to get_device".split():
        locals()[_name] = _passed_on(_name)
    del _name

    def size(self, dim=None):
        """That of the empty tensor."""
        return Size((0,)) if dim is None else 0

    ndim = property(lambda self: 1, doc="That of the empty tensor.")

    def copy_(self, src, non_blocking=False):
        """From another that waits: nothing to copy. ValueError from anything else."""
        if not is_lazy(src):
            raise ValueError(_USE.format("", type(self).__name__))
        return self

    numel, detach, clone = _refused("numel"), _refused("detach"), _refused("clone")

    def materialize(self, shape, device=None, dtype=None):
        """Become an uninitialised tensor of this shape, of the class that it stands for."""
        from ..tensor.api.creation import empty
        made = empty(shape, device=self.device if device is None else device, dtype=self.dtype if dtype is None else dtype)
        del self._empty
        self._ts_st, self.__class__ = made._ts_st, self.cls_to_become

    @property
    def shape(self):
        """There is none yet: RuntimeError."""
        raise RuntimeError(_SHAPE)

    def share_memory_(self):
        """There is none yet: RuntimeError."""
        raise RuntimeError(_SHARE)

    def __repr__(self):
        return f"<{type(self).__name__}>"

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, self.device, self.dtype)
        return memo[id(self)]

    def __reduce_ex__(self, protocol):
        return type(self), (self.requires_grad,)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A Parameter whose shape the first input will tell. requires_grad, device, dtype: of the Parameter to be."""
    __slots__ = ()
    _ts_mark = None
    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        return _waiting(cls, requires_grad, device, dtype)

    def __init__(self, requires_grad=True, device=None, dtype=None):
        pass


def _cast(name):
    def method(self, *args, **kwargs):
        to = getattr(self.data, name)(*args, **kwargs)
        return UninitializedBuffer(self.requires_grad, to.device, to.dtype, self.persistent)
    method.__name__ = name
    method.__doc__ = f"One that waits as {name} has it."
    return method


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape the first input will tell. requires_grad, device, dtype: of the tensor to be; persistent: see Buffer."""
    __slots__ = ()
    __torch_function__ = staticmethod(disabled_torch_function_impl)
    cls_to_become = Tensor
    for _name in "half float double char short int long cuda cpu to".split():
        locals()[_name] = _cast(_name)
    del _name

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        t = _waiting(cls, requires_grad, device, dtype)
        t.persistent, t._is_buffer = persistent, True
        return t

    def __init__(self, requires_grad=False, device=None, dtype=None, persistent=True):
        pass


def is_lazy(param):
    """Whether the parameter or buffer still waits for its shape."""
    return isinstance(param, UninitializedTensorMixin)
