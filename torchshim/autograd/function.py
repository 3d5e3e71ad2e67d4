"""torch.autograd.Function: an operator whose forward and backward are the user's Python code."""
from __future__ import annotations

import collections
import functools
import inspect
from types import SimpleNamespace

from ..engine import context, warn
from ..tensor.core.dispatch import wrap
from ..tensor.core.dtype import FROM_NP
from ..tensor.core.overriding import plainly
from ..tensor.core.graph import Node, forward_only, leads_nowhere, node_class, sequence
from ..tensor.core.handle import edge, log_grad, read, version
from ..tensor.core.hooks import retain_too
from ..tensor.core.inference import INFERENCE, unversioned
from ..tensor.core.storage import note_history
from ..tensor.core.tensor import Tensor
from ..tensor.core.view import tensor_on
from ..tensor.core.write import bump, check_inplace, needs_grad, rebase
from . import anomaly_mode
from .graph import Packed, active as active_hooks
from .levels import below, innermost_vmap, leads_to, levels, is_traced, rebatched, unbatched
from .grad_mode import grad_mode


class FunctionNode(Node):
    """The node of a custom Function; it is also the `ctx` that forward and backward get."""
    __slots__ = ("__dict__",)
    _ts_home = "torch.autograd.function"

    def __init__(self):
        pass

    def __repr__(self):
        return object.__repr__(self)

    @property
    def _ts_n_outputs(self):
        return len(self._ts_out_metas)

    def _ts_out_meta(self, nr):
        return self._ts_out_metas[nr]

    def save_for_backward(self, *tensors):
        """Keep tensors for backward, with a check that they were not written since."""
        self._ts_to_save = tensors

    def save_for_forward(self, *tensors):
        """Keep tensors for jvp."""
        self._ts_for_forward = tensors

    def mark_dirty(self, *args):
        """These inputs were written in place by forward."""
        self._ts_dirty = args

    def mark_non_differentiable(self, *args):
        """These outputs have no gradient."""
        self._ts_non_diff = args

    def set_materialize_grads(self, value):
        """Whether missing gradients come as zeros (default) or None."""
        self._ts_materialize = value

    @property
    def saved_tensors(self):
        if self._ts_saved is None:
            from .saved import RELEASED
            raise RuntimeError(RELEASED)
        out = []
        for t, value, noted, e in self._ts_saved:
            if t is None and value is None:
                out.append(None)
                continue
            if e is _PACKED:
                out.append(self._ts_unpacked(value, noted))
                continue
            if e is _OUTPUT:
                (st, v), nr, steps, offset, differs = noted
                if st.version != v:
                    from .saved import modified_error
                    raise modified_error(value.meta, st.version, v, self.name(), nr)
                # a write through .data changes it and is not noticed, as in torch
                out.append(tensor_on(st, steps, offset, None if not differs else (self, nr) if len(self._ts_out_metas) > 1 else self))
                continue
            if version(t) != noted:           # also where `.data =` gave it other memory
                from .saved import written_error
                raise written_error(t, SimpleNamespace(version=version(t)), noted)
            out.append(t)
        return tuple(out)

    @property
    def saved_variables(self):
        warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors

    def _ts_unpacked(self, packed, e):
        """What an unpack hook gave, with the history that the saved tensor had; `e` is its edge, or an output's number."""
        t = packed.unpack()
        if e is None:
            return t
        from .saved import tensor_at
        return tensor_at(read(t), e if e.__class__ is not int else self if len(self._ts_out_metas) == 1 else (self, e))

    def _ts_custom_backward(self, box, mode):
        """The user's backward, on tensors."""
        grads = []
        for nr, m in enumerate(self._ts_out_metas):
            if m is None:
                grads.append(None)             # of an output that is no tensor
            elif nr in box:
                grads.append(mode.tensor(box[nr]))
            elif self._ts_materialize:
                g = mode.zeros(m)
                grads.append(g if isinstance(g, Tensor) else wrap(g))
            else:
                grads.append(None)
        cls = self._ts_forward_cls
        if cls.vjp is not Function.vjp and cls.backward is not Function.backward:
            raise RuntimeError("Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one "
                               "of them.")
        user = cls.vjp if cls.vjp is not Function.vjp else cls.backward
        out = user(self, *grads)
        out = out if isinstance(out, tuple) else (out,)
        expected = len(self._ts_needs)
        if len(out) > expected and any(x is not None for x in out[expected:]) or len(out) < expected:
            raise RuntimeError(f"function {type(self).__name__} returned an incorrect number of gradients (expected {expected}, got "
                               f"{len(out)})")
        result = []
        for k, is_tensor in enumerate(self._ts_is_tensor):
            if not is_tensor:
                if out[k] is not None:
                    raise RuntimeError(f"function {type(self).__name__} returned a gradient different than None at position {k + 1}, but "
                                       "the corresponding forward input was not a Variable")
                continue
            g = out[k]
            if g is not None and not isinstance(g, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type(g).__name__})")
            e = self._ts_next[len(result)]
            # where nobody takes it its shape does not matter; hooks of the node see it
            if not self._ts_needs[k] or isinstance(e, Tensor) and leads_nowhere(e):
                result.append(None if g is None else mode.back(g))
                continue
            m = self._ts_in_metas[k]
            if g is not None and g._ts_meta.shape != m.shape:
                if g.ndim >= len(m.shape) and _sums_to(g._ts_meta.shape, m.shape):
                    g = _sum_to(g, m.shape)
                else:
                    raise RuntimeError(f"Function {type(self).__name__} returned an invalid gradient at index {k} - got "
                                       f"{list(g._ts_meta.shape)} but expected shape compatible with {list(m.shape)}")
            if g is not None and g._ts_meta.dtype != m.dtype:
                g = g.to(FROM_NP[m.dtype])
            result.append(None if g is None else mode.back(g))
        return result


