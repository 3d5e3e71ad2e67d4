"""vmap: a function of examples as a function of batches.

The user's function sees Examples (engine/compile/batch.py): each operator on them is recorded for the batch, like any other. A function
that computes with JAX (`to_jax`) runs again by jax.vmap, with tracers inside.

Where gradients are wanted of something inside, the whole call becomes one node of the graph; its backward batches the
function's own backward.
"""
from __future__ import annotations

import contextlib
import functools
import pathlib
import re
import traceback

import jax

from ..autograd.forward_ad import level_here
from ..autograd.function import FunctionNode
from ..autograd.levels import UNDETACHABLE, Level, is_traced, levels, running
from ..autograd.saved import RELEASED, end_of, modified_error, residuals, tensor_at, written_error
from ..engine import TRACED, Example, NeedsNumbers, NeedsTracer, context, example_of, is_example, meta_of, present
from ..engine.site import is_users
from ..interop import from_jax, to_jax
from ..overrides import TorchFunctionMode
from ..ops.batched_views import batched_view, place
from ..random.generator import restore, states
from ..tensor.core.dispatch import wrap
from ..tensor.core.graph import Node, node_class, sequence
from ..tensor.core.handle import TensorBase, chain_node, creation_error, edge, meta, offset_of, read, tangent_of, version
from ..tensor.core.overriding import aside
from ..tensor.core.view import make_view_any
from ..tensor.core.write import bump, check_inplace, is_inference, rewrite
from ..utils._pytree import _broadcast_to_and_flatten, tree_flatten, tree_unflatten
from .graphs import gradients, leaf, nodes, now, outside
from .names import batched_name
from .parts import mapped_by, replaced

_CONTROL_FLOW = ("vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that yet, "
                 "please file an issue at https://github.com/pytorch/pytorch/issues .")
_ITEM = ("vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, please try to "
         "rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch internals, please file a "
         "bug report.")
_DYNAMIC = ("vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::{}. Please file an "
            "issue at https://github.com/pytorch/pytorch/issues if you need this feature.")
_PUBLIC = tuple([str(pathlib.Path(__file__).parents[1] / folder) for folder in ("tensor", "nn")])      # names there are those of torch
_UNREADABLE = "Cannot access data pointer of Tensor that doesn't have storage"
_EXAMPLES = [None]         # the code that calls a function for the examples of a batch
#: What torch says of functions that look at numbers, the outer ones first.
_REFUSED = {
    "where": _DYNAMIC.format("where"), "nonzero": _DYNAMIC.format("nonzero"), "unique": _DYNAMIC.format("_unique2"),
    "masked_select": "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because for each batch "
                     "this would return a differently shaped Tensor. Please file an issue at https://github.com/pytorch/pytorch/issues if "
                     "you need this feature.",
    "allclose": "vmap over torch.allclose isn't supported yet. Please file an issue at https://github.com/pytorch/pytorch/issues if you "
                "need this feature.",
    "equal": "Batching rule not implemented for aten::equal. We could not generate a fallback.",
    "tolist": _UNREADABLE, "numpy": _UNREADABLE}
_NEEDS_NUMBERS = (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError,
                  jax.errors.TracerIntegerConversionError, jax.errors.TracerBoolConversionError, jax.errors.NonConcreteBooleanIndexError,
                  NeedsNumbers)
_SIZES = re.compile(r"(The size of tensor a \(\d+\) must match the size of tensor b \(\d+\) at non-singleton dimension )(\d+)")
_LIST = re.compile(r"\[([\d, ]*)\]")


@contextlib.contextmanager
def _counted(size):
    """Sizes that do not fit are told with the dimension of the batch counted, as in torch, and products in its words for batches."""
    try:
        yield
    except RuntimeError as error:
        if hasattr(error, "of_batch"):
            raise RuntimeError(error.of_batch) from None
        if str(error).startswith("stack expects each tensor to be equal size"):
            raise RuntimeError(_LIST.sub(lambda m: f"[{size}{', ' * bool(m[1])}{m[1]}]", str(error))) from None
        found = _SIZES.fullmatch(str(error))
        if found is None:
            raise
        raise RuntimeError(f"{found[1]}{int(found[2]) + 1}") from None


