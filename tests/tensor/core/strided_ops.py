"""Operators of the reference model in ``strided_model``: values, derivatives, layout, what is saved.

Each table row says what torch keeps for the backward pass, because that decides which later
in-place writes make a backward fail and whether a graph can be used twice.
"""

import numpy as np

from tests.tensor.core.strided_model import (
    Refused,
    Tensor,
    World,
    contiguous_strides,
    is_contiguous,
    is_dense,
    result_strides,
)


def smooth_at(x, *points):
    """Keep away from kinks and poles, where an error of one bit would decide the answer."""
    if any(np.any(np.abs(x - p) < 1e-6) for p in points):
        raise Refused("too near to a kink")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def with_limits(limit, f):
    def checked(x):
        if np.any(np.abs(x) > limit):
            raise Refused("magnitude")
        return f(x)

    return checked


def away_from(point, f):
    def checked(x):
        smooth_at(x, point)
        return f(x)

    return checked


# name: (value, derivative from input and result, what is saved: self, result or nothing)
UNARY = {
    "neg": (lambda x: -x, lambda x, y: -np.ones_like(x), None),
    "exp": (with_limits(4, np.exp), lambda x, y: y, "result"),
    "sin": (np.sin, lambda x, y: np.cos(x), "self"),
    "cos": (np.cos, lambda x, y: -np.sin(x), "self"),
    "tanh": (np.tanh, lambda x, y: 1 - y * y, "result"),
    "sigmoid": (with_limits(30, sigmoid), lambda x, y: y * (1 - y), "result"),
    "relu": (lambda x: np.maximum(x, 0), lambda x, y: (y > 0) * 1.0, "result"),
    "abs": (np.abs, lambda x, y: np.sign(x), "self"),
    "square": (lambda x: x * x, lambda x, y: 2 * x, "self"),
}


def unary(name):
    f, df, saves = UNARY[name]

    def out_of_place(t):
        x = t.values()
        y = f(x)
        d = np.asarray(df(x, y))[..., None]
        return t.world.result(
            y,
            [(t, lambda r: r * d)],
            result_strides(t.shape, [(t.shape, t.strides)]),
            saved=[t] if saves == "self" else [],
            saves_result=saves == "result",
        )

    def in_place(t):
        x = t.values()
        y = f(x)
        d = np.asarray(df(x, y))[..., None]
        t.write(y, [(None, lambda r: r * d)], holds=saves == "self", saves_result=saves == "result")
        return t

    setattr(Tensor, name, out_of_place)
    setattr(Tensor, name + "_", in_place)


for _name in UNARY:
    unary(_name)


def clamp_parts(t, low, high):
    x = t.values()
    smooth_at(x, low, high)
    inside = ((x > low) & (x < high))[..., None] * 1.0
    return np.clip(x, low, high), inside


def clamp(t, low, high):
    y, d = clamp_parts(t, low, high)
    layout = result_strides(t.shape, [(t.shape, t.strides)])
    return t.world.result(y, [(t, lambda r: r * d)], layout, saved=[t])


def clamp_(t, low, high):
    y, d = clamp_parts(t, low, high)
    return t.write(y, [(None, lambda r: r * d)], holds=True)


def pow_parts(t, n):
    x = t.values()
    return x**n, (n * x ** (n - 1))[..., None]


def power(t, n):
    y, d = pow_parts(t, n)
    return t.world.result(y, [(t, lambda r: r * d)], result_strides(t.shape, [(t.shape, t.strides)]), saved=[t])


def pow_(t, n):
    y, d = pow_parts(t, n)
    return t.write(y, [(None, lambda r: r * d)], holds=True)


# ---------------------------------------------------------------- two operands


def as_operand(world, other):
    """A Python number takes part as a 0-d tensor without a history, as in torch."""
    if isinstance(other, Tensor):
        return other
    return Tensor(world, world.tensor(float(other)).storage, 0, (), (), "f")


def lift(rows, shape):
    """Broadcast derivative rows [*own shape, columns] to a result's shape."""
    own = rows.shape[:-1]
    rows = rows.reshape((1,) * (len(shape) - len(own)) + rows.shape)
    return np.broadcast_to(rows, tuple(shape) + rows.shape[-1:])


def divide(a, b):
    if np.any(np.abs(b) < 0.05):
        raise Refused("division by almost nothing")
    return a / b


def larger(a, b):
    smooth_at(a - b, 0)
    return np.maximum(a, b)


