"""New tensors: filled, like others, from data."""
from __future__ import annotations

import types

import numpy as np

from ...engine import TRACED, context, contiguous_strides, half, meta_of, record, value_of, warn
from ...engine.direct import number as number_array
from ...engine.record.memo import Memo
from ...ops import promotion as P
from ...ops.creation import FULL, ONES, ZEROS
from .bind import FUNCTIONS, function, into, number, type_name
from .host_data import SIMPLE, host_array
from .looked_up import looked_up
from .misfits import misfit
from .out import unfollowed
from .signatures import UNSET, ask_parser, guarded
from .views import INTEGERS, ints
from ..core import settings
from ..core.device import device as torch_device, to_jax
from ..core.dispatch import wrap, wrapped
from ..core.dtype import FROM_NP, get_default_dtype, np_dtype
from ..core.handle import TensorBase, read
from ..core.memory_format import check_format, preserve_format, strides_for
from ..core.size import Size
from ..core.tensor import Tensor, tensor_from
from ..core.view import detached


def made(op, shape, dtype, device, nums=(), kinds="", strides=None, extra=()):
    """What a Make operator makes, recorded, as a tensor (without data on the meta device)."""
    m = meta_of(shape, dtype, device, strides)
    if m.dtype is P.complex32:
        half.announce()
    return wrap(value_of(None, m)) if device == "meta" else _made(op, m, nums, kinds, extra)


def _made(op, m, nums=(), kinds="", extra=()):
    if context.trace.device is not m.device:
        context.go_to(m.device)
    direct = context.trace.direct
    v = None if direct is None else direct.call((op, (m, extra), kinds), *map(number_array, nums, kinds))
    return wrap(record(context, op, (m, extra), (), nums, kinds)[0] if v is None else v)


def unset(shape, d, device, strides=None):
    """Memory that nobody has set: zeros, or what shows at once that nobody has where deterministic algorithms want that."""
    if not settings.fill_uninitialized or not settings.deterministic or device == "meta" or d.name.startswith("float8"):
        return made(ZEROS, shape, d, device, strides=strides)
    kind = P.kind_of(d)
    x = True if kind == 0 else int(np.iinfo(d).max) if kind == 1 else float("nan")
    return filled(shape, _storable(x, d, shape), d, device, strides)


def done(t, requires_grad, pin_memory=False, layout=None, name="tensor"):
    """The last keywords that every factory takes."""
    if requires_grad.__class__ is not bool and requires_grad is not None:
        raise TypeError(f"{name}(): argument 'requires_grad' must be bool, not {type_name(requires_grad)}")
    if layout is not None and getattr(layout, "name", "strided") != "strided":
        backend = "Sparse" if layout.name == "sparse_coo" else "SparseCsr" if layout.name.startswith("sparse_") else layout.name
        raise NotImplementedError(f"Could not run 'aten::empty_strided' with arguments from the '{backend}CPU' backend: torchshim makes no "
                                  f"dense tensor with layout {layout}")
    if not requires_grad:
        return t
    if P.kind_of(t._ts_meta.dtype) < 2:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return t._ts_ask_for_grad()


_LAYOUT_NAMES = {"sparse_coo": "Sparse", "sparse_csr": "SparseCsr", "sparse_csc": "SparseCsc", "sparse_bsr": "SparseBsr",
                 "sparse_bsc": "SparseBsc", "jagged": "Jagged"}


def destined(name, out, dtype, default, device=None, layout=None):
    """(NumPy dtype, JAX device) of what the factory `name` makes: as asked for, else those of `out`, else the defaults."""
    d = np_dtype(dtype)
    if out is None:
        return default if d is None else d, to_jax(device)
    if not isinstance(out, TensorBase):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type_name(out)}")
    m = out._ts_meta
    if d is not None and d != m.dtype:
        raise RuntimeError(f"dtype {P.c_name(d)} does not match dtype of out parameter ({P.c_name(m.dtype)})")
    if layout is not None and layout.name in _LAYOUT_NAMES:
        raise RuntimeError(f"layout {_LAYOUT_NAMES[layout.name]} does not match layout of out parameter (Strided)")
    if device is not None and torch_device(device).type != out.device.type:
        raise RuntimeError(f"device type {torch_device(device).type} does not match device type of out parameter ({out.device.type})")
    return m.dtype, m.device