#: The same of those that the vmap which knows of no transforms refuses.
_REFUSED_BY_OLD = {name: f"Batching rule not implemented for aten::{op}. We could not generate a fallback." for name, op in
                   (("__bool__", "is_nonzero"), ("equal", "equal"), ("allclose", "allclose"), ("item", "item"))} | {
                       "tolist": _UNREADABLE, "numpy": UNDETACHABLE}


def _refused_by_old(error):
    """torch's words where the user's code asked for numbers in a batch of the vmap that knows of no transforms; None where ours did."""
    tb, names, inside = error.__traceback__, None, False
    while tb is not None:
        code, tb = tb.tb_frame.f_code, tb.tb_next
        if code is _EXAMPLES[0]:
            inside = True
        elif inside and is_users(code.co_filename):
            names = {*getattr(error, "asked", ())}
        elif names is not None:
            names.add(code.co_name)
    return next((text for name, text in _REFUSED_BY_OLD.items() if name in names), None) if names else None


@contextlib.contextmanager
def _explained(randomness):
    """torch's words where the function asked for numbers that a batch does not have."""
    try:
        yield
    except _NEEDS_NUMBERS as error:
        old = _refused_by_old(error) if randomness == "old" else None
        if old is not None:
            raise RuntimeError(old) from error
        if isinstance(error, jax.errors.NonConcreteBooleanIndexError):
            raise RuntimeError("vmap: We do not support batching operators that can output dynamic shape.") from error
        frames = traceback.extract_tb(error.__traceback__)
        names, public = {f.name for f in frames}, {f.name for f in frames if f.filename.startswith(_PUBLIC)}
        public.update(getattr(error, "asked", ()))
        for name, text in _REFUSED.items():
            if name in public:
                raise RuntimeError(text) from error
        if "getitem" in names and "item" not in names:
            raise RuntimeError("vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over "
                               "indexing with a boolean mask.") from error
        raise RuntimeError(_CONTROL_FLOW if "__bool__" in names else _ITEM) from error


def batched(fn, xs, dims, randomness="error", held=()):
    """`fn` (a list of tensors to a list of tensors) over dimension `dims[k]` of each `xs[k]`; results have the batch first. `held`: the list
    that `fn` takes its other arguments from."""
    before = states()
    try:
        made = _batched(fn, xs, dims, randomness, held, before)
    except RuntimeError as error:
        if _IN_PLACE not in str(error) or not any([context.grad is True and edge(x) is not None for x in xs]):
            raise
        made = None
    if made is None:
        restore(before)
        made = _Writing(fn, xs, dims)(randomness, held, before)
    return made


_IN_PLACE = "a leaf Variable that requires grad is being used in an in-place operation."


class _Writing:
    """A batched function that writes in place where a gradient is wanted: what it has written are results of it, which replace what the
    arguments hold, and their histories."""

    def __init__(self, fn, xs, dims):
        self.fn, self.xs, self.dims = fn, xs, dims

    def __call__(self, randomness, held, before):
        """The results. They are seen through the arguments where they are views of those."""
        xs, dims = self.xs, self.dims
        made = _batched(self.run, xs, dims, randomness, held, before)
        outs, rest = made[:len(self.seen)], made[len(self.seen):]
        for j, seen in enumerate(self.seen):
            view = None if seen is None else _placed(xs[seen[0]], dims[seen[0]], seen[1])
            if view is not None:
                outs[j] = _view(xs[seen[0]], dims[seen[0]], view)
        for (k, times, name), new in zip(self.written, rest):
            x = xs[k]
            if edge(new) is not None:
                check_inplace(x, True)
            if edge(new) is None or x._ts_view is not None or dims[k] or name == "CopySlices":
                (x.movedim(dims[k], 0) if dims[k] else x.view_as(x)).copy_(new)
            else:
                rewrite(x, read(new), _called(name, edge(new), meta(new)))
            for _ in range(times - 1):
                bump(x)
        return outs

    def run(self, ts):
        """`fn` of copies of the arguments that are no leaves; with what was written of them."""
        ws = [wrap(read(t), None if edge(t) is None else chain_node(t, ())) for t in ts]
        before = [(w._ts_st.gen, w._ts_st.version) for w in ws]
        outs = self.fn(ws)
        self.written = [(k, n, None if ws[k].grad_fn is None else batched_name(ws[k].grad_fn, meta(ws[k]).ndim))
                        for k, n in _written(ws, before)]
        self.seen = [_source(o, ws) for o in outs]
        return outs + [wrap(read(ws[k]), edge(ws[k])) for k, _, _ in self.written]