# name: (value, derivative by self, derivative by other, what is saved)
# saved: "self?other" means: self if other needs a gradient; "self!" always
BINARY = {
    "add": (lambda a, b: a + b, lambda a, b: 1.0, lambda a, b: 1.0, ""),
    "sub": (lambda a, b: a - b, lambda a, b: 1.0, lambda a, b: -1.0, ""),
    "mul": (lambda a, b: a * b, lambda a, b: b, lambda a, b: a, "self?other other?self"),
    "div": (divide, lambda a, b: 1 / b, lambda a, b: -a / (b * b), "self?other other!"),
    "maximum": (larger, lambda a, b: (a > b) * 1.0, lambda a, b: (b > a) * 1.0, "self! other!"),
}


def kept(rule, t, other):
    """Which of the two operands the rule saves, given which need gradients."""
    needs = {"self": t.requires_grad, "other": other.requires_grad}
    keep = []
    for part in rule.split():
        what, _, when = part.partition("?")
        if part.endswith("!") or needs[when]:
            keep.append(part.rstrip("!") if part.endswith("!") else what)
    return keep


def binary(name):
    f, d_self, d_other, rule = BINARY[name]

    def parts(t, other, alpha):
        other = as_operand(t.world, other)
        a, b = t.values(), other.values() * alpha
        y = f(a, b)
        shape = np.broadcast_shapes(t.shape, other.shape)
        da = np.asarray(np.broadcast_to(d_self(a, b), shape), dtype=float)[..., None]
        db = np.asarray(np.broadcast_to(d_other(a, b), shape), dtype=float)[..., None] * alpha
        return other, y, shape, da, db

    def broadcastable(t, other):
        try:
            shape = np.broadcast_shapes(t.shape, getattr(other, "shape", ()))
        except ValueError:
            raise Refused("shape") from None
        return shape

    def out_of_place(t, other, alpha=1):
        broadcastable(t, other)
        other, y, shape, da, db = parts(t, other, alpha)
        keep = kept(rule, t, other)
        inputs = [(t, lambda r: lift(r, shape) * da), (other, lambda r: lift(r, shape) * db)]
        layout = result_strides(shape, [(t.shape, t.strides), (other.shape, other.strides)])
        saved = [x for x, what in ((t, "self"), (other, "other")) if what in keep]
        return t.world.result(y, inputs, layout, saved=saved)

    def in_place(t, other, alpha=1):
        if broadcastable(t, other) != t.shape:
            raise Refused("shape")
        other, y, shape, da, db = parts(t, other, alpha)
        keep = kept(rule, t, other)
        inputs = [(None, lambda r: r * da), (other, lambda r: lift(r, shape) * db)]
        # the old self is saved as a copy, so that no later write can disturb it
        return t.write(
            y, inputs, saved=[other] if "other" in keep else [], holds="self" in keep, reads=[other]
        )

    setattr(Tensor, name, out_of_place)
    if name != "maximum":
        setattr(Tensor, name + "_", in_place)
        setattr(Tensor, f"__{'truediv' if name == 'div' else name}__", out_of_place)
        setattr(Tensor, f"__i{'truediv' if name == 'div' else name}__", in_place)


for _name in BINARY:
    binary(_name)


def rsub(t, number):
    layout = result_strides(t.shape, [(t.shape, t.strides), ((), ())])
    return t.world.result(number - t.values(), [(t, lambda r: -r)], layout)


def rmul(t, number):
    return t.mul(number)


def addcmul_(t, a, b, value=1):
    x, y = a.values(), b.values()
    if np.broadcast_shapes(t.shape, a.shape, b.shape) != t.shape:
        raise Refused("shape")
    inputs = [
        (None, lambda r: r),
        (a, lambda r: lift(r, t.shape) * (value * np.broadcast_to(y, t.shape))[..., None]),
        (b, lambda r: lift(r, t.shape) * (value * np.broadcast_to(x, t.shape))[..., None]),
    ]
    saved = ([a] if b.requires_grad else []) + ([b] if a.requires_grad else [])
    return t.write(t.values() + value * x * y, inputs, saved=saved, reads=[a, b])


def lerp_(t, end, weight):
    if np.broadcast_shapes(t.shape, end.shape) != t.shape:
        raise Refused("shape")
    values = t.values() + weight * (end.values() - t.values())
    inputs = [(None, lambda r: r * (1 - weight)), (end, lambda r: lift(r, t.shape) * weight)]
    return t.write(values, inputs, reads=[end])


def compare(f):
    def method(t, number):
        smooth_at(t.values(), number)
        layout = result_strides(t.shape, [(t.shape, t.strides), ((), ())])
        return t.world.result(f(t.values(), number), [], layout, kind="b")

    return method


