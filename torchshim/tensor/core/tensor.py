"""The Tensor class: its fields' public faces and the Python protocol. Operators are bound to it by `bind`."""
from __future__ import annotations

import copyreg
import sys
from collections import OrderedDict
from weakref import ref as weakref

import jax
import numpy as np
from numpy import ndarray

from ...engine import TRACED, context, half, is_host, literal, meta_of, value_of, warn
from ...ops import promotion as P
from . import dispatch, graph, host, settings, storage
from .device import device as as_device, from_jax
from .dispatch import wrap
from .dtype import FROM_NP
from .graph import (AccumulateGrad, Node, RemovableHandle, add_hook, forward_only, keep_shape, lead_nowhere, leads_nowhere,
                    leaf_with_tangent, loosen_shapes, meet_inference, tangent_alone)
from .handle import TensorBase, edge, keep_count, log_edge, log_grad, look, version
from .hooks import hooks_at
from . import overriding
from .overriding import called_by_user, disabled_torch_function_impl, of_class
from .size import Size, size_of
from .view import detached, elements, still_view
from .write import ask, ask_for_version, is_inference

_autograd = None           # the module, when it is first needed: it stands above this one

_IN_TRANSFORM = ("You are attempting to call {} inside of a function being transformed by a functorch transform. This is unsupported, "
                 "please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call {} outside of a "
                 "function being transformed instead.")


class Extra:
    """What few tensors have: a gradient, hooks, a version of their own, a name; whether edges lead to a view without history. `later`: see
    `hooks_stay`."""
    __slots__ = ("grad", "hooks", "post_hooks", "retains", "version", "accumulator", "imag", "led", "later")

    def __init__(self):
        self.grad = self.hooks = self.post_hooks = self.retains = self.version = self.accumulator = self.imag = self.led = self.later = None


class _TensorMeta(type):
    """The class of tensor classes. Those that want to be asked (see core/overriding.py) are noticed here."""

    def __init__(cls, name, bases, namespace, **kwargs):
        super().__init__(name, bases, namespace, **kwargs)
        if "__torch_dispatch__" in namespace and "__torch_function__" not in namespace:      # such classes see operators only, as in torch
            cls.__torch_function__ = staticmethod(disabled_torch_function_impl)
        if getattr(cls, "__torch_function__", disabled_torch_function_impl) is not disabled_torch_function_impl:
            from ...overrides import begin
            begin()


def _begin_dispatch():
    from ...overrides import begin_dispatch
    begin_dispatch()


overriding.begin_dispatch = _begin_dispatch    # by the first instance of a class that sees operators


def _plain_tensor():
    return Tensor


def _reduce_class(cls):
    """How pickles name a tensor class. Tensor calls itself torch.Tensor, a name that exists only while the drop-in is installed."""
    return (_plain_tensor, ()) if cls is Tensor and "torch" not in sys.modules else cls.__qualname__


copyreg.pickle(_TensorMeta, _reduce_class)