def _written(ts, before):
    """[(k, how often it counted that)] of the examples that were written since their (gen, version) was that."""
    return [(k, 1 if count != count else t._ts_st.version - count) for k, (t, (gen, count)) in enumerate(zip(ts, before)) if t._ts_st.gen != gen]


def _batched(fn, xs, dims, randomness, held, drawn):
    """`batched`, with the states of the generators at its beginning; None where the function has written what has a gradient to an argument
    of which none was wanted."""
    if level_here() is not None and any([tangent_of(x) is not None for x in xs]):
        raise NotImplementedError("torchshim: vmap over a tensor that has a tangent of forward mode")
    wants = [context.grad is True and edge(x) is not None for x in xs]
    since, info, size = now(), {}, meta(xs[0]).shape[dims[0]]

    def seen(ts, level):
        """What the results, and the arguments that were written, are for the examples `ts` at a level."""
        level.ins = ts
        for t, want in zip(ts, wants):
            if want:
                t._ts_edge = True
        before = [(t._ts_st.gen, t._ts_st.version) for t in ts]
        with running(level), contextlib.nullcontext() if size else _Promoting(), _counted(size):
            outs = fn(ts)
        info["seen"] = [_source(o, ts) for o in outs]
        info["same"] = [None if is_traced(o) else o for o in outs]
        info["written"] = _written(ts, before)
        info["outside"] = outside(outs, since, ts) if context.grad else []
        info["grads"] = [edge(o) is not None for o in outs]
        info["names"] = [None if o.grad_fn is None else batched_name(o.grad_fn, meta(o).ndim) for o in outs]
        inner = list(nodes(outs)) if any(info["grads"]) else ()
        saved = {id(g[1]) for node in inner for g in node._ts_guard}
        saved |= {id(s[0]._ts_st) for node in inner if hasattr(node, "_ts_forward_cls") for s in node._ts_saved or ()
                  if s.__class__ is tuple and s[0] is not None}
        info["keeps"] = any([node._ts_keeps() for node in inner])
        info["saved"] = [id(t._ts_st) in saved for t in ts]
        info["held"] = [(k, t, None if id(t._ts_st) in saved else t._ts_st.gen, read(t), edge(t)) for k, t in enumerate(held)
                        if isinstance(t, TensorBase) and not is_traced(t)] if any(info["grads"]) else ()
        info["raised"] = [_raised(t, inner) for t in ts]
        info["gained"] = any([ts[k]._ts_edge is not None and not wants[k] for k, _ in info["written"]])
        own = {id(t._ts_st) for t in ts}
        info["captured"] = [(node, g[1], g[2]) for node in sorted(inner, key=lambda node: -node._ts_seq) if node._ts_seq >= since
                            for g in node._ts_guard if id(g[1]) not in own and getattr(g[1], "st", g[1]).value.extra is not TRACED]
        info["views"] = [None if s is None or grads is not wants[s[0]] or same is not None else _placed(xs[s[0]], dims[s[0]], s[1])
                         for s, grads, same in zip(info["seen"], info["grads"], info["same"])]
        made = [o for o, view in zip(outs, info["views"]) if view is None] + [ts[k] for k, _ in info["written"]]
        info["devices"] = [meta(t).device for t in made]
        return made

    def run(*arrays):
        ts = [_example(from_jax(a, meta(x).device), x, d) for a, x, d in zip(arrays, xs, dims)]
        return [to_jax(t) for t in seen(ts, Level("vmap", ts, xs, dims, randomness))]
    _EXAMPLES[0] = seen.__code__
    with _explained(randomness):
        made = _recorded(seen, xs, dims, size, Level("vmap", (), xs, dims, randomness), drawn)
    if made is None:
        with jax.enable_x64(True), _explained(randomness):
            arrays = jax.vmap(run, in_axes=tuple(dims))(*[to_jax(x) for x in xs])
        made = [from_jax(a, d) for a, d in zip(arrays, info["devices"])]
    if info["gained"]:
        return None
    for k, times in reversed(info["written"]):     # what was written in place is written to the caller's tensor
        (xs[k].detach() if wants[k] else xs[k]).copy_(made.pop().movedim(0, dims[k]))
        for _ in range(times - 1):
            bump(xs[k])
    computed = iter(made)
    made = [next(computed) if view is None else None for view in info["views"]]
    for j, (seen, view) in enumerate(zip(info["seen"], info["views"])):
        if info["same"][j] is not None:        # the same for all examples
            made[j], info["grads"][j] = info["same"][j].expand(xs[0].shape[dims[0]], *info["same"][j].shape), False
        elif view is not None:
            made[j], info["grads"][j] = _view(xs[seen[0]], dims[seen[0]], view), False
    if any(info["grads"]):
        _attach(made, fn, xs, dims, wants, info, randomness, held, drawn)
    return made