# ---------------------------------------------------------------- fills and copies


def zero_(t):
    return t.write(0.0, [(None, lambda r: r * 0)], overlap="fill")


def fill_(t, value):
    if isinstance(value, Tensor):
        if value.ndim:
            raise Refused("shape")
        inputs = [(None, lambda r: r * 0), (value, lambda r: lift(r, t.shape))]
        return t.write(value.values(), inputs, overlap="fill")
    return t.write(value, [(None, lambda r: r * 0)], overlap="fill")


def copy_(t, src):
    try:
        values = np.broadcast_to(src.values(), t.shape)
    except ValueError:
        raise Refused("shape") from None
    inputs = [(None, lambda r: r * 0), (src, lambda r: lift(r, t.shape))]
    # torch returns at once when asked to copy memory to itself
    same = src.storage is t.storage and (src.offset, src.shape, src.strides) == (t.offset, t.shape, t.strides)
    return t.write(values, inputs, overlap="fill") if same else t.write(values, inputs, reads=[src])


def masked_fill_(t, mask, value):
    m = np.broadcast_to(mask.values() > 0, t.shape)
    keep = (~m)[..., None] * 1.0
    return t.write(np.where(m, value, t.values()), [(None, lambda r: r * keep)], holds=True, overlap="fill")


def masked_fill(t, mask, value):
    shape = np.broadcast_shapes(t.shape, mask.shape)
    m = np.broadcast_to(mask.values() > 0, shape)
    keep = (~m)[..., None] * 1.0
    y = np.where(m, value, np.broadcast_to(t.values(), shape))
    return t.world.result(y, [(t, lambda r: lift(r, shape) * keep)], holds=True)


def clone_strides(t):
    if is_dense(t.shape, t.strides):
        return t.strides
    return result_strides(t.shape, [(t.shape, t.strides)])


def clone(t):
    return t.world.result(t.values(), [(t, lambda r: r)], clone_strides(t))


# ---------------------------------------------------------------- indexing


def simplify(key):
    return key if isinstance(key, tuple) else (key,)


def is_basic(key):
    return not any(isinstance(k, (Tensor, list)) for k in key)


def basic(t, key):
    """ints, slices with steps, None and ...: the geometry of the view."""
    offset, shape, strides = t.offset, [], []
    spent = sum(k is not None and k is not Ellipsis for k in key)
    if Ellipsis not in key:
        key = key + (Ellipsis,)
    d = 0
    for k in key:
        if k is None:
            shape.append(1)
            strides.append(t.shape[d] * t.strides[d] if d < t.ndim else 1)
        elif k is Ellipsis:
            for _ in range(t.ndim - spent):
                shape.append(t.shape[d])
                strides.append(t.strides[d])
                d += 1
        elif isinstance(k, slice):
            start, stop, step = k.indices(t.shape[d])
            n = len(range(start, stop, step))
            if n == 0:
                raise Refused("empty")
            offset += start * t.strides[d]
            shape.append(n)
            strides.append(t.strides[d] * step)
            d += 1
        else:
            if not -t.shape[d] <= k < t.shape[d]:
                raise Refused("index out of range")
            offset += (k % t.shape[d]) * t.strides[d]
            d += 1
    return t.view_of(offset, shape, strides)


def is_everything(k, t):
    """Such a key makes no view: the write goes to the tensor itself."""
    if isinstance(k, slice):
        return k.start in (None, 0) and k.step in (None, 1) and (k.stop is None or k.stop >= max(t.shape))
    return k is Ellipsis


def numpy_key(key):
    """The same index for NumPy; only masks, or one index tensor among full slices."""
    out = []
    for k in key:
        if isinstance(k, Tensor):
            out.append(k.values() > 0 if k.kind == "b" else k.values().astype(int))
        else:
            out.append(k)
    return tuple(out)


def getitem(t, key):
    key = simplify(key)
    if is_basic(key):
        return basic(t, key)
    nk = numpy_key(key)
    try:
        y = t.values()[nk]
    except IndexError:
        raise Refused("index") from None
    if not y.size:
        raise Refused("empty")
    layout = None
    dims = [d for d, k in enumerate(key) if isinstance(k, Tensor)]
    if key[dims[0]].kind == "l":  # laid out like the source with the indexed dimension left open
        d = dims[0]
        source = t.strides[:d] + (0,) + t.strides[d + 1 :]
        spread = (1,) * d + (y.shape[d],) + (1,) * (t.ndim - d - 1)
        index = tuple(c if n == m else 0 for c, n, m in zip(contiguous_strides(spread), spread, y.shape))
        layout = result_strides(y.shape, [], [source, index])
    elif key[dims[0]].ndim != t.ndim:
        raise Refused("layout of an indexing result")
    return t.world.result(y, [(t, lambda r: r[nk])], layout, holds=True)


