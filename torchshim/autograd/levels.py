"""The transforms that a function runs under, and the batches behind the examples of a vmap.

Where examples are tracers, `jax.vmap` shows its batches to nobody but the batching rules of operators: an operator of one's own, whose
rule looks, is the way in.
"""
from __future__ import annotations

import contextlib
import textwrap

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap

from ..engine import TRACED, Example, context, example_of, innermost, is_example, present
from ..interop import from_jax, to_jax
from ..tensor.core.dispatch import wrap
from ..tensor.core.handle import edge, meta, read
from ..ops.views import LazyOp
from ..tensor.core.graph import Node
from ..tensor.core.write import Born, needs_grad, refuse_captured
from .saved import Entrance, end_of


class Level:
    """One transform: "grad" with the inner copies `ins` of its arguments, or "vmap" with the examples `ins` of the tensors `given` along
    `dims`, and its randomness: "error", "same", "different", or "old" for a vmap that knows of no transforms (gradcheck's)."""
    __slots__ = ("kind", "ins", "given", "dims", "randomness", "others", "traced", "pushes", "own", "on", "recorded", "depth", "over")

    def __init__(self, kind, ins=(), given=(), dims=(), randomness=None):
        self.kind, self.ins, self.given, self.dims, self.randomness = kind, ins, given, dims, randomness
        self.others = ()                       # arguments that the function may write to, beside those
        self.traced = False                    # whether torch traces the function (linearize), which asks less
        self.pushes = False                    # whether this "grad" stands for torch's forward mode
        self.recorded = False                  # whether the examples of a vmap are Examples, not tracers
        self.depth, self.over = len(levels()) + 1, False       # how many are around it and it; whether its Examples have escaped
        self.own, self.on = (), True           # leaves that only serve it; whether gradients are wanted outside

    @property
    def size(self):
        return self.given[0].shape[self.dims[0]]


#: What answers for `torch._C._functorch._add_batch_dim` and `_remove_batch_dim` under a number that is no level's own.
stand_ins = {}


def levels():
    """Those that are running, the innermost last."""
    return context.modes.get("transform", ())


@contextlib.contextmanager
def running(level):
    """While a transform runs the user's function: torch refuses some things there."""
    before, version, dispatching = levels(), context.version, context.modes.get("dispatch")
    if dispatching is not None and dispatching.stack and not dispatching.off:
        raise NotImplementedError("torchshim: transforms of functions (torch.func) under a TorchDispatchMode")
    context.modes["transform"] = (*before, level)
    context.record_all()
    if version == version:                     # NaN: in inference mode
        context.version = context.trace.version = Born(len(before) + 1)
    try:
        yield
    finally:
        _restore(before)
        context.version = context.trace.version = version


_UNBATCHED = ("vmap: inplace arithmetic(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has "
              "more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over in a vmap. "
              "Please try to use out-of-place operators instead of inplace arithmetic. If said operator is being called inside the PyTorch "
              "framework, please file a bug report instead.")


_UNBATCHED_BY_OLD = ("vmap: {0}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more elements "
                     "than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over at level 1. Please "
                     "try to use out-of-place operators instead of {0}. If said operator is being called inside the PyTorch framework, "
                     "please file a bug report instead.")


def _check_captured(t, op, tensors, needs):
    """torch's refusals to write in place what a function that is transformed did not make itself. A vmap asks only what it batches; what
    it does not mind, the levels below it are asked."""
    found, v = levels(), t._ts_st.version
    for n in range(len(found), 0, -1):
        level = found[n - 1]
        if v != v or any([i._ts_st is t._ts_st for i in (*level.ins, *level.others)]):
            if level.kind == "grad" and context.grad is True:
                _check_argument(t, level)
            return
        if level.kind == "vmap" and not is_traced(t) and any([is_traced(x) for x in tensors]):
            shape = list(t.shape)
            if level.randomness == "old":
                name = f"aten::{_aten(op, tensors).partition('.')[0]}"
                raise RuntimeError(_UNBATCHED_BY_OLD.format(name))
            raise RuntimeError(_UNBATCHED if _aten(op, tensors) in ("copy_", "index_put_") else
                               f"output with shape {shape} doesn't match the broadcast shape {[level.size, *shape]}")
        if getattr(v, "level", 0) >= n:
            continue
        if level.kind == "grad" and (needs or not level.traced and "unasked" not in context.modes):
            raise RuntimeError("During a grad (vjp, jvp, grad, etc) transform, the function provided attempted to call in-place operation "
                               f"(aten::{_aten(op, tensors)}) that would mutate a captured Tensor. This is not supported; please rewrite "
                               "the function being transformed to explicitly accept the mutated Tensor(s) as inputs.")