def _raised(t, inner):
    """How many dimensions more than an example has the operand that it meets first, where it has its history itself or is saved: torch
    makes as many of the batch, behind it."""
    for node in inner:
        inst = node._ts_inst
        if inst is not None and len(inst.in_metas) > 1 and inst.op.elementwise and (
                any([e is t for e in node._ts_next]) or any([g[1] is t._ts_st and not g[4] for g in node._ts_guard])):
            return max([m.ndim for m in inst.in_metas]) - meta(t).ndim
    return 0


#: Operators of which torch's batching rule looks at the first example where that is a scalar and the other operand is none.
_PROMOTING = {"add", "sub", "mul", "div", "true_divide", "multiply", "subtract", "divide", "atan2", "fmax", "fmin", "hypot", "logaddexp",
              "logaddexp2", "maximum", "minimum", "__add__", "__radd__", "__sub__", "__mul__", "__rmul__", "__truediv__"}


class _Promoting(TorchFunctionMode):
    """torch's error for such operators in an empty batch."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if getattr(func, "__name__", None) in _PROMOTING and len(args) > 1:
            scalars = [isinstance(x, TensorBase) and not meta(x).ndim and is_traced(x) for x in args[:2]]
            if any(scalars) and not all(scalars):
                raise IndexError("select(): index 0 out of range for tensor of size [0] at dimension 0")
        return func(*args, **(kwargs or {}))


def _recorded(seen, xs, dims, size, level, drawn):
    """The results of a batched function, recorded operator by operator. None where it wants to be traced."""
    level.recorded = True
    vals, around = [read(x) for x in xs], levels()
    if any([v.extra is TRACED and v.array.__class__ is not Example for v in vals]):
        return None
    rows = [present(read(wrap(v).movedim(d, 0)) if d else v) for v, d in zip(vals, dims)]
    try:
        made = seen([_example(wrap(example_of(v, level)), x, d) for v, x, d in zip(rows, xs, dims)], level)
        return [wrap(v.array.batch) if is_example(v, level) else wrap(v).expand(size, *v.meta.shape) for v in map(read, made)]
    except NeedsTracer:
        if any([outer.recorded for outer in around]):
            raise                              # for the vmap around
        restore(drawn)
        return None
    finally:
        level.over = True


def _example(t, x, d):
    """The tensor `t`, one example of `x`, lying in memory as it does there."""
    m = meta(x)
    if is_inference(x):
        t._ts_st.version = x._ts_st.version
    if not m.contiguous or d:
        t._ts_st.value.meta = meta_of(meta(t).shape, m.dtype, m.device, m.strides[:d] + m.strides[d + 1:])
    return t


def _source(o, ts):
    """(which argument, the steps that lead there) where an example's result is a view of an argument or it itself."""
    for k, t in enumerate(ts):
        if o._ts_st is t._ts_st:
            return k, () if o._ts_view is None else o._ts_view.steps
    return None


