"""New tensors: from data, filled, ranges, like others."""
from __future__ import annotations

import numpy as np

from ...engine import TRACED, context, meta_of, record, value_of, warn
from ...ops import promotion as P
from ...ops.creation import ARANGE, EYE, FULL, LINSPACE, LOGSPACE, ONES, ZEROS
from .bind import FUNCTIONS, function, number, sizes, type_name
from .reduction import as_int
from ..core.device import to_jax
from ..core.dispatch import TensorBase, detached, read, wrap
from ..core.dtype import dtype as torch_dtype, get_default_dtype
from ..core.tensor import Size, Tensor, tensor_from


def made(op, shape, dtype, device, nums=(), kinds="", strides=None, extra=()):
    """What a Make operator makes, recorded, as a tensor (without data on the meta device)."""
    m = meta_of(shape, dtype, device, strides)
    if device == "meta":
        return wrap(value_of(None, m))
    context.go_to(device)
    return wrap(record(context, op, (m, extra), (), nums, kinds)[0])


def np_dtype(dtype, default=None):
    """The NumPy dtype of a torch dtype, None or a Python type."""
    if dtype is None:
        return default
    if isinstance(dtype, torch_dtype):
        return dtype.np
    if dtype in (float, int, bool, complex):
        return {float: get_default_dtype().np, int: np.dtype(np.int64), bool: np.dtype(bool), complex: P.default_complex()}[dtype]
    raise TypeError(f"dtype must be torch.dtype, not {type(dtype).__name__}")


def done(t, requires_grad, pin_memory=False, layout=None):
    """The last keywords that every factory takes."""
    if layout is not None and getattr(layout, "name", "strided") != "strided":
        raise NotImplementedError(f"torchshim: tensors with layout {layout}")
    if not requires_grad:
        return t
    if P.kind_of(t._meta.dtype) < 2:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return t._ask_for_grad()


def check_size(shape):
    for n in shape:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{', '.join(map(str, shape))}]")
    return shape


def _sizes(name, args):
    try:
        return check_size(sizes(args))
    except (AttributeError, TypeError):
        bad = args[0] if len(args) == 1 else args
        raise TypeError(f"{name}(): argument 'size' (position 1) must be tuple of ints, not {type_name(bad)}") from None


def _factory(name, op):
    def make(*size, out=None, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False, names=None, **kw):
        if "size" in kw:
            size = (kw.pop("size"),)
        kw.pop("memory_format", None)
        if kw:
            raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(kw))}'")
        t = made(op, _sizes(name, size), np_dtype(dtype, P.default_float if out is None else out.dtype.np), to_jax(device))
        if out is not None:
            from .bind import into
            return into(out, t, name)
        return done(t, requires_grad, layout=layout)
    make.__name__ = make.__qualname__ = name
    make.__module__ = "torchshim"
    make.__doc__ = f"A tensor of the given size, {'uninitialised (zeros here)' if name == 'empty' else name}."
    return make


zeros = FUNCTIONS["zeros"] = _factory("zeros", ZEROS)
ones = FUNCTIONS["ones"] = _factory("ones", ONES)
empty = FUNCTIONS["empty"] = _factory("empty", ZEROS)