def _check_argument(t, level):
    """To a function that is differentiated its arguments are leaves, whatever histories they have outside."""
    starts = [end_of(edge(i))[0] for i in level.ins if i._ts_st is t._ts_st and edge(i) is not None]
    starts = [node for node in starts if isinstance(node, Entrance)]
    node = end_of(edge(t))[0] if starts and needs_grad(t) else None
    view = ""
    while isinstance(node, Node):
        if node in starts:
            raise RuntimeError(f"a {view}leaf Variable that requires grad is being used in an in-place operation.")
        if node._ts_inst is None or not isinstance(node._ts_inst.op, LazyOp):
            return
        node, view = end_of(node._ts_next[0])[0], "view of a "


#: Operators with overloads: up to how many tensors which one is meant, and which with more.
_OVERLOADS = {**dict.fromkeys(("add", "sub", "mul", "div", "true_divide", "floor_divide"), (0, "", "Tensor")),
              **dict.fromkeys(("eq", "ne", "lt", "le", "gt", "ge", "pow", "fmod", "remainder", "copysign", "float_power", "fill",
                               "bitwise_and", "bitwise_or", "bitwise_xor"), (1, "Scalar", "Tensor")),
              "masked_fill": (2, "Scalar", "Tensor"), "lerp": (2, "Scalar", "Tensor"), "xlogy": (1, "Scalar_Other", "Tensor"),
              "clamp": (1, "", "Tensor"), "index_fill": (2, "int_Scalar", "int_Tensor"), "scatter": (2, "value", "src"),
              "scatter_reduce": (0, "", "two")}


def _aten(op, tensors):
    """The name of an in-place operator, with its overload."""
    name = op if op.__class__ is str else op.name
    name, _, overload = name.partition(".")
    name = {"slice_put": "copy", "dropout_with": "mul"}.get(name.rstrip("_"), name.rstrip("_"))
    if not overload and name in _OVERLOADS:
        n, few, many = _OVERLOADS[name]
        overload = many if len(tensors) > n else few
    return f"{name}_.{overload}" if overload else f"{name}_"


refuse_captured(_check_captured)


@contextlib.contextmanager
def below(level, keep=False):
    """What is done outside of a level, inside of it; with `keep`, at that level."""
    before = levels()
    _restore(before[:before.index(level) + keep])
    try:
        yield
    finally:
        _restore(before)


def _restore(found):
    if found:
        context.modes["transform"] = found
    else:
        context.modes.pop("transform", None)


def innermost_vmap():
    """The vmap whose examples the running function sees; None outside of all."""
    return next((x for x in reversed(levels()) if x.kind == "vmap"), None)


def is_traced(t):
    """Whether a tensor holds a tracer: then its memory does."""
    return t._ts_st.value.extra is TRACED


def unbatched(ts):
    """(tensors with their batches, the dimension of each batch or None) at the innermost vmap that batches any of the tensors; None where
    none does. What the vmap was given is the caller's own tensor."""
    vals = [read(t) for t in ts]
    level = innermost(vals)
    if level is not None:
        mapped = [is_example(v, level) for v in vals]
        return _given([wrap(v.array.batch) if b else t for v, t, b in zip(vals, ts, mapped)], mapped, ts, level)
    seen = [None, None, None]

    @custom_vmap
    def peek(*xs):
        return xs

    @peek.def_vmap
    def rule(size, batched, *xs):
        seen[:] = size, list(batched), xs
        return xs, tuple(batched)
    with jax.enable_x64(True):
        peek(*[to_jax(t) for t in ts])
    if seen[2] is None:
        return None
    return _given([from_jax(x, meta(t).device) for t, x in zip(ts, seen[2])], seen[1], ts, innermost_vmap())