def _placed(x, d, steps):
    """What shows of `x`, with the batch dimension `d` first, its examples through `steps`: (an Instance, shape, dtype and strides of an
    example, offset, numbers) for each; None where that is no view of its memory."""
    m, made = meta(x), []
    m = meta_of((m.shape[d], *m.shape[:d], *m.shape[d + 1:]), m.dtype, m.device, (m.strides[d], *m.strides[:d], *m.strides[d + 1:]))
    for inst, nums in steps:
        found = place(m, inst, nums)
        if found is None:
            return None
        *lies, offset = found
        made.append((inst, lies, offset, nums))
        m = batched_view.resolve((inst, *lies, inst.layout[-1]), (m,), inst.kinds).out
    return made


def _view(x, d, placed):
    """`x` with the batch dimension `d` first, its examples seen as `_placed` says."""
    y = x.movedim(d, 0) if d else x.view_as(x)
    for inst, lies, offset, nums in placed:
        offset += offset_of(y) * meta(y).dtype.itemsize // inst.out.dtype.itemsize
        y = make_view_any(y, batched_view, (inst, *lies, inst.layout[-1]), offset, nums, inst.kinds, later=True)
    return y


class VmapNode(FunctionNode):
    """The history of a batched call: recomputes it from what its arguments held, and batches its backward. Of arguments that the function's
    own graph saved, later writes are refused, or seen where they go through `.data`. It is called as the node of its first result is in
    torch."""
    __slots__ = ()
    _ts_home = Node._ts_home

    def _ts_custom_backward(self, box, mode):
        if self._ts_saved is None:
            raise RuntimeError(RELEASED)
        fn, xs, dims, wants, found, grads, randomness, state, kept, captured, held, then = self._call
        from ..autograd.grad_mode import grad_mode
        for k, (x, (counted, _, _)) in enumerate(zip(xs, kept)):
            if counted is not None and version(x) != counted:
                raise _refusal(x, counted, self._raised.get(k))
        for node, st, counted in captured:
            if st.version != counted:
                residuals(node)                # which tells whose write this is
        xs = [x if counted is not None else tensor_at(value, e) for x, (counted, value, e) in zip(xs, kept)]
        cts = [mode.tensor(box[k]) for k in range(len(grads)) if k in box]
        at = [k for k in range(len(grads)) if k in box]

        def per_example(ts):
            given, ins = ts[:len(cts)], ts[len(cts):]
            # in a graph of its own where nobody asked for more
            ins = [t if edge(t) is not None or not want else leaf(t.detach()) for t, want in zip(ins, wants)]
            since = now()
            with grad_mode(True):
                outs = fn(ins)
            if not set(map(_end, outside(outs, since, ins))) <= known:
                raise NotImplementedError("torchshim: backward through a vmap of a function that reads a tensor whose history was changed "
                                          "since, by a write in place")
            targets = [edge(t) for t, want in zip(ins, wants) if want] + found
            gs = gradients([outs[k] for k in at], targets, given, mode.graph, found)
            like = [t for t, want in zip(ins, wants) if want] + [None] * len(found)
            return [_filled(g, t, e) for g, t, e in zip(gs, like, targets)]
        known = set(map(_end, found))
        before, given = states(), list(held)
        restore(state)
        for k, t, gen, value, e in then:       # as they were; what the graph saved is what it holds now
            if gen is not None and t._ts_st.gen != gen:
                held[k] = tensor_at(value, e)
            elif e is None and edge(t) is not None:
                held[k] = t.detach()
        try:
            gs = batched(per_example, cts + list(xs), [0] * len(cts) + list(dims), randomness)
        finally:
            restore(before)
            if given:
                held[:] = given
        n = sum(wants)
        it = iter(gs)
        out = []
        for k, (d, want) in enumerate(zip(dims, wants)):
            if want:
                g = next(it).movedim(0, d)
                out.append(mode.back(g.reshape(self._raised[k].shape) if k in self._raised else g))
        return out + [mode.back(g.sum(0)) for g in gs[n:]]


def _refusal(x, counted, raised):
    """torch's error for an argument that was saved and written since; `raised`: what it was saved as, where it had to have more
    dimensions."""
    vw = x._ts_view
    if vw is not None and vw.creation.__class__ is str and not isinstance(end_of(x._ts_edge)[0], TensorBase):
        return RuntimeError(creation_error(x, vw, True))
    return written_error(x, x._ts_st, counted) if raised is None else modified_error(
        raised, version(x), counted, None if edge(x) is None else "AsStrided")