def setitem(t, key, value):
    key = simplify(key)
    if is_basic(key):
        v = t if all(is_everything(k, t) for k in key) else basic(t, key)
        if not isinstance(value, Tensor):
            fill_(v, value)
        elif value.ndim == 0 and v.ndim:
            fill_(v, value)
        else:
            if value.shape != v.shape and value.storage is v.storage and np.intersect1d(v.index(), value.index()).size:
                raise Refused("overlap that torch does not look for")
            copy_(v, value)
        return
    nk = numpy_key(key)
    try:
        spot = np.arange(t.numel()).reshape(t.shape)[nk]
    except IndexError:
        raise Refused("index") from None
    if not t.ndim or not spot.size or np.unique(spot).size != spot.size:
        raise Refused("empty, or one place written twice")
    src = as_operand(t.world, value)
    # one number under a mask is filled in, without a look at where the number comes from
    filled = src.numel() == 1 and any(isinstance(k, Tensor) and k.kind == "b" for k in key)
    put(t, spot, src, "fill" if filled else "put")


def put(t, spot, src, overlap):
    """values of src to the places ``spot`` (numbers in the order of t's elements)."""
    try:
        new = np.broadcast_to(src.values(), spot.shape)
    except ValueError:
        raise Refused("shape") from None
    y = np.array(t.values()).reshape(-1)
    y[spot] = new

    def keep(r):
        r = r.reshape(t.numel(), -1).copy()
        r[spot.reshape(-1)] = 0
        return r.reshape(t.shape + (-1,))

    def insert(r):
        out = np.zeros((t.numel(), r.shape[-1]))
        out[spot.reshape(-1)] = lift(r, spot.shape).reshape(spot.size, -1)
        return out.reshape(t.shape + (-1,))

    reads = [src] if overlap == "put" else []
    return t.write(y.reshape(t.shape), [(None, keep), (src, insert)], holds=True, reads=reads, overlap=overlap)


def along(t, dim, index):
    where = index.values().astype(int)
    if where.max() >= t.shape[dim]:
        raise Refused("index out of range")
    return np.take(np.arange(t.numel()).reshape(t.shape), where, axis=dim)


def index_add_(t, dim, index, source, alpha=1):
    spot = along(t, dim, index)
    if source.shape != spot.shape:
        raise Refused("shape")
    y = np.array(t.values()).reshape(-1)
    np.add.at(y, spot, alpha * source.values())

    def insert(r):
        out = np.zeros((t.numel(), r.shape[-1]))
        np.add.at(out, spot.reshape(-1), alpha * r.reshape(spot.size, -1))
        return out.reshape(t.shape + (-1,))

    inputs = [(None, lambda r: r), (source, insert)]
    needs = source.requires_grad
    shape_of = [source] if needs else []
    return t.write(y.reshape(t.shape), inputs, holds=needs, reads=[source], overlap="indexed", shape_of=shape_of)


def index_copy_(t, dim, index, source):
    spot = along(t, dim, index)
    if source.shape != spot.shape or np.unique(spot).size != spot.size:
        raise Refused("shape")
    y = np.array(t.values()).reshape(-1)
    y[spot] = source.values()

    def keep(r):
        r = r.reshape(t.numel(), -1).copy()
        r[spot.reshape(-1)] = 0
        return r.reshape(t.shape + (-1,))

    def insert(r):
        out = np.zeros((t.numel(), r.shape[-1]))
        out[spot.reshape(-1)] = r.reshape(spot.size, -1)
        return out.reshape(t.shape + (-1,))

    shape_of = [source] if source.requires_grad else []
    inputs = [(None, keep), (source, insert)]
    return t.write(y.reshape(t.shape), inputs, holds=True, reads=[source], overlap="indexed", shape_of=shape_of)


def index_fill_(t, dim, index, value):
    spot = along(t, dim, index)
    y = np.array(t.values()).reshape(-1)
    y[spot] = value

    def keep(r):
        r = r.reshape(t.numel(), -1).copy()
        r[spot.reshape(-1)] = 0
        return r.reshape(t.shape + (-1,))

    return t.write(y.reshape(t.shape), [(None, keep)], holds=True, overlap="fill")