class Tensor(TensorBase, metaclass=_TensorMeta):
    """A torch tensor. The value is computed when somebody looks at it."""
    __slots__ = ()
    __array_priority__ = 1000
    __module__ = "torch"

    def __new__(cls, *args, device=None, **kwargs):
        from ..api.creation import legacy
        t = legacy(args, device=device, named=kwargs)
        return t if cls is Tensor else of_class(t, cls)

    def _ts_more(self):
        if self._ts_extra is None:
            self._ts_extra = Extra()
        return self._ts_extra

    # -- what is known without computing ---------------------------------------------------------------------------
    @property
    def _ts_meta(self):
        vw = self._ts_view
        return self._ts_st.value.meta if vw is None else vw.meta

    @property
    def shape(self):
        return size_of(Size, self._ts_meta.shape)

    @property
    def dtype(self):
        return FROM_NP[self._ts_meta.dtype]

    @property
    def device(self):
        return from_jax(self._ts_meta.device)

    @property
    def ndim(self):
        return self._ts_meta.ndim

    def dim(self):
        """Number of dimensions."""
        return self._ts_meta.ndim

    ndimension = dim

    def size(self, dim=None):
        """The shape, or one of its entries."""
        if dim is None:
            return size_of(Size, self._ts_meta.shape)
        from ...ops.common import wrap_dim
        if not self._ts_meta.ndim:
            raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
        try:
            return self._ts_meta.shape[wrap_dim(dim, self._ts_meta.ndim)]
        except TypeError:
            raise TypeError(f"size(): argument 'dim' (position 1) must be int, not {type(dim).__name__}") from None

    def stride(self, dim=None):
        """Element strides, or one of them."""
        if dim is None:
            return self._ts_meta.strides
        from ...ops.common import wrap_dim
        try:
            return self._ts_meta.strides[wrap_dim(dim, self._ts_meta.ndim)]
        except TypeError:
            raise TypeError(f"stride(): argument 'dim' (position 1) must be int, not {type(dim).__name__}") from None

    def numel(self):
        """Number of elements."""
        return self._ts_meta.numel

    nelement = numel

    def storage_offset(self):
        """Where the tensor begins in its storage, in elements."""
        return 0 if self._ts_view is None else self._ts_view.offset

    def is_contiguous(self, *, memory_format=None):
        """Whether the elements lie row-major without gaps (or in `memory_format`)."""
        if memory_format is not None:
            from .memory_format import check_format, is_in_format, refuse_batched
            check_format("is_contiguous", memory_format)
            if memory_format.name.startswith("channels_last"):
                refuse_batched(self)
            return is_in_format(self._ts_meta, memory_format)
        return self._ts_meta.contiguous

    @property
    def itemsize(self):
        return self._ts_meta.dtype.itemsize

    def element_size(self):
        """Bytes of one element."""
        return self._ts_meta.dtype.itemsize

    @property
    def nbytes(self):
        return self._ts_meta.numel * self._ts_meta.dtype.itemsize

    def data_ptr(self):
        """A number that two tensors share exactly when they begin at the same place of the same storage."""
        if not self._ts_meta.numel or self._ts_meta.device == "meta":
            return 0
        return storage.address(self._ts_st) + self.storage_offset() * self._ts_meta.dtype.itemsize

    const_data_ptr = data_ptr

    @property
    def grad_dtype(self):
        """The dtype that gradients of a leaf have: its own. RuntimeError for others; NotImplementedError where another is asked for."""
        if not self.is_leaf:
            raise RuntimeError("grad_dtype can only be accessed on leaf tensors.")
        return self.dtype

    @grad_dtype.setter
    def grad_dtype(self, dtype):
        if not self.is_leaf:
            raise RuntimeError("grad_dtype can only be set on leaf tensors.")
        if dtype is not None and type(dtype) is not type(self.dtype):
            raise RuntimeError(f"grad_dtype must be a torch.dtype or None, but got {type(dtype).__name__}")
        if dtype is not self.dtype:
            raise NotImplementedError("torchshim: a leaf's gradient has the leaf's dtype (grad_dtype)")

    _cdata = property(id, doc="A number that tells whether two names mean one tensor.")

    @property
    def is_leaf(self):
        e = edge(self)
        return e is None or e is self or e.__class__ is AccumulateGrad or forward_only(e)

    @property
    def requires_grad(self):
        vw = self._ts_view                        # a view of what wants a gradient says so, however it was made
        e = self._ts_edge
        if e is None and vw is not None and vw.base is not None:
            e = vw.base._ts_edge
        return e is not None and not forward_only(e)

    @requires_grad.setter
    def requires_grad(self, value):
        if not isinstance(value, bool):
            raise RuntimeError("requires_grad must be a bool")
        known = self._ts_edge is None or self._ts_edge is True
        e = edge(self) if known else self._ts_edge        # a history is not asked for, only whether there is one
        if value and e is not None and e is not self and not forward_only(e):
            raise RuntimeError("you can only change requires_grad flags of leaf variables.")
        if value and e is None and P.kind_of(self._ts_meta.dtype) < 2:
            raise RuntimeError("only Tensors of floating point and complex dtype can require gradients")
        self.requires_grad_(value)

    @requires_grad.deleter
    def requires_grad(self):
        raise RuntimeError("requires_grad must be a bool")

    def requires_grad_(self, requires_grad=True):
        """Ask for (or give up) a gradient of this leaf."""
        if requires_grad.__class__ is not bool and not isinstance(requires_grad, np.bool_):
            raise TypeError(f"requires_grad_(): argument 'requires_grad' (position 1) must be bool, not {type(requires_grad).__name__}")
        if "transform" in context.modes:
            raise RuntimeError(_IN_TRANSFORM.format("Tensor.requires_grad_() (or perhaps using torch.autograd.functional.* APIs)",
                                                    "requires_grad_()"))
        return self._ts_ask_for_grad(requires_grad)

    def _ts_ask_for_grad(self, requires_grad=True):
        if requires_grad:
            if self._ts_edge is None:
                d = self._ts_meta.dtype
                if P.kind_of(d) < 2:
                    raise RuntimeError("only Tensors of floating point dtype can require gradients")
                if is_inference(self) and not context.inference:
                    raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")
                if is_inference(self):
                    meet_inference()
                if leads_nowhere(self) and self._ts_view.base._ts_edge is not None:
                    lead_nowhere(self)
                self._ts_edge = True
            elif forward_only(self._ts_edge):
                self._ts_edge = leaf_with_tangent(self)
            return self
        e = self._ts_edge if self._ts_edge not in (None, True) else edge(self)
        if e.__class__ is AccumulateGrad:
            self._ts_edge = tangent_alone(self)
        elif e is not None and not forward_only(e):
            if e is not self:
                raise RuntimeError("you can only change requires_grad flags of leaf variables. If you want to use a computed "
                                   "variable in a subgraph that doesn't require differentiation use var_no_grad = var.detach().")
            self._ts_edge = None
        return self

    @property
    def grad_fn(self):
        e = edge(self)
        if e is None or e is self or e.__class__ is AccumulateGrad or forward_only(e):
            return None
        return e[0] if e.__class__ is tuple else e if isinstance(e, Node) else None

    @property
    def output_nr(self):
        e = self._ts_edge                      # a history that was lost is not asked for
        return e[1] if e.__class__ is tuple else 0

    @property
    def grad(self):
        x = self._ts_extra
        if x is None or x.grad is None:
            e = self._ts_edge
            if e is not None and e is not True and e.__class__ is not AccumulateGrad and (x is None or not x.retains) and not forward_only(e):
                warn("The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute "
                     "won't be populated during autograd.backward(). If you indeed want the .grad field to be populated "
                     "for a non-leaf Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor "
                     "by mistake, make sure you access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 "
                     "for more information.")
            return None
        return x.grad

    @grad.setter
    def grad(self, g):
        if g is None:
            del self.grad
            return
        if not isinstance(g, Tensor):
            raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(g).__name__}")
        if g is self:
            raise RuntimeError("can't assign Variable as its own grad")
        if g.dtype != self.dtype:
            raise RuntimeError(f"attempting to assign a gradient with dtype '{P.cpp_name(g.dtype.np)}' to a tensor with grad_dtype "
                               f"'{P.c_name(self._ts_meta.dtype)}'. The gradient must match the tensor's grad_dtype (defaults to the "
                               "tensor's dtype). You can set the tensor's grad_dtype attribute with a specific dtype, or None to allow "
                               "any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and its gradient may "
                               "break downstream systems that assume they match.")
        if g.shape != self.shape:
            raise RuntimeError(f"attempting to assign a gradient of size '{list(g.shape)}' to a tensor of size '{list(self.shape)}'. "
                               "Please ensure that the gradient and the tensor are the same size")
        log_grad(self)
        if g.is_sparse:
            graph.sparse = True                # backward passes may meet it
        self._ts_more().grad = g

    @grad.deleter
    def grad(self):
        if self._ts_extra is not None:
            log_grad(self)
            self._ts_extra.grad = None

    _grad = property(lambda self: self.grad, lambda self, g: setattr(self, "grad", g), doc="Another name of `grad`.")

    @property
    def _version(self):
        found = version(self)
        if found != found:
            if not self.is_inference():
                return 0
            raise RuntimeError("Inference tensors do not track version counter.")
        return int(found)

    @property
    def _base(self):
        vw = self._ts_view
        return None if vw is None else vw.base

    def _is_view(self):
        return self._base is not None

    @property
    def is_cuda(self):
        return self.device.type == "cuda"

    @property
    def is_meta(self):
        return self._ts_meta.device == "meta"

    is_cpu = property(lambda self: self.device.type == "cpu")
    is_sparse = is_quantized = is_mkldnn = is_nested = is_xla = is_mps = is_xpu = is_ipu = is_vulkan = is_sparse_csr = is_maia = \
        is_mtia = property(lambda self: False)

    @property
    def volatile(self):
        warn("volatile was removed (Variable.volatile is always False)")
        return False

    name = property(lambda self: None)
    layout = property(lambda self: _strided())

    def is_floating_point(self):
        return P.kind_of(self._ts_meta.dtype) == 2

    def is_complex(self):
        return P.kind_of(self._ts_meta.dtype) == 3

    def is_signed(self):
        return self.dtype.is_signed

    def is_inference(self):
        """Whether the tensor was made in inference mode."""
        return is_inference(self) and not any([i._ts_st is self._ts_st for level in context.modes.get("transform", ()) for i in level.ins])

    def is_pinned(self, device=None):
        """False: memory is not pinned."""
        if device is not None:
            as_device(device)
        return False

    def is_shared(self):
        from .shared import is_shared
        return is_shared(self)

    def is_same_size(self, other):
        return self.shape == other.shape

    def get_device(self):
        """Index of the device, -1 on the CPU."""
        d = self.device
        return -1 if d.type in ("cpu", "meta") else d.index or 0

    # -- autograd ---------------------------------------------------------------------------------------------------
    def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
        """Accumulate the gradients of this tensor into the leaves; see torch.autograd.backward."""
        global _autograd
        if _autograd is None:                  # a statement of import takes a microsecond each time
            from ... import autograd as _autograd
        _autograd.backward(self, gradient, retain_graph, create_graph, inputs=inputs)

    def detach(self):
        """The same data without history."""
        if "transform" in context.modes and called_by_user(sys._getframe(1), "detach"):
            from ...autograd.levels import refuse_detaching
            refuse_detaching(self)
        y = detached(self)
        if is_inference(y) and not context.inference:
            y._ts_more().version = [0]         # it counts for itself
        return y

    def detach_(self):
        """Cut this tensor from its history."""
        if context.inference:                  # where autograd is left out altogether
            return self
        ask_for_version(self)
        if self._ts_view is not None and self._ts_view.base is not None and not is_inference(self):
            raise RuntimeError("Can't detach views in-place. Use detach() instead. If you are using DistributedDataParallel (DDP) "
                               "for training, and gradient_as_bucket_view is set as True, gradients are views of DDP buckets, and "
                               "hence detach_() cannot be called on these gradients. To fix this error, please refer to the "
                               "Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution.")
        ask(self, "detach_")
        if self._ts_edge is not None and self._ts_edge is not True:
            storage.note_history(self)
            self._ts_st.gen += 1                  # what was saved before is looked at again
            hooks = hooks_at(self._ts_edge, self._ts_extra)
            if hooks is not None or self._ts_extra is not None:
                self._ts_more().hooks = hooks     # those of the leaf that it may become
        self._ts_edge = None
        return self

    @property
    def data(self):
        if "transform" in context.modes and self._ts_view is None and self._ts_st.value.extra is TRACED:
            raise RuntimeError("accessing `data` under vmap transform is not allowed")
        return self._ts_bare()

    def _ts_bare(self):
        """The same memory without a history, whose writes are counted apart."""
        y = detached(self)
        y._ts_more().version = [0]
        return y

    @data.setter
    def data(self, other):
        if not isinstance(other, Tensor):
            from ..api.parameters import name_in_c
            raise TypeError(f"Variable data has to be a tensor, but got {name_in_c(type(other))}")
        if self.requires_grad and P.kind_of(other._ts_meta.dtype) < 2:
            raise RuntimeError("data set to a tensor that requires gradients must be floating point or complex dtype")
        y = detached(other)
        if is_inference(y):
            meet_inference()
        keep_count(self)
        log_edge(self)
        if self._ts_edge is not None and y._ts_meta.shape != self._ts_meta.shape:
            loosen_shapes()
            if self._ts_edge is True and y._ts_meta.dtype == self._ts_meta.dtype:
                keep_shape(self)
        try:
            e = edge(self)
        except RuntimeError:                       # a history that was lost is told to who asks for it
            e = self._ts_edge
        storage.note_move(self, e)
        self._ts_st, self._ts_view = y._ts_st, still_view(self, y)

    @data.deleter
    def data(self):
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    def retain_grad(self):
        """Keep this non-leaf tensor's gradient."""
        if "transform" in context.modes:
            raise RuntimeError(_IN_TRANSFORM.format("Tensor.retain_grad()", "retain_grad()"))
        if self._ts_edge is not None and self.retains_grad:       # it is not asked for its history again, which may be lost
            return
        e = self if self._ts_edge is None and self.requires_grad else edge(self)        # what began as a leaf is asked for no history
        if e is None:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if e is self or self._ts_more().retains:
            return
        self._ts_more().retains = True
        node, nr = e if e.__class__ is tuple else (e, 0)
        x = node._ts_more()
        x.retain = x.retain or {}
        x.retain[nr] = weakref(self)

    @property
    def retains_grad(self):
        return self._ts_extra is not None and bool(self._ts_extra.retains)

    def register_hook(self, hook):
        """`hook(grad)` runs when this tensor's gradient is computed and may return another."""
        e = edge(self)
        if e is None:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if e is self:
            return add_hook(self._ts_more(), "hooks", hook)
        hooks = hooks_at(e, self._ts_extra)
        if hooks is None:
            node, nr = e if e.__class__ is tuple else (e, 0)
            x = node._ts_more()
            x.tensor_hooks = x.tensor_hooks or {}
            hooks = x.tensor_hooks[nr] = OrderedDict()
        handle = RemovableHandle(hooks)
        hooks[handle.id] = hook
        return handle

    def register_post_accumulate_grad_hook(self, hook):
        """`hook(param)` runs after this leaf's `.grad` was accumulated."""
        if edge(self) is None:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        if self._ts_edge is not True and edge(self) is not self:       # a view without history is a leaf, too
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        return add_hook(self._ts_more(), "post_hooks", hook)

    # -- looking at the values ----------------------------------------------------------------------------------------
    def _ts_host(self):
        """The values as a NumPy array (not to be written); halves of complex numbers as complex64."""
        a = np.asarray(look(self))
        return a if self._ts_meta.dtype is not P.complex32 else half.unpack(a)

    def item(self):
        """The only element as a Python number."""
        if self._ts_view is None:
            v = self._ts_st.value
            m, a = v.meta, v.array
            if a is not None and m.numel == 1 and m.dtype.kind != "V":
                if context.ended is not None:
                    context.look()
                return (a if a.__class__ is ndarray else np.asarray(a)).item()
        m = self._ts_meta
        if m.numel != 1:
            _ask_values(self)
            raise RuntimeError(f"a Tensor with {m.numel} elements cannot be converted to Scalar")
        if m.device == "meta":
            raise RuntimeError("Tensor.item() cannot be called on meta tensors")
        x = np.asarray(look(self))
        if m.dtype.kind == "V":
            return float(x.reshape(())) if m.dtype is not P.complex32 else half.unpack(x).item()
        return x.item()

    def tolist(self):
        """Nested lists of Python numbers."""
        a = self._ts_host()
        if a.dtype.kind == "V" or (P.kind_of(a.dtype) == 2 and a.dtype.kind != "f"):
            a = a.astype(np.float32)
        return a.tolist()

    def numpy(self, *, force=False):
        """The values as a NumPy array that shares the tensor's memory; with `force` a copy where it cannot."""
        if force is not False:
            if force is not True:
                raise TypeError(f"numpy(): argument 'force' must be bool, not {type(force).__name__}")
            return self.detach().cpu().resolve_conj().resolve_neg().numpy()
        m = self._ts_meta
        if not is_host(m.device) and (m.device == "meta" or self.device.type != "cpu"):
            raise TypeError(f"can't convert {self.device} device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory "
                            "first.")
        if context.grad and self.requires_grad:
            raise RuntimeError("Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.")
        if self._ts_view is not None:
            for bit, wrong in (("conj", self.is_conj()), ("neg", self.is_neg())):
                if wrong:
                    raise RuntimeError(f"Can't call numpy() on Tensor that has {'conjugate' if bit == 'conj' else 'negative'} bit set. Use "
                                       f"tensor.resolve_{bit}().numpy() instead.")
        if m.dtype.kind != "f" and P.kind_of(m.dtype) == 2 or m.dtype is P.complex32:
            raise TypeError(f"Got unsupported ScalarType {P.c_name(m.dtype)}")
        return host.array(self)

    def __array__(self, dtype=None, copy=None):
        a = self.numpy()
        return np.array(a, dtype, copy=copy)

    def __jax_array__(self):
        from ...interop import to_jax as out
        return out(self)

    def __bool__(self):
        m = self._ts_meta
        if m.numel != 1:
            _ask_values(self)
            if not m.numel:
                raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
            raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
        return bool(self.item())

    def _ts_only(self):
        if self._ts_meta.numel != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        return self.item()

    def _ts_only_real(self, c_type):
        x = self._ts_only()
        if x.__class__ is complex:
            if x.imag:
                raise RuntimeError(f"value cannot be converted to type {c_type} without overflow")
            return x.real
        return x

    def _ts_tell_scalar(self):
        if context.grad is True and self.requires_grad:
            settings.warn_once("Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
                               "Consider using tensor.detach() first.")

    def __float__(self):
        self._ts_tell_scalar()
        return float(self._ts_only_real("double"))

    def __int__(self):
        return int(self._ts_only_real("int64_t"))

    def __complex__(self):
        self._ts_tell_scalar()
        return complex(self._ts_only())

    def __index__(self):
        m = self._ts_meta
        if m.numel != 1 or P.kind_of(m.dtype) > 1:
            raise TypeError("only integer tensors of a single element can be converted to an index")
        return int(self.item())

    def __len__(self):
        if not self._ts_meta.ndim:
            raise TypeError("len() of a 0-d tensor")
        return self._ts_meta.shape[0]

    def __iter__(self):
        if not self.dim():
            raise TypeError("iteration over a 0-d tensor")
        if self._ts_meta.ndim == 1 and self._ts_meta.numel > 128 and edge(self) is None:
            return elements(self)
        return iter(self.unbind(0))

    def __reversed__(self):
        return self.flip(0) if self.ndim else self

    def __contains__(self, x):
        if isinstance(x, (Tensor, int, float, complex)):
            return bool((self == x).any())
        raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(x)}.")

    def __hash__(self):
        return id(self)

    def __format__(self, format_spec):
        if self._ts_meta.ndim == 0 and not self.is_meta and type(self) is Tensor:
            return self.item().__format__(format_spec)
        return object.__format__(self, format_spec)

    def __repr__(self, *, tensor_contents=None):
        from .text import tensor_text
        if "transform" in context.modes or self._ts_st.value.extra is TRACED:
            from ...autograd.levels import shown
            return shown(self, lambda t: tensor_text(t, tensor_contents))
        return tensor_text(self, tensor_contents)

    def __deepcopy__(self, memo):
        from .copying import deepcopy
        return deepcopy(self, memo)

    def __copy__(self):
        from .copying import shallow
        return shallow(self)

    def __reduce_ex__(self, proto):
        from ..._tensor import reduce
        return reduce(self)

    def __setstate__(self, state):
        self.__dict__.update(state)

    def __dlpack__(self, **kwargs):
        from ..api.sharing import exported
        return exported(self).__dlpack__(**kwargs)

    def __dlpack_device__(self):
        from ..api.sharing import exported
        return exported(self).__dlpack_device__()

    def __dir__(self):
        return sorted(set(object.__dir__(self)))


def _ask_values(t):
    """Of several numbers torch tells how many they are, or, where they are an example of vmap's, that nobody looks at those."""
    if t._ts_st.value.extra is TRACED and "transform" in context.modes and context.modes["transform"][-1].kind == "vmap":
        np.asarray(look(t))


def _strided():
    from .layout import strided
    return strided


dispatch.use_class(Tensor)


def tensor_from(array, device=None, strides=None):
    """A tensor around a host array, which nobody may write afterwards; `strides` where its elements shall not count as row-major."""
    v = literal(array)
    if strides is not None or device is not None and device is not v.meta.device:
        m = meta_of(array.shape, array.dtype, v.meta.device if device is None else device, strides)
        with jax.enable_x64(True):
            v = value_of(None if device == "meta" else v.array if m.device is v.meta.device else jax.device_put(v.array, device), m)
    return wrap(v)