@function(method=False)
def empty_strided(size, stride, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor with the given strides (zeros here): gaps in memory and elements that coincide included."""
    size, stride = tuple(size), tuple(stride)
    if len(size) != len(stride):
        raise RuntimeError("dimensionality of sizes ({}) must match dimensionality of strides ({})".format(len(size), len(stride)))
    if any(s < 0 for s in stride):
        raise RuntimeError("as_strided: Negative strides are not supported at the moment, got strides: [" + ", ".join(map(str, stride)) + "]")
    d, where = np_dtype(dtype, P.default_float), to_jax(device)
    step = 1
    for n, s in sorted(((n, s) for n, s in zip(size, stride) if n > 1), key=lambda e: e[1]):
        if s != step:
            end = 1 + sum((n - 1) * s for n, s in zip(size, stride)) if 0 not in size else 0
            return done(detached(made(ZEROS, (end,), d, where).as_strided(size, stride)), requires_grad)
        step *= n
    return done(made(ZEROS, size, d, where, strides=stride), requires_grad)


@function(method=False)
def empty_permuted(size, physical_layout, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A tensor (of zeros here) whose dimensions lie in memory in the order `physical_layout`, the outermost first."""
    size, order = tuple(size), tuple(physical_layout)
    if len(order) != len(size):
        raise RuntimeError(f"Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = {len(size)} is "
                           f"not equal to len(physical_layout) = {len(order)}")
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
def full(size, fill_value, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False, names=None):
    """A tensor filled with one number, whose kind decides the dtype."""
    if isinstance(fill_value, TensorBase):
        fill_value = fill_value.item()
    x = number(fill_value)
    if x is None:
        raise TypeError(f"full(): argument 'fill_value' (position 2) must be Number, not {type_name(fill_value)}")
    d = np_dtype(dtype)
    if d is None:
        d = {bool: np.dtype(bool), int: np.dtype(np.int64), float: P.default_float, complex: P.default_complex()}[type(x)]
    x = _storable(x, d)
    t = filled(_sizes("full", (size,)), x, d, to_jax(device))
    if out is not None:
        from .bind import into
        return into(out, t, "full")
    return done(t, requires_grad, layout=layout)


def _storable(x, d):
    """`x`, which torch's `fill_` takes into a tensor of dtype `d`."""
    from .shape import filler
    return x if type(x) is int and not -2 ** 63 <= x < 2 ** 63 else filler(x, meta_of((), d, "meta"), "fill_")


def filled(shape, x, d, device, strides=None):
    """A tensor of one Python number."""
    from .bind import PACKED, pack
    nums = []
    kinds = PACKED[pack(x, nums)]
    return made(FULL, shape, d, device, nums, kinds, strides)


def _like(name, op):
    def make(input, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False, memory_format=None):
        m = input._meta
        return done(made(op, m.shape, np_dtype(dtype, m.dtype), m.device if device is None else to_jax(device),
                       strides=like_strides(m, memory_format)), requires_grad, layout=layout)
    make.__name__ = make.__qualname__ = name
    make.__module__ = "torchshim"
    make.__doc__ = f"As `{name[:-5]}`, with the size, dtype, device and layout of `input`."
    return make


def like_strides(m, memory_format=None):
    """Strides of a tensor made like another: its own when dense, else contiguous in its order."""
    if memory_format is not None and memory_format.name == "contiguous_format":
        return None
    if memory_format is not None and memory_format.name != "preserve_format":
        from ..core.memory_format import strides_for
        return strides_for(m.shape, memory_format)
    if m.contiguous:
        return None
    from ...ops.layout import elementwise_strides
    return m.strides if m.dense else elementwise_strides((m,), m.shape)


zeros_like = FUNCTIONS["zeros_like"] = _like("zeros_like", ZEROS)
ones_like = FUNCTIONS["ones_like"] = _like("ones_like", ONES)
empty_like = FUNCTIONS["empty_like"] = _like("empty_like", ZEROS)


@function(method=False)
def full_like(input, fill_value, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False, memory_format=None):
    """A tensor like `input`, filled with one number."""
    m = input._meta
    x = fill_value.item() if isinstance(fill_value, TensorBase) else number(fill_value)
    if x is None:
        raise TypeError(f"full_like(): argument 'fill_value' (position 2) must be Number, not {type_name(fill_value)}")
    d = np_dtype(dtype, m.dtype)
    return done(filled(m.shape, _storable(x, d), d, m.device if device is None else to_jax(device),
                       like_strides(m, memory_format)), requires_grad)


def _range_dtype(dtype, xs):
    d = np_dtype(dtype)
    if d is None:
        d = P.default_float if any(isinstance(x, float) for x in xs) else np.dtype(np.int64)
    return d


@function(method=False)
def arange(start, end=None, step=1, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """start, start + step, … below end."""
    at = 2 if end is not None else 1
    if end is None:
        start, end = 0, start
    start, end, step = (x.item() if isinstance(x, (TensorBase, np.generic)) else x for x in (start, end, step))
    for name, x, k in (("end", end, at), ("start", start, 1), ("step", step, 3)):
        if not isinstance(x, (int, float)):
            raise TypeError(f"arange(): argument '{name}' (position {k}) must be Number, not {type_name(x)}")
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if (step > 0 and start > end) or (step < 0 and start < end):
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    d = _range_dtype(dtype, (start, end, step)) if out is None or dtype is not None else out.dtype.np
    if all(isinstance(x, int) for x in (start, end, step)):
        n = max(0, -(-(end - start) // step))
    else:
        n = max(0, int(np.ceil((end - start) / step)))
    nums, kinds = ((int(start), int(step)), "ii") if P.kind_of(d) == 1 else ((float(start), float(step)), "ff")
    t = made(ARANGE, (n,), d, to_jax(device), nums, kinds)
    if out is not None:
        from .bind import into
        return into(out, t, "arange")
    return done(t, requires_grad)


@function("range", method=False)
def range_(start, end, step=1, **kw):
    """As arange, with `end` included; torch has deprecated it."""
    n = int((end - start) / step) + 1
    d = kw.pop("dtype", None) or get_default_dtype()
    t = made(ARANGE, (n,), d.np, to_jax(kw.pop("device", None)), (float(start), float(step)), "ff")
    return done(t, **kw) if kw else t


def _ends(name, start, end, steps, dtype, out, more=()):
    """(start, end, dtype) of linspace and logspace, or torch's errors."""
    for what, x in (("start", start), ("end", end)):
        if isinstance(x, TensorBase) and x.ndim:
            raise RuntimeError(f"{name} only supports 0-dimensional start and end tensors, but got {what} with {x.ndim} dimension(s).")
    start, end = (x.item() if isinstance(x, (TensorBase, np.generic)) else x for x in (start, end))
    if isinstance(steps, bool) or not hasattr(steps, "__index__"):
        raise TypeError(f"{name}(): argument 'steps' must be int, not {type_name(steps)}")
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    d = np_dtype(dtype)
    if any(isinstance(x, complex) for x in (start, end, *more)):
        if d is not None and P.kind_of(d) != 3:
            raise RuntimeError(f"torch.{name}(): inferred dtype c10::complex<{'float' if P.default_complex() == P.complex64 else 'double'}> "
                               f"can't be safely cast to passed dtype {P.c_name(d)}")
        d = d or P.default_complex()
    d = d if d is not None else out.dtype.np if out is not None else P.default_float
    if P.kind_of(d) == 0:
        raise NotImplementedError(f"\"{name}_cpu\" not implemented for 'Bool'")
    if P.kind_of(d) == 1 and name == "linspace":        # cast, and wrapped, before they are counted with
        bits = np.iinfo(d).bits
        start, end = (int(np.array(int(x) & (1 << bits) - 1, f"u{bits // 8}").astype(d)) for x in (start, end))
    return start, end, d


def _spaced(op, name, numbers, steps, d, out, device, requires_grad):
    if P.kind_of(d) == 3:
        nums, kinds = [part for x in numbers for part in (complex(x).real, complex(x).imag)], "ff" * len(numbers)
    else:
        nums, kinds = [float(x) for x in numbers], "f" * len(numbers)
    t = made(op, (steps.__index__(),), d, to_jax(device), tuple(nums), kinds)
    if out is not None:
        from .bind import into
        return into(out, t, name)
    return done(t, requires_grad)


@function(method=False)
def linspace(start, end, steps, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """`steps` numbers from start to end, both included."""
    start, end, d = _ends("linspace", start, end, steps, dtype, out)
    return _spaced(LINSPACE, "linspace", (start, end), steps, d, out, device, requires_grad)


@function(method=False)
def logspace(start, end, steps, base=10.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """base to the power of `steps` numbers from start to end."""
    if isinstance(base, complex):
        raise TypeError("logspace(): argument 'base' must be float, not complex")
    start, end, d = _ends("logspace", start, end, steps, dtype, out)
    return _spaced(LOGSPACE, "logspace", (start, end, base), steps, d, out, device, requires_grad)


@function(method=False)
def eye(n, m=None, *, out=None, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """Ones on the diagonal."""
    n = as_int("eye", n, "n", 1)
    m = n if m is None else as_int("eye", m, "m", 2)
    for k, name in ((n, "n"), (m, "m")):
        if k < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {k}")
    t = made(EYE, (n, m), np_dtype(dtype, P.default_float), to_jax(device))
    if out is not None:
        from .bind import into
        return into(out, t, "eye")
    return done(t, requires_grad)


# -- from data ------------------------------------------------------------------------------------------------------------
def host_array(data, dtype=None):
    """A NumPy array that is ours alone from anything that torch.tensor takes."""
    d = np_dtype(dtype)
    if isinstance(data, TensorBase):
        a = data.detach()._host()
        return np.array(a, dtype=d) if d is not None and d != a.dtype else np.array(a)
    if isinstance(data, (np.ndarray, np.generic)):
        a = np.asarray(data)
        if a.dtype == object or a.dtype.kind in "USmM":
            raise TypeError(f"can't convert np.ndarray of type numpy.{a.dtype.name.rstrip('0123456789') if a.dtype.kind in 'U' else a.dtype.name}. The only supported types are: float64, float32, float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool.")
        return np.array(_castable(a, d), dtype=d or a.dtype.newbyteorder("="), order="C")
    if hasattr(data, "__array__") and not isinstance(data, (list, tuple)):
        return host_array(np.asarray(data), dtype)
    c = data.__class__
    if c is float or c is int or c is bool or c is complex:
        natural = P.default_float if c is float else np.dtype(np.int64) if c is int else np.dtype(bool) if c is bool else P.default_complex()
        try:
            return np.array(data if not (P.kind_of(d or natural) < 3 and c is complex) else data.real, dtype=d or natural)
        except OverflowError:
            if d is not None and d.kind in "iu":
                raise RuntimeError(f"value cannot be converted to type {c_type(d)} without overflow") from None
            raise RuntimeError("Overflow when unpacking long long") from None
    if isinstance(data, (list, tuple)) or hasattr(data, "__len__") and hasattr(data, "__getitem__") and not isinstance(data, (str, bytes, dict, set)):
        return _from_sequence(data, d)
    if isinstance(data, (int, float, complex)):
        return host_array(number(data), dtype)
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")


def c_type(d):
    return {"int64": "int64_t", "int32": "int", "int16": "int16_t", "int8": "int8_t", "uint8": "uint8_t"}.get(d.name, d.name)


def _castable(a, d):
    return a.real if d is not None and P.kind_of(d) < 3 and a.dtype.kind == "c" else a


def _shape_of(seq, shape=()):
    """The shape that the first elements promise."""
    out = []
    while True:
        if isinstance(seq, TensorBase):
            return tuple(out)                  # an element: it counts as a number
        if isinstance(seq, np.ndarray):
            return tuple(out) + seq.shape
        if isinstance(seq, (str, bytes)) or not hasattr(seq, "__len__") or isinstance(seq, np.generic):
            return tuple(out)
        out.append(len(seq))
        if not len(seq):
            return tuple(out)
        seq = seq[0]


def _flatten(seq, shape, depth, out, kinds):
    if depth == len(shape):
        if isinstance(seq, TensorBase):
            kinds.add(seq._meta.dtype)
            seq = seq.item() if seq.numel() == 1 else _bad(seq)
        elif isinstance(seq, (np.generic, np.ndarray)):
            kinds.add(seq.dtype)
            seq = seq.item() if seq.ndim == 0 else _bad(seq)
        else:
            c = seq.__class__
            if c not in (int, float, bool, complex):
                n = number(seq)
                if n is None:
                    if isinstance(seq, str) and not out:
                        raise ValueError("too many dimensions 'str'")      # torch looks for its elements, and theirs
                    if isinstance(seq, (str, bytes)):
                        raise TypeError(f"new(): invalid data type '{c.__name__}'")
                    if hasattr(seq, "__len__"):
                        raise ValueError(f"expected sequence of length 1 at dim {depth} (got {len(seq)})")
                    raise RuntimeError(f"Could not infer dtype of {c.__name__}")
                seq, c = n, n.__class__
            kinds.add(c)
        out.append(seq)
        return
    if isinstance(seq, TensorBase) or isinstance(seq, np.ndarray):
        a = seq.detach()._host() if isinstance(seq, TensorBase) else seq
        if a.shape != shape[depth:]:
            raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {len(a) if a.ndim else 0})")
        kinds.add(a.dtype)
        out.extend(a.ravel().tolist())
        return
    if not hasattr(seq, "__len__") or isinstance(seq, str):
        raise TypeError(f"not a sequence")
    if len(seq) != shape[depth]:
        raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {len(seq)})")
    for x in seq:
        _flatten(x, shape, depth + 1, out, kinds)


def _bad(a):
    raise ValueError("only one element tensors can be converted to Python scalars")


def _from_sequence(data, d):
    shape = _shape_of(data)
    flat, kinds = [], set()
    if 0 in shape:
        return np.empty(shape, d or P.default_float)
    _flatten(data, shape, 0, flat, kinds)
    if d is None:
        for k in kinds:
            here = (P.default_float if k is float else np.dtype(np.int64) if k is int else np.dtype(bool) if k is bool
                    else P.default_complex() if k is complex else k)
            d = here if d is None else P.promote(d, here)
    try:
        if P.kind_of(d) < 3 and complex in kinds:
            raise RuntimeError("value cannot be converted to type without dropping its imaginary part")
        if d.kind in "iu" and float in kinds:
            flat = [int(x) for x in flat]
        return np.array(flat, dtype=d).reshape(shape)
    except OverflowError:
        raise RuntimeError(f"value cannot be converted to type {c_type(d)} without overflow") from None


@function(method=False)
def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A new leaf tensor with a copy of `data` (numbers, nested sequences, arrays, tensors)."""
    if isinstance(data, TensorBase):
        warn("To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
             "sourceTensor.detach().clone().requires_grad_(True), rather than torch.tensor(sourceTensor).",
             UserWarning)
        if data._meta.device == "meta" or read(data).extra is TRACED or device is None:
            t = data.detach().clone()
            t = t if dtype is None else t.to(dtype)
            return done(t if device is None else t.to(device), requires_grad)
    a = host_array(data, dtype)
    where = to_jax(device)
    return done(tensor_from(a, where), requires_grad)


@function(method=False)
def scalar_tensor(s, *, dtype=None, device=None, **kw):
    """A 0-d tensor of the default floating dtype."""
    return tensor(s, dtype=dtype or get_default_dtype(), device=device)


def legacy(args, dtype=None, device=None):
    """The old constructors, torch.Tensor(...) and torch.LongTensor(...): of sizes, a sequence, an array or a tensor."""
    data = args[0] if args else 0
    if isinstance(data, TensorBase):
        if dtype is not None and data.dtype is not dtype:
            raise TypeError(f"expected TensorOptions(dtype={P.cpp_name(dtype.np)}, device=cpu, layout=Strided, requires_grad=false (default), "
                            "pinned_memory=false (default), memory_format=(nullopt)) (got TensorOptions(dtype="
                            f"{P.cpp_name(data.dtype.np)}, device={data.device}, layout=Strided, requires_grad=false (default), "
                            "pinned_memory=false (default), memory_format=(nullopt)))")
        return data.detach()
    dtype = dtype or get_default_dtype()
    if isinstance(data, (int, Size)) and not isinstance(data, bool):
        return zeros(*(args or (0,)), dtype=dtype, device=device)
    if isinstance(data, (float, complex, bool)):
        raise TypeError(f"new(): data must be a sequence (got {type(data).__name__})")
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{type(data).__name__}'")
    return tensor(data, dtype=dtype, device=device)


# -- like this tensor -------------------------------------------------------------------------------------------------------
def _new(name, f):
    def method(self, *args, dtype=None, device=None, requires_grad=False, **kw):
        return f(*args, dtype=dtype or self.dtype, device=device if device is not None else self.device, requires_grad=requires_grad, **kw)
    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"As torch.{name[4:]}, with this tensor's dtype and device."
    setattr(Tensor, name, method)


_new("new_zeros", zeros)
_new("new_ones", ones)
_new("new_empty", empty)
_new("new_full", full)


def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
    """As torch.tensor, with this tensor's dtype and device."""
    return tensor(data, dtype=dtype or self.dtype, device=device or self.device, requires_grad=requires_grad)


def new(self, *args, **kw):
    """The old constructor, of this tensor's dtype."""
    if args and isinstance(args[0], (list, tuple)) and not isinstance(args[0], tuple):
        return self.new_tensor(args[0], **kw)
    return empty(*(args or (0,)), dtype=self.dtype, device=self.device, **kw)


Tensor.new_tensor, Tensor.new = new_tensor, new
Tensor.new_empty_strided = lambda self, size, stride, dtype=None, device=None, **kw: empty_strided(
    size, stride, dtype=dtype or self.dtype, device=device or self.device, **kw)