def delivered(name, t, out, requires_grad=False, layout=None, linear=False):
    """What a factory gives: `t`, or `out` with its elements. `out` gets the shape of `t` without a word, or keeps its own if that has as
    many elements and `linear` says that these are only counted."""
    if out is None:
        return done(t, requires_grad, layout=layout, name=name)
    name = f"aten::{name}"
    if name in ("aten::empty", "aten::randn") and context.grad and out.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    written = unfollowed(name, out)
    if not (linear and out.numel() == t.numel()):
        out.resize_(t.shape)
    elif out.shape != t.shape:
        t = t.view(out.shape)
    into(out, t, name)
    written()
    return out.requires_grad_() if requires_grad else out


def check_size(shape):
    for n in shape:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{', '.join(map(str, shape))}]")
    return shape


def check_memory(shape, itemsize):
    """torch's errors for sizes that no address reaches."""
    step = 1
    for n in shape[:0:-1]:
        step *= max(n, 1)
        if step >= 2 ** 63:
            raise RuntimeError("Stride calculation overflowed")
    if shape and step * shape[0] * itemsize >= 2 ** 63 and 0 not in shape:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
    return shape


def named_size(name, size, named):
    """The size that was given by its name, if it was not given otherwise, too."""
    if size:
        raise TypeError(f"{name}() got multiple values for argument 'size'")
    return named


def sizes_of(name, args):
    """The sizes given to the factory `name`, as one sequence or spread over its arguments."""
    if not args:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    shape = ints(args, name)
    if name == "zeros" and shape and min(shape) < 0:
        raise RuntimeError("zeros: Dimension size must be non-negative.")
    return check_size(shape)


def _is_sparse(layout):
    return layout is not None and layout.name.startswith("sparse_")


def _without_values(name, shape, d, device, layout, requires_grad):
    """A sparse tensor of zeros; torch has the other factories for dense ones only."""
    if name == "ones":
        raise RuntimeError("full(...) is not implemented for sparse layout")
    from ..sparse.factories import empty_in_layout
    return empty_in_layout(shape, layout, FROM_NP[d], device, requires_grad)


_plain = Memo(1024)        # {(sizes that are ints, dtype, device): Meta}


def _factory(name, op=None):
    def make(*size, out=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, **kw):
        if op is not None and out is layout is None and not kw and INTEGERS.issuperset(map(type, size)):
            key = size, P.default_float if dtype is None else np_dtype(dtype), to_jax(device)
            m = _plain.get(key)
            if m is None and size and min(size) >= 0 and key[1] is not P.complex32 and key[2] != "meta":
                m = _plain.keep(key, meta_of(check_memory(size, key[1].itemsize), *key[1:]))
            if m is not None:
                t = _made(op, m)
                return t if requires_grad is False else done(t, requires_grad)
        if "size" in kw:
            size = (named_size(name, size, kw.pop("size")),)
        fmt = kw.pop("memory_format", None) if name == "empty" else None
        if kw:
            raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(kw))}'")
        if fmt is not None:
            check_format(name, fmt)
            if fmt is preserve_format:
                raise RuntimeError("unsupported memory format Preserve")
        if fmt is not None and out is not None:
            raise RuntimeError("'memory_format' argument is incompatible with 'out' tensor argument")
        if out is not None and _is_sparse(getattr(out, "layout", None)):
            from ..sparse.factories import emptied
            return emptied(name, sizes_of(name, size), out, dtype, requires_grad)
        d, where = destined(name, out, dtype, P.default_float, device, layout)
        shape = check_memory(sizes_of(name, size), d.itemsize)
        if out is None and _is_sparse(layout):
            return _without_values(name, shape, d, device, layout, requires_grad)
        t = made(op, shape, d, where) if op is not None else unset(shape, d, where, fmt and strides_for(shape, fmt))
        return delivered(name, t, out, requires_grad, layout)
    make.__name__ = make.__qualname__ = name
    make.__module__ = "torchshim"
    make.__doc__ = f"A tensor of the given size, {'uninitialised (zeros here)' if name == 'empty' else name}."
    return make


zeros, ones, empty = [guarded(f, f.__name__, False)
                      for f in (looked_up(_factory("zeros", ZEROS)), looked_up(_factory("ones", ONES)), _factory("empty"))]