_OUTPUT, _PACKED = object(), object()


def _sums_to(shape, target):
    return all(t == s or t == 1 for s, t in zip(reversed(shape), reversed(target)))


def _sum_to(g, shape):
    lead = g.ndim - len(shape)
    dims = list(range(lead)) + [d + lead for d, n in enumerate(shape) if n == 1 and g.shape[d + lead] != 1]
    return g.sum(dims, keepdim=True).reshape(shape)


class Function:
    """Subclass with static methods `forward(ctx, *args)` (or `forward(*args)` and `setup_context(ctx, inputs, output)`) and
    `backward(ctx, *grad_outputs)`; call `apply`."""
    generate_vmap_rule = False

    def __init__(self, *args, **kwargs):
        warn(f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke them on the "
             "class itself. Instantiating an autograd function will raise an error in a future version of PyTorch.", DeprecationWarning)

    def __call__(self, *args, **kwargs):
        raise RuntimeError("Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
                           "function with static forward method. (Example: "
                           "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)")

    @staticmethod
    def forward(*args, **kwargs):
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        raise NotImplementedError("You must implement either the backward or vjp method for your custom autograd.Function to use it "
                                  "with backward mode AD.")

    @staticmethod
    def vjp(ctx, *grad_outputs):
        raise NotImplementedError

    @staticmethod
    def jvp(ctx, *grad_inputs):
        raise NotImplementedError("You must implement the jvp function for custom autograd.Function to use it with forward mode AD.")

    @staticmethod
    def vmap(info, in_dims, *args):
        raise NotImplementedError("To use autograd.Function with vmap, you must either override the vmap static method or set "
                                  "generate_vmap_rule=True.")

    @staticmethod
    def setup_context(ctx, inputs, output):
        raise NotImplementedError("setup_context is not implemented.")

    @classmethod
    def apply(cls, *args, **kwargs):
        """Run forward outside the graph and put one node in it."""
        if "capture" in context.modes:
            with plainly():
                return cls.apply(*args, **kwargs)
        transformed, forward = "transform" in context.modes and levels()[-1].randomness != "old", cls.forward
        if cls.setup_context is not Function.setup_context:
            args, kwargs = _with_defaults(forward, args, kwargs)
        if kwargs and not transformed:
            args, kwargs = _positional(forward, args, kwargs, cls.setup_context is Function.setup_context), {}
        if transformed and levels()[-1].kind == "functionalize" and cls.setup_context is not Function.setup_context:
            raise RuntimeError("NYI: Functionalize rule for custom_function_call")
        if transformed and _check_transformable(cls, args, kwargs):
            forward = functools.partial(batched_forward, cls)
        ctx = object.__new__(node_class(cls.__name__ + ("GeneratedBackward" if transformed else "Backward"), FunctionNode))
        ctx._ts_forward_cls, ctx._ts_materialize = cls, True
        ctx._ts_dirty = ctx._ts_non_diff = ctx._ts_to_save = ctx._ts_for_forward = ()
        ctx._ts_inst = ctx._ts_plan = ctx._ts_extra = None
        ctx._ts_guard = ctx._ts_nums = ()
        ctx._ts_saved = []
        ctx._ts_is_tensor = [isinstance(a, Tensor) for a in args]
        edges = [edge(a) if isinstance(a, Tensor) else None for a in args]
        if "forward AD" in context.modes:
            ctx._ts_tangents = [None if e is None else context.modes["forward AD"].of(e) for e in edges]
        edges = [None if e is None or forward_only(e) else e for e in edges]
        wants = context.grad is True and any(e is not None for e in edges)
        ctx.needs_input_grad = ctx._ts_needs = tuple(wants and e is not None for e in edges)
        ctx._ts_in_metas = [a._ts_meta if isinstance(a, Tensor) else None for a in args]
        with grad_mode(False), without_tangents():
            if cls.setup_context is not Function.setup_context:
                out = forward(*args, **kwargs)
                cls.setup_context(ctx, args, out)
            else:
                out = forward(ctx, *args, **kwargs)
        _check_dirty(ctx, args, out)
        single = not isinstance(out, tuple)
        outs = (out,) if single else out
        ctx._ts_out_metas = [o._ts_meta if isinstance(o, Tensor) else None for o in outs]
        ctx._ts_next = tuple(e if wants else None for e, t in zip(edges, ctx._ts_is_tensor) if t)
        ctx._ts_seq = next(sequence)
        if anomaly_mode.on:
            anomaly_mode.note(ctx)
        done, seen = [], {}                    # what is made once and returned twice is one tensor, as the last of its outputs
        for k, o in enumerate(outs):
            if id(o) in seen:
                made = done[seen[id(o)]]
                if made._ts_edge is not None and made._ts_edge is not True:
                    made._ts_edge = ctx, k
                done.append(made)
                continue
            if isinstance(o, Tensor) and (any(o is d for d in ctx._ts_dirty) or not any(o is a for a in args)):
                seen[id(o)] = k
            done.append(ctx._ts_finish(o, k, args, wants) if isinstance(o, Tensor) else o)
        if wants and not single:
            _refuse_writes_of_several(ctx, done)
        ctx._ts_save(args, outs, done, wants)
        if "forward AD" in context.modes:
            from .forward_ad import through_function
            through_function(ctx, args, done)
        return done[0] if single else tuple(done)