def _end(e):
    target, nr = end_of(e)
    return id(target), nr


def _filled(g, like, e):
    if g is not None:
        return g
    import torchshim as torch
    if like is not None:
        return torch.zeros_like(like)
    node, nr = e if e.__class__ is tuple else (e, 0)
    m = node._ts_meta if isinstance(node, TensorBase) else node._ts_out_meta(nr)
    from ..autograd.grad_ops import zeros_value
    from ..tensor.core.dispatch import wrap
    return wrap(zeros_value(m))


def _attach(made, fn, xs, dims, wants, info, randomness, held, drawn):
    names = [name or "VmapBackward" for name, with_grad in zip(info["names"], info["grads"]) if with_grad]
    node = object.__new__(node_class(names[0], VmapNode))
    node._ts_inst = node._ts_plan = node._ts_extra = None
    node._ts_saved, node._ts_guard, node._ts_nums = [True] if info["keeps"] else [], (), ()
    node._raised = {k: _raised_meta(meta(x), n) for k, (x, d, n) in enumerate(zip(xs, dims, info["raised"]))
                    if n > 0 and not d and not levels()}
    node._ts_next = tuple([_called("ViewBackward0", edge(x), node._raised[k], meta(x).shape) if k in node._raised else edge(x)
                           for k, (x, want) in enumerate(zip(xs, wants)) if want] + info["outside"])
    node._ts_seq = next(sequence)
    node._ts_out_metas = [t._ts_meta for t in made]
    node._call = (fn, xs, tuple(dims), wants, info["outside"], info["grads"], randomness, drawn,
                  [(version(x), None, None) if kept else (None, read(x), edge(x)) for x, kept in zip(xs, info["saved"])],
                  info["captured"], held, info["held"])
    for k, t in enumerate(made):
        if info["grads"][k]:
            t._ts_edge = node if len(made) == 1 else (node, k)
            if info["names"][k] not in (None, names[0]):
                t._ts_edge = _called(info["names"][k], t._ts_edge, t._ts_meta)


def _raised_meta(m, n):
    return meta_of((m.shape[0], *(1,) * n, *m.shape[1:]), m.dtype, m.device)


class _Passing(Node):
    """One of several results of a batched function, whose history has another name than that of the first; or an argument in `shape`, that
    the function meets with more dimensions."""
    __slots__ = ("meta", "shape")
    _ts_n_outputs = 1

    def _ts_out_meta(self, nr):
        return self.meta

    def _ts_custom_backward(self, box, mode):
        g = box.get(0)
        return [g if g is None or self.shape is None else mode.back(mode.tensor(g).reshape(self.shape))]


def _called(name, e, m, shape=None):
    """A node with this name and results like `m` that leads to where the edge `e` does."""
    node = object.__new__(node_class(name, _Passing))
    node._ts_inst = node._ts_plan = node._ts_extra = None
    node._ts_saved, node._ts_guard, node._ts_nums, node._ts_next, node._ts_seq = [], (), (), (e,), next(sequence)
    node.meta, node.shape = m, shape
    return node


def check_randomness(randomness):
    """torch's refusal of what says nothing of random numbers."""
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")


def _name(func):
    return getattr(func, "__name__", repr(func))


def _in_dims(func, in_dims, args):
    """(leaves, structure, the dimension of each leaf or None, batch size)."""
    name = _name(func)
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int or a (potentially nested) tuple "
                         f"matching the structure of inputs, got: {type(in_dims)}.")
    if not args:
        raise ValueError(f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a "
                         "function with no inputs. The latter is unsupported.")
    leaves, structure = tree_flatten(args)
    dims = _broadcast_to_and_flatten(in_dims, structure)
    if dims is None:
        raise ValueError(f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): in_dims is not compatible with the structure of `inputs`. "
                         f"in_dims has structure {tree_flatten(in_dims)[1]} but inputs has structure {structure}.")
    sizes = []
    for k, (x, d) in enumerate(zip(leaves, dims)):
        if d is None:
            continue
        if not isinstance(x, TensorBase):
            raise ValueError(f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={d} for an input but the input is of type "
                             f"{type(x)}. We cannot vmap over non-Tensor arguments, please use None as the respective in_dim")
        if not -x.ndim <= d < x.ndim:
            raise ValueError(f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={d} for some input, but that input is a Tensor "
                             f"of dimensionality {x.ndim} so expected in_dim to satisfy -{x.ndim} <= in_dim < {x.ndim}.")
        dims[k] = d % x.ndim
        sizes.append(x.shape[dims[k]])
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(set(sizes)) > 1:
        raise ValueError(f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped "
                         "dimension")
    return leaves, structure, dims, sizes[0]