def index_select(t, dim, index):
    where = index.values().astype(int)
    if where.max() >= t.shape[dim]:
        raise Refused("index out of range")
    y = np.take(t.values(), where, axis=dim)
    return t.world.result(y, [(t, lambda r: np.take(r, where, axis=dim))], holds=True)


# ---------------------------------------------------------------- reductions, products, joins


def sum_(t, dim=None, keepdim=False):
    axes = tuple(range(t.ndim)) if dim is None else (dim % t.ndim,)
    y = np.sum(t.values(), axis=axes, keepdims=keepdim)
    return t.world.result(y, [(t, lambda r: np.sum(r, axis=axes, keepdims=keepdim))])


def mean(t, dim=None, keepdim=False):
    axes = tuple(range(t.ndim)) if dim is None else (dim % t.ndim,)
    y = np.mean(t.values(), axis=axes, keepdims=keepdim)
    return t.world.result(y, [(t, lambda r: np.mean(r, axis=axes, keepdims=keepdim))])


def cumsum(t, dim):
    dim = dim % t.ndim
    return t.world.result(np.cumsum(t.values(), axis=dim), [(t, lambda r: np.cumsum(r, axis=dim))])


def flip(t, dim):
    dim = dim % t.ndim
    return t.world.result(np.flip(t.values(), dim), [(t, lambda r: np.flip(r, dim))], clone_strides(t))


def matmul(t, other):
    if not (t.ndim in (1, 2) and other.ndim in (1, 2)) or (t.ndim, other.ndim) == (1, 2):
        raise Refused("shape")
    if t.shape[-1] != other.shape[0]:
        raise Refused("shape")
    a, b = t.values(), other.values()
    spec = {(1, 1): "k,k->", (2, 1): "ik,k->i", (2, 2): "ik,kj->ij"}[t.ndim, other.ndim]
    first, rest = spec.split(",")
    second, out = rest.split("->")
    inputs = [
        (t, lambda r: np.einsum(f"{first}z,{second}->{out}z", r, b)),
        (other, lambda r: np.einsum(f"{first},{second}z->{out}z", a, r)),
    ]
    saved = ([t] if other.requires_grad else []) + ([other] if t.requires_grad else [])
    return t.world.result(np.einsum(spec, a, b), inputs, saved=saved)


def cat(world, tensors, dim=0):
    shapes = {t.shape[:dim] + t.shape[dim + 1 :] for t in tensors}
    if len(shapes) != 1 or not all(is_contiguous(t.shape, t.strides) for t in tensors):
        raise Refused("shape")
    y = np.concatenate([t.values() for t in tensors], axis=dim)
    inputs, start = [], 0
    for t in tensors:
        n = t.shape[dim]

        def place(r, a=start, b=start + n):
            out = np.zeros(y.shape + r.shape[-1:])
            out[(slice(None),) * dim + (slice(a, b),)] = r
            return out

        inputs.append((t, place))
        start += n
    return world.result(y, inputs)


def stack(world, tensors, dim=0):
    return cat(world, [t.unsqueeze(dim) for t in tensors], dim)


def where(world, mask, a, b):
    try:
        shape = np.broadcast_shapes(mask.shape, a.shape, b.shape)
    except ValueError:
        raise Refused("shape") from None
    m = np.broadcast_to(mask.values() > 0, shape)
    y = np.where(m, a.values(), b.values())
    inputs = [
        (a, lambda r: lift(r, shape) * m[..., None]),
        (b, lambda r: lift(r, shape) * ~m[..., None]),
    ]
    layout = result_strides(shape, [(x.shape, x.strides) for x in (mask, a, b)])
    return world.result(y, inputs, layout, holds=True)


for _f in (
    clamp, clamp_, pow_, addcmul_, lerp_, zero_, fill_, copy_, masked_fill_, masked_fill, clone,
    index_add_, index_copy_, index_fill_, index_select, mean, cumsum, flip, matmul,
):  # fmt: skip
    setattr(Tensor, _f.__name__, _f)
for _f in (cat, stack, where):
    setattr(World, _f.__name__, _f)
World.maximum = staticmethod(Tensor.maximum)
Tensor.sum, Tensor.pow = sum_, power
Tensor.__getitem__, Tensor.__setitem__ = getitem, setitem
Tensor.__rsub__, Tensor.__rmul__, Tensor.__matmul__ = rsub, rmul, matmul
Tensor.__gt__, Tensor.__lt__ = compare(np.greater), compare(np.less)
Tensor.__neg__ = Tensor.neg