FUNCTIONS.update(zeros=zeros, ones=ones, empty=empty)


@function(method=False)
def empty_strided(size, stride, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor with the given strides (zeros here): gaps in memory and elements that coincide included."""
    size, stride = check_size(ints((size,), "empty_strided")), ints((stride,), "empty_strided", "stride")
    if len(size) != len(stride):
        raise RuntimeError("dimensionality of sizes ({}) must match dimensionality of strides ({})".format(len(size), len(stride)))
    if any(s < 0 for s in stride):
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    d, where = np_dtype(dtype, P.default_float), to_jax(device)
    if 0 not in size and (1 + sum([(n - 1) * s for n, s in zip(size, stride)])) * d.itemsize >= 2 ** 63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(size)} and strides={list(stride)}")
    step = 1
    for n, s in sorted(((n, s) for n, s in zip(size, stride) if n > 1), key=lambda e: e[1]):
        if s != step:
            end = 1 + sum((n - 1) * s for n, s in zip(size, stride)) if 0 not in size else 0
            return done(detached(unset((end,), d, where).as_strided(size, stride)), requires_grad)
        step *= n
    return done(unset(size, d, where, stride), requires_grad)


@function(method=False)
def empty_permuted(size, physical_layout, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor (of zeros here) whose dimensions lie in memory in the order `physical_layout`, the outermost first."""
    size, order = tuple(size), tuple(physical_layout)
    if len(order) != len(size):
        raise RuntimeError(f"Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = {len(size)} "
                           f"is not equal to len(physical_layout) = {len(order)}")
    if any(not 0 <= d < len(size) for d in order):
        wrong = next(d for d in order if not 0 <= d < len(size))
        raise RuntimeError(f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got {wrong} at index "
                           f"{order.index(wrong)}).  NB: negative dims not currently supported; file an issue if you want it.")
    if len(set(order)) != len(order):
        raise RuntimeError("Duplicate dim not allowed")
    stride, step = [0] * len(size), 1
    for d in reversed(order):
        stride[d], step = step, step * max(size[d], 1)
    return empty_strided(size, stride, dtype=dtype, device=device, requires_grad=requires_grad)


@function(method=False)
def full(size, fill_value, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor filled with one number, whose kind decides the dtype."""
    x = _number("full", fill_value)
    if not isinstance(size, (list, tuple)):
        raise TypeError(f"full(): argument 'size' (position 1) must be tuple of ints, not {type_name(size)}")
    natural = {bool: P.bool_, int: P.int64, float: P.default_float, complex: P.complex128 if P.default_float == P.float64
               else P.complex64}[type(x)]
    d, where = destined("full", out, dtype, natural, device, layout)
    if out is None and _is_sparse(layout):
        raise RuntimeError("full(...) is not implemented for sparse layout")
    shape = check_memory(sizes_of("full", (size,)), d.itemsize)
    return delivered("full", filled(shape, _storable(x, d, shape), d, where), out, requires_grad, layout)


def _number(name, x):
    """The number that a tensor is filled with."""
    n = x.item() if isinstance(x, TensorBase) and not x._ts_meta.ndim and not x.requires_grad else number(x)
    if n is None:
        raise TypeError(f"{name}(): argument 'fill_value' (position 2) must be Number, not {type_name(x)}")
    return n


def _storable(x, d, shape):
    """`x`, which torch's `fill_` takes into a tensor of this shape and dtype."""
    from .shape import filler
    return filler(x, meta_of((), d, "meta"), "fill_", all([n == 1 for n in shape]))


def filled(shape, x, d, device, strides=None):
    """A tensor of one Python number."""
    from .bind import PACKED, pack
    nums = []
    kinds = PACKED[pack(x, nums)]
    return made(FULL, shape, d, device, nums, kinds, strides)


def _like(name, op=None):
    def make(input, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False, memory_format=None):
        m = _model(name, input)
        like = m.shape, np_dtype(dtype, m.dtype), m.device if device is None else to_jax(device)
        if name == "zeros_like" and _is_sparse(layout):
            return _without_values("zeros", m.shape, like[1], input.device if device is None else device, layout, requires_grad)
        strides = like_strides(m, memory_format)
        return done(_of_each(unset(*like, strides) if op is None else made(op, *like, strides=strides), input), requires_grad,
                    layout=layout)
    make.__name__ = make.__qualname__ = name
    make.__module__ = "torchshim"
    make.__doc__ = f"As `{name[:-5]}`, with the size, dtype, device and layout of `input`."
    return make


def _of_each(made, like):
    """In a vmap a tensor made like an example is that of each example, as in torch, and may be written to by it: not one for all."""
    if "transform" not in context.modes or read(like).extra is not TRACED:
        return made
    like = detached(like)
    never = FUNCTIONS["logical_and"]((like != like).any(), tensor_from(np.array(False), like._ts_meta.device))
    return FUNCTIONS["where"](never, made, made)


def _model(name, input):
    """The Meta of what the result of `name` shall be like."""
    if not isinstance(input, TensorBase):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type_name(input)}")
    return input._ts_meta


def like_strides(m, memory_format=None):
    """Strides of a tensor made like another: its own when dense, else contiguous in its order."""
    if memory_format is not None and memory_format.name == "contiguous_format":
        return None
    if memory_format is not None and memory_format.name != "preserve_format":
        return strides_for(m.shape, memory_format)
    if m.contiguous:                       # dimensions of one element, and tensors of none, may have any strides
        return None if m.numel and 1 not in m.shape or m.strides == contiguous_strides(m.shape) else m.strides
    from ...ops.layout import elementwise_strides
    return m.strides if m.dense else elementwise_strides((m,), m.shape)


zeros_like, ones_like, empty_like = [guarded(f, f.__name__, False) for f in (_like("zeros_like", ZEROS), _like("ones_like", ONES),
                                                                              _like("empty_like"))]
FUNCTIONS.update(zeros_like=zeros_like, ones_like=ones_like, empty_like=empty_like)


@function(method=False)
def full_like(input, fill_value, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False, memory_format=None):
    """A tensor like `input`, filled with one number."""
    m, x = _model("full_like", input), _number("full_like", fill_value)
    d = np_dtype(dtype, m.dtype)
    return done(_of_each(filled(m.shape, _storable(x, d, m.shape), d, m.device if device is None else to_jax(device),
                                like_strides(m, memory_format)), input), requires_grad)


def _warn_copied(called):
    warn("To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
         f"sourceTensor.detach().clone().requires_grad_(True), rather than {called}(sourceTensor).", UserWarning)


@function(method=False)
def tensor(data=UNSET, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A new leaf tensor with a copy of `data` (numbers, nested sequences, arrays, tensors)."""
    if requires_grad is None:
        raise TypeError("tensor(): argument 'requires_grad' must be bool, not NoneType")
    if data.__class__ in SIMPLE:
        return done(tensor_from(host_array(data, dtype), to_jax(device)), requires_grad)
    if isinstance(data, TensorBase):
        _warn_copied("torch.tensor")
        if data._ts_meta.device == "meta" or read(data).extra is TRACED or device is None:
            t = data.detach().clone()
            t = t if dtype is None else t.to(dtype)
            return done(t if device is None else t.to(device), requires_grad)
    if FUNCTIONS["is_storage"](data):
        t = on_storage(data, dtype or getattr(data, "dtype", FROM_NP[P.int64]))
        return done(t if device is None else t.to(device), requires_grad)
    if data is UNSET:
        raise TypeError('tensor() missing 1 required positional arguments: "data"')
    a, where, strides = host_array(data, dtype), to_jax(device), None
    if isinstance(data, np.ndarray) and not data.flags.c_contiguous:
        strides = like_strides(meta_of(data.shape, data.dtype, where, tuple([s // data.itemsize for s in data.strides])))
    return done(tensor_from(a, where, strides), requires_grad)


@function(method=False)
def scalar_tensor(s, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """A 0-d tensor of the default floating dtype."""
    if s.__class__ not in (int, float, bool, complex):
        ask_parser("scalar_tensor", (s,), {})
    elif s.__class__ is int:
        wrapped(s)
    return tensor(s, dtype=dtype or get_default_dtype(), device=device, requires_grad=requires_grad, pin_memory=pin_memory)


def on_storage(storage, dtype):
    """A tensor of one dimension on a storage's memory."""
    given = getattr(storage, "dtype", dtype)
    if given is not dtype:
        raise RuntimeError(f"Expected a Storage of type {P.c_name(dtype.np)} or an UntypedStorage, but got {P.c_name(given.np)}")
    s = storage.untyped()
    rest = s.nbytes() % dtype.itemsize
    return s._tensor(dtype) if not rest else s._bytes()[:s.nbytes() - rest].view(dtype)


#: What torch's error says that the old constructors take.
_LEGACY_FORMS = [types.SimpleNamespace(pieces=said.split(", ")) for said in (
    "*, torch.device device = None", "torch.Storage storage", "Tensor other", "tuple of ints size, *, torch.device device = None",
    "object data, *, torch.device device = None")]


_LEGACY_NAMES = {"size", "storage", "other", "data"}


def legacy(args, dtype=None, device=None, kind="cpu", named=()):
    """The old constructors, torch.Tensor(...) and torch.LongTensor(...): of sizes, a sequence, an array or a tensor. `kind`: the type of
    device that theirs are on."""
    device = torch_device(kind if device is None else device)
    if device.type != kind:
        raise RuntimeError(f"legacy constructor expects device type: {kind} but device type: {device.type} was passed")
    if named:
        if args or len(named) > 1 or not named.keys() <= _LEGACY_NAMES:
            raise misfit("new", _LEGACY_FORMS, args, named)
        args = tuple([Size(x) if k == "size" else x for k, x in named.items()])
    data = args[0] if args else 0
    if len(args) > 1 and (isinstance(data, Size) or number(data).__class__ is not int):
        raise misfit("new", _LEGACY_FORMS, args, {})
    if isinstance(data, TensorBase):
        if dtype is not None and data.dtype is not dtype:
            raise TypeError(f"expected TensorOptions(dtype={P.cpp_name(dtype.np)}, device=cpu, layout=Strided, requires_grad=false "
                            "(default), pinned_memory=false (default), memory_format=(nullopt)) (got TensorOptions(dtype="
                            f"{P.cpp_name(data.dtype.np)}, device={data.device}, layout=Strided, requires_grad=false (default), "
                            "pinned_memory=false (default), memory_format=(nullopt)))")
        return data.detach()
    dtype = dtype or get_default_dtype()
    if FUNCTIONS["is_storage"](data):
        return on_storage(data, dtype)
    if isinstance(data, (int, Size)) and not isinstance(data, bool):
        return empty(sizes_of("new", args or (0,)), dtype=dtype, device=device)
    if data is None or isinstance(data, (float, complex, bool)):
        raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    return tensor(data, dtype=dtype, device=device)


# -- like this tensor -------------------------------------------------------------------------------------------------------
_NEW_TAKES = {"size", "stride", "fill_value", "layout", "pin_memory"}


def _new(name, f):
    def method(self, *args, dtype=None, device=None, requires_grad=False, **kw):
        if kw and not kw.keys() <= _NEW_TAKES:
            raise TypeError(f"{name}() got an unexpected keyword argument '{min(kw.keys() - _NEW_TAKES)}'")
        made = f(*args, dtype=dtype or self.dtype, device=device if device is not None else self.device, **kw)
        return done(_of_each(made, self), requires_grad, name=name)
    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"As torch.{name[4:]}, with this tensor's dtype and device."
    setattr(Tensor, name, guarded(method, name, True))


_new("new_zeros", zeros)
_new("new_ones", ones)
_new("new_empty", empty)
_new("new_full", full)


def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
    """As torch.tensor, with this tensor's dtype and device."""
    if isinstance(data, TensorBase):
        _warn_copied("tensor.new_tensor")
        made = data.detach().to(device or self.device, dtype or self.dtype, copy=True)
    else:
        made = tensor(data, dtype=dtype or self.dtype, device=device or self.device)
    return done(made, requires_grad, name="new_tensor")


def new(self, *args, size=None, storage=None, other=None, device=None):
    """The old constructor, of this tensor's dtype: of sizes, a sequence, a storage or a tensor."""
    named = [x for x in (size if size is None else Size(size), storage, other) if x is not None]
    return legacy((*args, *named), self.dtype, self.device if device is None else device, self.device.type)


Tensor.new_tensor, Tensor.new = new_tensor, new
_new("new_empty_strided", empty_strided)