def _check_out_dims(func, out_dims):
    if out_dims is not None and not all([d is None or isinstance(d, int) for d in tree_flatten(out_dims)[0]]):
        raise ValueError(f"vmap({_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of ints "
                         "representing where in the outputs the vmapped dimension should appear.")


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """A function that applies `func` to each slice of its tensor arguments along `in_dims` and stacks the results along
    `out_dims`. Random numbers raise unless randomness="same"."""
    check_randomness(randomness)
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @aside
    @functools.wraps(func)
    def mapped(*args, **kwargs):
        parts = replaced()
        if parts is None:
            leaves, structure, dims, n = _in_dims(func, in_dims, args)
        else:
            _check_out_dims(func, out_dims)
            n, dims, leaves, structure = parts[0](in_dims, args, func)
        if chunk_size is not None and not n:
            raise AssertionError("arg_spec must not be None")
        if chunk_size is not None and chunk_size < n:
            return _in_chunks(leaves, structure, dims, n, kwargs, parts)
        return _whole(leaves, structure, dims, n, kwargs, parts)

    def _whole(leaves, structure, dims, n, kwargs, parts):
        if parts is not None:
            return mapped_by(parts, func, out_dims, leaves, structure, dims, n, kwargs, batched, randomness)
        at = [k for k, d in enumerate(dims) if d is not None]
        info = {}

        def flat(ts):
            full = list(leaves)
            for k, t in zip(at, ts):
                full[k] = t
            outs, info["structure"] = tree_flatten(func(*tree_unflatten(full, structure), **kwargs))
            for o in outs:
                if not isinstance(o, TensorBase):
                    raise ValueError(f"vmap({_name(func)}, ...): `{_name(func)}` must only return Tensors, got type {type(o)}. Did you "
                                     "mean to set out_dims= to None for output?")
            return outs
        def flat_seen(ts):
            outs = flat(ts)
            info["same"] = [next((k for k, t in zip(at, ts) if o is t), None) for o in outs]
            info["batched"] = [is_traced(o) for o in outs]
            return outs
        outs = batched(flat_seen, [leaves[k] for k in at], [dims[k] for k in at], randomness, leaves)
        _check_out_dims(func, out_dims)
        where = _broadcast_to_and_flatten(out_dims, info["structure"])
        if where is None and info["structure"].is_leaf() and isinstance(out_dims, tuple) and len(out_dims) == 1:
            where = list(out_dims)
        if where is None:
            raise ValueError(f"vmap({_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
                             f"`outputs`. out_dims has structure {tree_flatten(out_dims)[1]} but outputs has structure "
                             f"{info['structure']}.")
        if any([d is None and many for d, many in zip(where, info["batched"])]):
            raise ValueError(f"vmap({_name(func)}, ...): `{_name(func)}` can not return a BatchedTensor when out_dim is None")
        outs = [leaves[k] if k is not None and d == dims[k] else o[0] if d is None else o if d in (0, -o.ndim)
                else o.movedim(0, d)
                for o, d, k in zip(outs, where, info["same"])]
        return tree_unflatten(outs, info["structure"])

    def _in_chunks(leaves, structure, dims, n, kwargs, parts):
        import torchshim as torch
        made, form = [], None
        for first in range(0, n, chunk_size):
            part = [x if d is None else x[(slice(None),) * d + (slice(first, first + chunk_size),)] for x, d in zip(leaves, dims)]
            outs, form = tree_flatten(_whole(part, structure, dims, min(chunk_size, n - first), kwargs, parts))
            made.append(outs)
        where = _broadcast_to_and_flatten(out_dims, form)
        return tree_unflatten([torch.cat(parts, d) if d is not None else parts[0] for parts, d in zip(zip(*made), where)], form)
    return mapped
