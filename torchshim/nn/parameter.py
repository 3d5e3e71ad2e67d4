"""Parameters and buffers: tensors that a Module recognises when they are assigned to it."""
from __future__ import annotations

from ..engine import present
from ..ops.promotion import kind_of
from ..tensor.core.dispatch import detached, read, wrap
from ..tensor.core.overriding import disabled_torch_function_impl, never_asks
from ..tensor.core.tensor import Tensor, _TensorMeta


class _Kind(_TensorMeta):
    """isinstance() also accepts tensors of other classes that carry the kind's mark."""

    def __instancecheck__(cls, x):
        if type.__instancecheck__(cls, x):
            return True
        mark = cls.__dict__.get("_mark")
        return mark is not None and isinstance(x, Tensor) and x.__dict__.get(mark, False)


def _marked(cls, data, requires_grad):
    """`data`'s memory as a leaf of class `cls`; a tensor subclass keeps its class and gets the mark."""
    if data is None:
        from ..tensor.api.creation import empty
        data = empty(0)
    kept = type(data)
    t = detached(data)
    t._edge = None
    if kept is Tensor or kept is cls:
        t.__class__ = cls
    else:
        t.__class__ = kept
        t.__dict__.update(data.__dict__)
        t.__dict__[cls._mark] = True
    if requires_grad:
        t._ask_for_grad()
    return t


@never_asks
class Parameter(Tensor, metaclass=_Kind):
    """A tensor to be trained: assigned to a Module it appears in its `parameters()`.

    data: the values (its memory is shared); requires_grad: whether gradients are wanted.
    """
    __slots__ = ()
    __torch_function__ = staticmethod(disabled_torch_function_impl)
    _mark = "_is_param"
    _repr_prefix = "Parameter containing:\n"

    def __new__(cls, data=None, requires_grad=True):
        if data is not None and not isinstance(data, Tensor):
            raise AttributeError(f"'{type(data).__name__}' object has no attribute 'detach'")
        if requires_grad and data is not None and kind_of(data._meta.dtype) < 2:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        return _marked(cls, data, requires_grad)

    def __init__(self, data=None, requires_grad=True):
        pass

    def __deepcopy__(self, memo):
        return _deepcopy(self, memo)


@never_asks
class Buffer(Tensor, metaclass=_Kind):
    """A tensor that belongs to a Module's state without being trained. persistent: whether it is in the state_dict."""
    __slots__ = ()
    __torch_function__ = staticmethod(disabled_torch_function_impl)
    __torch_function__ = staticmethod(disabled_torch_function_impl)
    _mark = "_is_buffer"

    def __new__(cls, data=None, *, persistent=True):
        t = _marked(cls, data, data is not None and data.requires_grad)
        t.persistent = persistent
        t._is_buffer = True
        return t

    def __init__(self, data=None, *, persistent=True):
        pass

    def __deepcopy__(self, memo):
        return _deepcopy(self, memo)


def _deepcopy(t, memo):
    """A copy with its own memory and no gradient. Values are immutable, so that sharing one is a copy."""
    if id(t) in memo:
        return memo[id(t)]
    y = wrap(present(read(t)), True if t.requires_grad else None)
    y.__class__ = type(t)
    y.__dict__.update(t.__dict__)
    memo[id(t)] = y
    return y


_SHAPE = ("Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` when trying to "
          "load an uninitialized parameter into an initialized one. Call `forward` to initialize the parameters before accessing their "
          "attributes.")
_SHARE = ("Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters before calling "
          "`module.share_memory()`.")


class UninitializedTensorMixin:
    """What a parameter or buffer that waits for its shape can and cannot do."""
    __slots__ = ()
    cls_to_become = None

    def materialize(self, shape, device=None, dtype=None):
        """Become an uninitialised tensor of this shape, of the class that it stands for."""
        from ..tensor.api.creation import empty
        self.data = empty(shape, device=self.device if device is None else device, dtype=self.dtype if dtype is None else dtype)
        self.__class__ = self.cls_to_become

    @property
    def shape(self):
        """There is none yet: RuntimeError."""
        raise RuntimeError(_SHAPE)

    def numel(self):
        """There is none yet: ValueError."""
        raise ValueError("Attempted to use an uninitialized parameter in <method 'numel' of 'torch._C.TensorBase' objects>. This error "
                         "happens when you are using a `LazyModule` or explicitly manipulating `torch.nn.parameter.UninitializedParameter` "
                         "objects. When using LazyModules Call `forward` with a dummy batch to initialize the parameters before calling "
                         "torch functions")

    def share_memory_(self):
        """There is none yet: RuntimeError."""
        raise RuntimeError(_SHARE)

    def __repr__(self):
        return f"<{type(self).__name__}>"


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A Parameter whose shape the first input will tell. requires_grad, device, dtype: of the Parameter to be."""
    __slots__ = ()
    _mark = None
    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        from ..tensor.api.creation import empty
        return _marked(cls, empty(0, device=device, dtype=dtype), requires_grad)

    def __init__(self, requires_grad=True, device=None, dtype=None):
        pass


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape the first input will tell. requires_grad, device, dtype: of the tensor to be; persistent: see Buffer."""
    __slots__ = ()
    __torch_function__ = staticmethod(disabled_torch_function_impl)
    cls_to_become = Tensor

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        from ..tensor.api.creation import empty
        t = _marked(cls, empty(0, device=device, dtype=dtype), requires_grad)
        t.persistent, t._is_buffer = persistent, True
        return t

    def __init__(self, requires_grad=False, device=None, dtype=None, persistent=True):
        pass


def is_lazy(param):
    """Whether the parameter or buffer still waits for its shape."""
    return isinstance(param, UninitializedTensorMixin)