def _given(made, mapped, ts, level):
    """`unbatched`'s answer where the batches of those of `ts` that are `mapped` are `made`."""
    dims = [0 if b else None for b in mapped]
    for n, (t, b) in enumerate(zip(ts, mapped)):
        k = next((k for k, i in enumerate(level.ins) if i is t), None) if b else None
        if k is not None:
            made[n], dims[n] = level.given[k], level.dims[k]
    return made, dims


def everywhere(t):
    """Whether all elements of a tensor are true, in each example of the vmaps around: a program may go by that, as all examples agree."""
    level = innermost_vmap()
    found = None if level is None else unbatched([t])
    if found is None:
        return bool(t.all())
    with below(level):
        return everywhere(found[0][0])


def rebatched(ts, level):
    """Tensors whose first dimension is the batch as the function sees them, at a level."""
    if level.recorded:
        return [wrap(example_of(present(read(t)), level)) for t in ts]
    values = tuple([to_jax(t) for t in ts])
    shapes = [(v.shape[1:], v.dtype) for v in values]

    @custom_vmap
    def put(x):
        return tuple([jnp.zeros(shape, dtype) for shape, dtype in shapes])

    @put.def_vmap
    def rule(size, batched, x):
        return values, tuple([True for _ in values])
    with jax.enable_x64(True):
        return [from_jax(x, meta(t).device) for x, t in zip(put(to_jax(level.ins[0])), ts)]


UNDETACHABLE = "Batching rule not implemented for aten::detach; the fallback path doesn't work on out= or view ops."


def refuse_detaching(t):
    """torch's refusal of a tensor that is batched by the vmap which knows of no transforms."""
    if levels()[-1].randomness == "old" and is_traced(t):
        raise RuntimeError(UNDETACHABLE)


def shown(t, text, found=None):
    """repr of a tensor that transforms are at work on; `text` is that of a tensor that none knows."""
    found = levels() if found is None else found
    a = t._ts_st.value.array
    if a.__class__ is Example and a.level.over:
        return _wrapped(f"BatchedTensor(lvl={a.level.depth}, bdim=0", shown(wrap(read(t).array.batch), text, found))
    if found and found[-1].randomness == "old" and is_traced(t):          # which it formats number by number
        raise RuntimeError("Batching rule not implemented for aten::is_nonzero. We could not generate a fallback."
                           if t.is_floating_point() or t.is_complex() else UNDETACHABLE)
    for n in range(len(found), 0, -1):
        level = found[n - 1]
        if level.kind == "grad" and leads_to(t, level.ins):
            inner = next((g for g, i in zip(level.given, level.ins) if i is t), None)
            return _wrapped(f"GradTrackingTensor(lvl={n}", shown(t.detach() if inner is None else inner, text, found[:n - 1]))
        if level.kind == "vmap" and is_traced(t):
            with below(level, keep=True):
                batch = unbatched([t])
            if batch is not None and batch[1][0] is not None:
                (value,), (dim,) = batch
                return _wrapped(f"BatchedTensor(lvl={n}, bdim={dim}", shown(value, text, found[:n - 1]))
    return text(t)


def _wrapped(opening, inside):
    return f"{opening}, value=\n{textwrap.indent(inside, '    ')}\n)"


def leads_to(t, ins):
    """Whether the history of t leads to one of the tensors `ins`."""
    seen, stack, ends = set(), [edge(t)], [_node(edge(i)) for i in ins]
    while stack:
        e = stack.pop()
        target = _node(e)
        if target is None or id(target) in seen:
            continue
        seen.add(id(target))
        if any([target is end for end in ends]):
            return True
        stack.extend(getattr(target, "_ts_next", ()))
    return False


def _node(e):
    target = e[0] if e.__class__ is tuple else e
    return getattr(target, "variable", target)