def _with_defaults(forward, args, kwargs):
    """The arguments of a call, those that were left out with the values that `forward` says: `setup_context` gets them all."""
    code = getattr(forward, "__code__", None)
    if not kwargs and code is not None and len(args) == code.co_argcount and not code.co_kwonlyargcount:
        return args, kwargs
    bound = inspect.signature(forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args, bound.kwargs


def _positional(forward, args, kwargs, with_ctx):
    """The arguments with those named by keywords at their places, as backward counts them; what has no place is refused, as in torch."""
    names = [p.name for p in inspect.signature(forward).parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD][with_ctx:]
    for name in kwargs:
        if name not in names:
            raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
        if names.index(name) < len(args):
            raise TypeError(f"forward() got multiple values for argument '{name}'")
    end = max(map(names.index, kwargs)) + 1
    for k, name in enumerate(names[len(args):end], len(args)):
        if name not in kwargs:
            raise TypeError(f"forward() missing required argument: '{name}' (position {k})")
    return *args, *[kwargs[name] for name in names[len(args):end]]


def without_tangents():
    """Forward-mode AD does not look into the user's forward: `jvp` says what its tangents are."""
    return context.mode("forward AD", None)


def _check_transformable(cls, args, kwargs):
    """torch's refusals of Functions that torch.func's transforms cannot see through; whether the Function's own vmap is to be asked."""
    pushed = cls.jvp is Function.jvp and [x for x in levels() if x.pushes]
    if pushed and (pushed[-1].traced or cls.setup_context is not Function.setup_context) and any(
            [isinstance(a, Tensor) and leads_to(a, x.ins) for a in args for x in pushed]):
        cls.jvp(None)
    if cls.setup_context is Function.setup_context:
        raise RuntimeError("In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must "
                           "override the setup_context staticmethod. For more details, please see "
                           "https://pytorch.org/docs/main/notes/extending.func.html")
    if kwargs and innermost_vmap() is not None and any([isinstance(a, Tensor) for a in kwargs.values()]):
        raise NotImplementedError("Run vmap on autograd.Function with kwarg-only Tensor args. Please do not pass kwarg-only Tensors to "
                                  f"autograd.Function. Got: {kwargs}")
    batched = innermost_vmap() is not None and any([isinstance(a, Tensor) and is_traced(a) for a in args])
    if batched and not cls.generate_vmap_rule and cls.vmap is Function.vmap:
        raise RuntimeError(f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement the "
                           "vmap staticmethod or set generate_vmap_rule=True. For more details, please see "
                           "https://pytorch.org/docs/main/notes/extending.func.html")
    if batched and cls.generate_vmap_rule and cls.vmap is not Function.vmap:
        raise RuntimeError(f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden vmap "
                           "staticmethod. Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid "
                           "ambiguity. For more details, please see https://pytorch.org/docs/main/notes/extending.func.html")
    return batched and cls.vmap is not Function.vmap


VmapInfo = collections.namedtuple("VmapInfo", ["batch_size", "randomness"])


def _unbatched_leaves(tree):
    """A tree of arguments as whole batches, and where each leaf's batch lies (None: it is none)."""
    if isinstance(tree, Tensor):
        found = unbatched([tree])
        return (tree, None) if found is None else (found[0][0], found[1][0])
    if tree.__class__ is dict:
        pairs = {k: _unbatched_leaves(x) for k, x in tree.items()}
        return {k: t for k, (t, _) in pairs.items()}, {k: d for k, (_, d) in pairs.items()}
    if tree.__class__ not in (list, tuple):
        return tree, None
    pairs = [_unbatched_leaves(x) for x in tree]
    return tree.__class__([t for t, _ in pairs]), tree.__class__([d for _, d in pairs])


def batched_forward(cls, *args, **kwargs):
    """The forward of a Function by its vmap staticmethod: on whole batches, outside of the vmap."""
    level, at = innermost_vmap(), [k for k, a in enumerate(args) if isinstance(a, Tensor)]
    found = unbatched([args[k] for k in at])
    if found is None:
        return cls.forward(*args, **kwargs)
    full, dims = list(args), [None] * len(args)
    for k, t, d in zip(at, *found):
        full[k], dims[k] = t, d
    for k, a in enumerate(args):
        if a.__class__ in (list, tuple, dict) and a:           # which the graph does not look into, but vmap does
            full[k], dims[k] = _unbatched_leaves(a)
    with below(level):
        made = cls.vmap(VmapInfo(level.size, level.randomness), tuple(dims), *full, **kwargs)
    expected = "Expected the vmap staticmethod to have two returns, an output and out_dims with pytree structure compatible with the output. "
    if not isinstance(made, tuple):
        raise RuntimeError(f"{expected}Got a {type(made)} instead")
    if len(made) != 2:
        raise RuntimeError(f"{expected}Got {len(made)} returns instead")
    out, out_dims = made
    outs = list(out) if isinstance(out, (tuple, list)) else [out]
    where = list(out_dims) if isinstance(out_dims, (tuple, list)) else [out_dims] * len(outs)
    if isinstance(out_dims, (tuple, list)) and (type(out) is not type(out_dims) or len(where) != len(outs)):
        raise RuntimeError(f"The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) tuple. Expected "
                           f"out_dims={out_dims} to be compatible with the structure of `output`. For more details, please see "
                           "https://pytorch.org/docs/main/notes/extending.func.html")
    for k, (o, d) in enumerate(zip(outs, where)):
        given = next((a for a, t in zip([args[i] for i in at], found[0]) if t is o), None)
        if given is not None:
            outs[k] = given
        elif isinstance(o, Tensor) and d is not None:
            (outs[k],) = rebatched([o.movedim(d, 0)], level)
    return type(out)(outs) if isinstance(out, (tuple, list)) else outs[0]


def _check_dirty(ctx, args, out):
    """What a forward said it wrote, against what it was given and returns."""
    if not ctx._ts_dirty:
        return
    if not all([isinstance(d, Tensor) for d in ctx._ts_dirty]):
        raise RuntimeError("mark_dirty can only accept variables, but argument ")
    outs = out if isinstance(out, tuple) else (out,)
    if any([not any([d is a for a in args]) for d in ctx._ts_dirty]):
        warn("ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be passed to "
             "ctx.mark_dirty().")
    if any([not any([d is o for o in outs]) for d in ctx._ts_dirty]):
        raise RuntimeError("Some elements marked as dirty during the forward method were not returned as output. The inputs that are "
                           "modified inplace must all be outputs of the Function.")


def _finish(ctx, o, nr, args, wants):
    """An output as the graph sees it."""
    differs = wants and not any(o is x for x in ctx._ts_non_diff) and (o.is_floating_point() or o.is_complex())
    if any(o is d for d in ctx._ts_dirty):
        bump(o)
        if wants and not differs:
            return o.detach() if needs_grad(o) else o
        if wants and o._ts_edge in (None, True) and needs_grad(o):
            raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
        if wants:
            _set_history(ctx, o, nr, args)
            if o._ts_extra is not None and o._ts_extra.grad is not None:
                log_grad(o)
                o._ts_extra.grad = None        # what it was the gradient of is no more
        return o
    if any(o is a for a in args):
        with grad_mode(False):
            o = o.view_as(o) if differs or not needs_grad(o) or forward_only(edge(o)) else o.detach()
    elif o._ts_edge is not None:
        o = o.detach()
    if differs:
        if o._ts_view is not None and o._ts_view.base is not None:
            o._ts_view.creation, o._ts_view.seen = "custom", version(o)
        o._ts_edge = ctx if len(ctx._ts_out_metas) == 1 else (ctx, nr)
    elif o._ts_view is not None and o._ts_view.base is not None:
        o._ts_view.creation = "custom"
    return o


def _refuse_writes_of_several(ctx, done):
    """Views among several outputs with histories may not be written in place at all."""
    made = [o for o in done if isinstance(o, Tensor) and o._ts_edge.__class__ is tuple and o._ts_edge[0] is ctx]
    if len(made) > 1:
        for o in done:
            if isinstance(o, Tensor) and o._ts_view is not None and o._ts_view.creation == "custom":
                o._ts_view.creation = "multi"


def _set_history(ctx, o, nr, args):
    if o._ts_view is not None and o._ts_view.base is not None:
        if len(ctx._ts_out_metas) > 1:
            raise RuntimeError("If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return "
                               "more than one Tensor. This is not supported by the current autograd engine. You should either make sure "
                               "the input is not a view (using .clone() for example) or make your Function only return one Tensor "
                               "(potentially splitting it into two Functions: one doing the inplace that returns a single Tensor and a "
                               "second one that does the other operations). You can ask on the forum https://discuss.pytorch.org/ if you "
                               "need help to do this change.")
        if o is not next(a for a in args if isinstance(a, Tensor)):
            raise NotImplementedError("torchshim: an autograd.Function that writes in place into a view which is not its first argument")
        check_inplace(o, True)
        rebase(o, ctx)
        return
    note_history(o)
    if o._ts_extra is not None and o._ts_extra.retains:
        retained, k = retain_too(o, edge(o), ctx)
        if retained is not None:
            ctx._ts_extra.retain = {nr: retained.pop(k)}
    o._ts_edge = ctx if len(ctx._ts_out_metas) == 1 else (ctx, nr)


def _save(ctx, args, outs, done, wants):
    if not wants:
        ctx._ts_saved = [(t, None, version(t), None) if isinstance(t, Tensor) else (None, None, 0, None) for t in ctx._ts_to_save]
        return
    saved, hooks = [], active_hooks()
    for k, t in enumerate(ctx._ts_to_save):
        if t is None:
            saved.append((None, None, 0, None))
            continue
        if not isinstance(t, Tensor):
            raise TypeError(f"save_for_backward can only save variables, but argument {k} is of type {type(t).__name__}")
        if unversioned(t):
            raise RuntimeError(INFERENCE)
        nr = next((k for k, o in enumerate(outs) if o is t), None)
        made_here = nr is not None and isinstance(done[nr], Tensor) and (
            not any(t is a for a in args) or any(t is d for d in ctx._ts_dirty) and (
                t._ts_edge in (ctx, (ctx, nr)) or t._ts_view is not None and t._ts_view.base is not None))
        if hooks is not None:
            e = edge(t) if not made_here else nr if done[nr]._ts_edge is not None else None
            saved.append((None, Packed(t, hooks), e, _PACKED))
        elif made_here:
            st, vw = done[nr]._ts_st, done[nr]._ts_view       # not the output itself: a cycle would keep it alive
            where = (st, st.version), nr, () if vw is None else vw.steps, 0 if vw is None else vw.offset, done[nr]._ts_edge is not None
            saved.append((None, read(t), where, _OUTPUT))
        else:
            saved.append((t, None, version(t), None))
    ctx._ts_saved = saved


def kept_packed(ctx, k, packed):
    """What a node of a Function keeps in the place of the tensor that it saved at `k`, when that gets hooks of its own."""
    t, _, noted, e = ctx._ts_saved[k]
    if e is _OUTPUT:
        return None, packed, noted[1] if noted[4] else None, _PACKED
    return None, packed, edge(t), _PACKED


FunctionNode._ts_finish, FunctionNode._ts_save = _finish, _save


class InplaceFunction(Function):
    """The old base of functions with an `inplace` flag."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace


def once_differentiable(fn):
    """A backward that can't itself be differentiated."""
    @functools.wraps(fn)
    def wrapper(ctx, *args):
        with grad_mode(False):
            out = fn(ctx, *args)
        if not context.grad or not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return out
        made = _failing(out if isinstance(out, tuple) else (out,))
        return made if isinstance(out, tuple) else made[0]
    return wrapper


class _Fail(FunctionNode):
    """Raises when backward comes here."""
    _ts_home = Node._ts_home

    def _ts_custom_backward(self, box, mode):
        raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


def _failing(outs):
    """Gradients on one such node, that for as many leaves stands as there are gradients."""
    outs = tuple([None if o is None else o.detach() for o in outs])
    node = object.__new__(node_class("Error", _Fail))
    node._ts_inst = node._ts_plan = node._ts_extra = None
    node._ts_saved, node._ts_guard, node._ts_nums, node._ts_seq = [], (), (), next(sequence)
    node._ts_next = tuple([None if o is None else o.detach().requires_grad_() for o in outs])
    node._ts_out_metas = [None if o is None else o._ts_meta for o in outs]
    for nr, o in enumerate(outs):
        if o is not None:
            o._ts_edge = node if len(outs) == 1 else (node, nr)
    return outs


FunctionCtx = BackwardCFunction = FunctionNode
