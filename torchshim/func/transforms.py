"""Derivatives of functions: grad, vjp, jvp, Jacobians."""
from __future__ import annotations

import contextlib
import functools

from ..autograd.batched import row_gradients
from ..autograd.graph import active as active_hooks, disable_saved_tensors_hooks
from ..autograd.forward_ad import NESTED, level_here, refuse_unpushed
from ..autograd.levels import Level, running
from ..autograd.grad_mode import grad_mode, inference_mode
from ..autograd.saved import Entrance
from ..engine import context
from ..tensor.core.dispatch import wrap
from ..tensor.core.graph import node_class
from ..tensor.core.handle import TensorBase, chain_node, edge, meta, read
from ..tensor.core.overriding import aside
from ..tensor.core.view import detached
from ..tensor.core.write import check_inplace, is_inference, refuse_overlap
from ..random.generator import RANDOM, restore, states
from ..utils._pytree import tree_flatten, tree_unflatten, treespec_pprint
from .graphs import auxiliary, counted_with, gradients, leaf, nodes, now, outside
from .vmap import batched, check_randomness, vmap


def _counting(x):
    """x without history, but with a count of its writes."""
    y = detached(x)
    y._ts_more().version = [0]
    return y


def _inner(x, dual):
    """`x` as an input that can be differentiated alone: whatever history it has stays behind it. `dual`: as what has a tangent, which is a
    view of it in torch."""
    try:
        e = edge(x)
    except RuntimeError:
        if dual:
            raise
        return x                               # a view that lost its history: who uses it is told
    if e is None:
        return leaf(_counting(x) if is_inference(x) else x.detach())
    y = x.view_as(x)
    if is_inference(x):                        # whose views have no history
        y = _counting(x)
        y._ts_edge = chain_node(x, ())
    if not dual:
        y._ts_edge.__class__ = node_class(type(y._ts_edge).__name__, Entrance)
        if y._ts_view is not None:             # whatever is written to its memory, its history begins here
            y._ts_view.base, y._ts_view.skip = None, 0
    return y


def _writable(t):
    """What `t` sees as memory of its own, with its history; no leaf."""
    y = wrap(read(t), chain_node(t, ()) if edge(t) is t else edge(t))
    if is_inference(t):
        y._ts_st.version, y._ts_more().version = t._ts_st.version, [0]
    return y


_HOOKS = "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with your use case."


def _tensors(leaves):
    for x in leaves:
        if not isinstance(x, TensorBase):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(x)}")
    return leaves


def _ended(t):
    """`t` without its history; with its tangent, where it has one."""
    if level_here() is None:
        return t.detach()
    with grad_mode(False):
        return t.view_as(t)


class _Run:
    """One call of the user's function on inner copies of the tensors in its arguments `which`."""

    def __init__(self, func, args, which, kwargs=None, hooks=False, traced=False, later=False):
        if active_hooks() is not None and not hooks:
            raise RuntimeError(_HOOKS)
        if (hooks or traced) and level_here() is not None:
            raise RuntimeError(NESTED)
        self.on = context.grad is True         # whether the caller wants a history of the results
        self.since = since = now()
        with grad_mode(True):
            given, self.form = tree_flatten(tuple([args[k] for k in which]))
            self.given = given
            for x in () if hooks else given:
                if not isinstance(x, TensorBase):
                    raise ValueError(f"Thing passed to transform API must be Tensor, got {type(x)}")
            self.ins = copies = [_inner(x, hooks) if isinstance(x, TensorBase) else x for x in given]
            if hooks:                          # forward mode lets the function write to its arguments
                self.ins = [_writable(t) if isinstance(t, TensorBase) else t for t in copies]
            self.starts = [edge(leaf(t.detach()) if t is x else t) if isinstance(t, TensorBase) else None for t, x in zip(self.ins, given)]
            full = list(args)
            for k, a in zip(which, tree_unflatten(self.ins, self.form)):
                full[k] = a
            pairs = [(i, x) for i, x in zip(self.ins, given) if isinstance(x, TensorBase)]
            level = Level("grad", [i for i, _ in pairs], [x for _, x in pairs])
            level.others = [x for x in tree_flatten((full, kwargs))[0] if isinstance(x, TensorBase)]
            level.traced, level.pushes, level.on = traced, hooks or traced, self.on
            level.own = self.own = [t for t in copies if isinstance(t, TensorBase) and t._ts_edge is True]
            with running(level), contextlib.nullcontext() if hooks else disable_saved_tensors_hooks(_HOOKS):
                self.value = func(*full, **(kwargs or {}))
            _tensors(given)
            for x, t, e in zip(given, self.ins, self.starts):
                if hooks and edge(t) is not e:
                    if x._ts_edge is True:
                        raise RuntimeError("a view of a leaf Variable that requires grad is being used in an in-place operation.")
                    check_inplace(x, True)
                    with grad_mode(False):
                        x.copy_(t.detach())
            leaves = [x for x in tree_flatten(self.value)[0] if isinstance(x, TensorBase)]
            if hooks:
                counted_with(leaves, [(t, c) for t, c in zip(self.ins, copies) if isinstance(t, TensorBase) and not t._ts_st.gen])
            own = [t for t in (*copies, *self.ins) if isinstance(t, TensorBase) and t._ts_edge is True]
            self.led_out = outside(leaves, since, own) if self.on or later else ()
            self.deep = self.on and bool(self.led_out)

    def close(self, closed=True):
        """Once the derivatives are there nothing goes to arguments that had no history: what only those would get is not kept for them."""
        for t in self.own:
            t._ts_edge = None if closed else True
            t.__dict__["_done"] = True

    def plain(self, x):
        """A result as the caller gets it: with a history only where it leads out of the function."""
        leaves, form = tree_flatten(x)
        return tree_unflatten([_ended(t) if isinstance(t, TensorBase) and edge(t) is not None and not self.deep else t for t in leaves],
                              form)

    def back(self, outs, cts, create_graph=None):
        """The gradients of `ins`, zeros where there are none."""
        import torchshim as torch
        deep = self.deep or context.grad and any([edge(c) is not None for c in cts if c is not None])
        with grad_mode(True):
            gs = gradients(outs, self.starts, cts, deep if create_graph is None else create_graph)
        return [torch.zeros_like(t) if g is None else g for t, g in zip(self.given, gs)]


    def rows(self, out, cts):
        """`back` for every row of `cts`, cotangents of one output, or None where that is not to be had at once."""
        import torchshim as torch
        with grad_mode(True):
            gs = row_gradients([out], [edge(t) for t in self.ins], [cts], self.deep)
        return gs and [torch.zeros((cts.shape[0], *t.shape), dtype=t.dtype, device=t.device) if g is None else g
                       for t, g in zip(self.given, gs)]


def _dispatched():
    """What differentiates where a mode sees operators; None where none does."""
    s = context.modes.get("dispatch")
    if s is None or s.off or not s.stack:
        return None
    from . import dispatched
    return dispatched


def _positions(argnums, n):
    single = isinstance(argnums, int)
    if not single and not isinstance(argnums, tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    which = (argnums,) if single else argnums
    if not which:
        raise RuntimeError("argnums must be non-empty")
    for k in which:
        if not isinstance(k, int):
            raise RuntimeError(f"argnum must be int, got: {type(k)}")
        if not -n <= k < n:
            raise RuntimeError(f"Got argnum={k}, but only {n} positional inputs")
    which = tuple([k % n for k in which])
    if len(set(which)) != len(which):
        raise RuntimeError(f"argnums elements must be unique, got {which}")
    return which, single


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that returns (gradient, value) of `func`; with `has_aux`, (gradient, (value, aux))."""
    @aside
    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        which, single = _positions(argnums, len(args))
        dispatched = _dispatched()
        r = _Run(func, args, which, kwargs) if dispatched is None else dispatched.Run(func, args, which, kwargs)
        value, aux = r.value, None
        if has_aux:
            value, aux = _pair(value, "grad_and_value(f)(*args)")
        if not isinstance(value, TensorBase):
            raise RuntimeError(f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(value)}")
        if value.ndim:
            raise RuntimeError("grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
                               f"{value.ndim} dims. Maybe you wanted to use the vjp or jacrev APIs instead?")
        if dispatched is not None:
            gs = r.back([value], None)
            return (gs[0] if single else gs), (r.plain(value), r.plain(aux)) if has_aux else r.plain(value)
        gs = tree_unflatten(r.back([value], [None if edge(value) is None else _one(value)]), r.form)
        gs = gs[0] if single else gs
        made = (gs, (r.plain(value), r.plain(aux))) if has_aux else (gs, r.plain(value))
        r.close()
        return made
    return wrapped


def _one(value):
    import torchshim as torch
    if value.is_complex():
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {value.dtype}")
    return torch.ones_like(value)


def grad(func, argnums=0, has_aux=False):
    """A function that returns the gradient of the scalar `func` with respect to argument `argnums` (an int or a tuple of
    them); with `has_aux`, (gradient, aux)."""
    both = grad_and_value(func, argnums, has_aux)

    @aside
    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        gs, value = both(*args, **kwargs)
        return (gs, value[1]) if has_aux else gs
    return wrapped


def _pair(value, name):
    if not (isinstance(value, tuple) and len(value) == 2):
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    _tensors(tree_flatten(value[1])[0])
    return value


def _outputs(value, name):
    outs, form = tree_flatten(value)
    if not outs or value is None:
        raise RuntimeError(f"{name}: Expected f to be a function that has non-empty output (got output = {outs})")
    for o in outs:
        if not isinstance(o, TensorBase):
            raise RuntimeError(f"{name}: expected f(*primals) to return only tensors, got unsupported type {type(o)}")
    return outs, form


@aside
def vjp(func, *primals, has_aux=False):
    """(outputs, pull) with pull(cotangents) -> a tuple of gradients, one for each primal; (outputs, pull, aux) with
    `has_aux`."""
    which, dispatched = tuple(range(len(primals))), _dispatched()
    r = _Run(func, primals, which, later=True) if dispatched is None else dispatched.Run(func, primals, which, None)
    value, aux = _pair(r.value, "vjp(f, *primals)") if has_aux else (r.value, None)
    outs, form = _outputs(value, "vjp(f, *primals)")

    @aside
    def pull(*cotangents, retain_graph=True, create_graph=None):
        """The products of the cotangents with the Jacobians."""
        given = cotangents[0] if len(cotangents) == 1 else cotangents
        cts, shape = tree_flatten(given)
        if shape != form:
            raise RuntimeError("Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                               f"cotangents: {treespec_pprint(shape)}, primal output: {treespec_pprint(form)}")
        for k, (c, o) in enumerate(zip(cts, outs)):
            if c.shape != o.shape:
                raise RuntimeError(f"Mismatch in shape: grad_output[{k}] has a shape of {c.shape} and output[{k}] has a shape of "
                                   f"{o.shape}.")
        if dispatched is not None:
            return r.back(outs, cts)
        r.close(False)
        r.deep = context.grad is True and bool(r.led_out)      # whoever pulls says whether there is a history
        made = tree_unflatten(r.back(outs, cts, create_graph), r.form)
        r.close()
        return made
    made = (r.plain(value), pull, r.plain(aux)) if has_aux else (r.plain(value), pull)
    if dispatched is None:
        r.close()
    return made


@contextlib.contextmanager
def _pulling():
    """Where gradients stand for torch's forward mode, which goes on in inference mode, and of inference tensors, as it saves nothing."""
    with inference_mode(False), context.mode("saves nothing", True), context.mode("pushing", True):
        yield


def _between(outs, r):
    """The nodes of a run through which its results depend on its inputs: others are of what the function reads beside them."""
    target = lambda e: e[0] if e.__class__ is tuple else getattr(e, "variable", e)
    reached, found = {id(target(e)) for e in r.starts if e is not None}, []
    for node in sorted([n for n in nodes(outs) if n._ts_seq >= r.since], key=lambda n: n._ts_seq):
        if not reached.isdisjoint([id(target(e)) for e in node._ts_next if e is not None]):
            reached.add(id(node))
            found.append(node)
    return found


def _pusher(r, outs):
    """tangents -> J tangents: the gradient of the pulled-back cotangents in those, which they depend on linearly."""
    import torchshim as torch
    refuse_unpushed(_between(outs, r))
    with _pulling():
        us = [auxiliary(torch.zeros_like(o)) if o.is_floating_point() or o.is_complex() else None for o in outs]
        pulled = gradients(outs, r.starts, us, True)

    def rows(k, basis):
        """J times each row of `basis` as the tangent of the k-th input; None where that is not to be had at once."""
        if pulled[k] is None or edge(pulled[k]) is None:
            return None
        with _pulling():
            deep = r.on and r.deep
            got = row_gradients([pulled[k]], [edge(u) for u in us if u is not None], [basis], deep)
        return got and _spaced(got, us, outs, basis.shape[0], deep)

    def push(vs):
        with _pulling():
            deep = r.on and (r.deep or any([edge(v) is not None for v in vs]))
            # where pulled has no history the result does not depend on that input
            pairs = [(g, v) for g, v in zip(pulled, vs) if g is not None and edge(g) is not None]
            got = gradients([g for g, _ in pairs], [u for u in us if u is not None], [v for _, v in pairs], deep)
        return _spaced(got, us, outs, None, deep)
    push.rows = rows
    return push


def _spaced(got, us, outs, n, deep):
    """Tangents for all outputs: zeros where there are none. `n`: how many rows of them."""
    import torchshim as torch
    it = iter(got)
    found = [None if u is None else next(it) for u in us]
    lead = () if n is None else (n,)
    return [torch.zeros((*lead, *o.shape), dtype=o.dtype, device=o.device) if g is None else g if deep else g.detach()
            for g, o in zip(found, outs)]


def _directions(primals, tangents):
    if not isinstance(primals, tuple):
        raise RuntimeError("jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    xs, form = tree_flatten(primals)
    vs, shape = tree_flatten(tangents)
    if form != shape:
        raise RuntimeError("jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. For example, if "
                           "primals is a tuple of 3 tensors, tangents also must be. Got primals with structure "
                           f"{form} and tangents with structure {shape}")
    if not xs:
        raise RuntimeError("jvp(f, primals, tangents): Expected primals to contain at least one Tensor.")
    for what, ts in (("primals", xs), ("tangents", vs)):
        for t in ts:
            if not isinstance(t, TensorBase):
                raise RuntimeError(f"jvp(f, primals, tangents): Expected {what} to only contain Tensors, got {type(t)}")
    for x, v in zip(xs, vs):
        for what, t in (("primal", x), ("tangent", v)):
            if not (t.is_floating_point() or t.is_complex()):
                raise ValueError(f"Expected {what} to be floating point or complex, but got: {t.dtype}")
        if x.shape != v.shape:
            raise RuntimeError("Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
                               f"supported. Tensor is of size {list(x.shape)} while the given forward gradient is of size {list(v.shape)}.")
    return vs


def _differentiable(primals, dense=False, asked=None, traced=False):
    """torch's refusals of what cannot have a tangent; `dense`: tangents are laid otherwise than their primals, where torch writes them;
    `traced`: torch traces with a number expanded to the primal's shape, which fits where it is one itself; `asked`: the attribute of tensors
    that torch asks of each first."""
    for x in tree_flatten(primals)[0]:
        if asked is not None:
            getattr(x, asked)
        if dense and isinstance(x, TensorBase) and (x.is_floating_point() or x.is_complex()) and (
                not traced or any(meta(x).strides)):
            refuse_overlap(x)
        if isinstance(x, TensorBase) and not (x.is_floating_point() or x.is_complex()):
            raise ValueError(f"Expected primal to be floating point or complex, but got: {x.dtype}")


@aside
def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """(outputs, J tangents); (outputs, J tangents, aux) with `has_aux`. `strict`: raise where an output depends on nothing."""
    vs = _directions(primals, tangents)
    _differentiable(primals)
    for x, v in zip(tree_flatten(primals)[0], vs):
        if meta(x).strides != meta(v).strides:
            refuse_overlap(x)                  # a tangent is laid as its primal, where torch writes it
    r = _Run(func, primals, tuple(range(len(primals))), hooks=True)
    value, aux = _pair(r.value, "jvp(f, primals, tangents)") if has_aux else (r.value, None)
    outs, form = _outputs(value, "jvp(f, primals, tangents)")
    if strict and any([edge(o) is None for o in outs]):
        raise RuntimeError("jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed with "
                           "strict=True.")
    pushed = tree_unflatten(_pusher(r, outs)(vs), form)
    made = (r.plain(value), pushed, r.plain(aux)) if has_aux else (r.plain(value), pushed)
    r.close()
    return made


@aside
def linearize(func, *primals):
    """(outputs, push) with push(*tangents) -> J tangents, as often as wanted."""
    _differentiable(primals, dense=True, asked="new_empty", traced=True)
    r = _Run(func, primals, tuple(range(len(primals))), traced=True)
    outs, form = _outputs(r.value, "linearize(f, *primals)")
    pusher = _pusher(r, outs)

    @aside
    def push(*tangents):
        (xs, spec), (vs, given) = tree_flatten(primals), tree_flatten(tangents)
        if spec != given:
            raise RuntimeError(f"Expected the tangents {given} to have the same argspec as the primals {spec}")
        for k, (x, v) in enumerate(zip(xs, vs)):
            for what in ("shape", "dtype"):
                if getattr(v, what) != getattr(x, what):
                    raise RuntimeError(f"tangent:{k} with {what} {getattr(v, what)} in flattened pytree doesn't match the {what} "
                                       f"{getattr(x, what)} of the corresponding primal.")
        # torch's tracer takes inference tensors for constants
        return tree_unflatten(pusher([v * 0 if is_inference(x) else v for x, v in zip(xs, vs)]), form)
    return r.plain(r.value), push


def _basis(like):
    import torchshim as torch
    n = like.numel()
    return torch.eye(n, dtype=like.dtype, device=like.device).reshape((n, *like.shape))


def _in_parts(f, rows, basis, chunk_size):
    """`rows(basis)`, or `f` batched over the rows of `basis` where that gives None; at most `chunk_size` of them at a time."""
    import torchshim as torch
    n = basis.shape[0]
    if (chunk_size == 1 or level_here() is not None) and n:        # rows have tangents only where they are made one by one
        return [torch.stack(p) for p in zip(*[f([row]) for row in basis])]
    if chunk_size is None or chunk_size >= n:
        return rows(basis) or batched(f, [basis], [0], "same")
    parts = [_in_parts(f, rows, basis.narrow(0, k, min(chunk_size, n - k)), None) for k in range(0, n, chunk_size)]
    return [torch.cat(p) for p in zip(*parts)]


def _check_chunk(chunk_size):
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")


def _nested(rows, out_form, r, single):
    """rows[i][j], output by input, in the forms of the outputs and of the arguments."""
    parts = []
    for row in rows:
        per_input = tree_unflatten(row, r.form)
        parts.append(per_input[0] if single else per_input)
    return tree_unflatten(parts, out_form)


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """A function that returns the Jacobian of `func` with respect to argument `argnums`, by reverse mode: for each output
    and each input a tensor of shape output.shape + input.shape. `chunk_size`: rows computed at a time."""
    _check_chunk(chunk_size)

    @aside
    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        _real("jacrev", "input", args)
        which, single = _positions(argnums, len(args))
        r = _Run(func, args, which, kwargs)
        value, aux = _pair(r.value, "jacrev(f)(*args)") if has_aux else (r.value, None)
        outs, form = _outputs(value, "vjp(f, *primals)")
        _real("jacrev", "output", outs)
        rows = []
        for o in outs:
            if edge(o) is None:
                import torchshim as torch
                gs = [torch.zeros((o.numel(), *x.shape), dtype=x.dtype, device=x.device) for x in r.given]
            elif not o.ndim:
                gs = r.back([o], [_one(o.detach())])
            else:
                gs = _in_parts(lambda cts, o=o: r.back([o], cts), lambda cts, o=o: r.rows(o, cts), _basis(o.detach()), chunk_size)
            rows.append([g.reshape((*o.shape, *x.shape)) for g, x in zip(gs, r.given)])
        made = _nested(rows, form, r, single)
        made = (made, r.plain(aux)) if has_aux else made
        r.close()
        return made
    return wrapped


def _real(name, what, values):
    """torch's refusal of Jacobians of what is complex, or where an argument is."""
    for k, t in enumerate(tree_flatten(values)[0]):
        if isinstance(t, TensorBase) and t.is_complex():
            raise RuntimeError(f"{name}: Expected all {what}s to be real but received complex tensor at flattened input idx: {k}")


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """As jacrev, by forward mode: one product with the Jacobian for each element of the inputs."""
    check_randomness(randomness)

    @aside
    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        import torchshim as torch
        _real("jacfwd", "input", args)
        which, single = _positions(argnums, len(args))
        _differentiable([args[k] for k in which], dense=True, asked="numel")
        before = states()
        r = _Run(func, args, which, kwargs, hooks=True)
        if randomness != "same" and states() != before:
            restore(before)
            if randomness == "error":
                raise RuntimeError(RANDOM)
            return _columns_drawn_anew(func, args, which, kwargs, single, has_aux)
        value, aux = _pair(r.value, "jacfwd(f)(*args)") if has_aux else (r.value, None)
        outs, form = _outputs(value, "jvp(f, primals, tangents)")
        _real("jacfwd", "output", outs)
        push = _pusher(r, outs)
        columns = []
        for k, x in enumerate(r.given):
            zeros = [torch.zeros_like(y.detach()) for y in r.given]
            columns.append(_in_parts(lambda vs, k=k, zeros=zeros: push(zeros[:k] + list(vs) + zeros[k + 1:]),
                                     lambda vs, k=k: push.rows(k, vs), _basis(x.detach()), None))
        rows = [[_unflattened(c[i].movedim(0, -1).split([x.numel()], -1)[0], x.shape) for c, x in zip(columns, r.given)]
                for i in range(len(outs))]
        made = _nested(rows, form, r, single)
        made = (made, r.plain(aux)) if has_aux else made
        r.close()
        return made
    return wrapped


def _unflattened(columns, shape):
    """What lies along the last dimension in this shape, by the views that torch takes."""
    return columns.unflatten(-1, shape) if shape else columns.squeeze(-1)


def _columns_drawn_anew(func, args, which, kwargs, single, has_aux):
    """jacfwd of a function that draws other random numbers for each column: it runs for all of them at once."""
    import torchshim as torch
    if has_aux:
        raise NotImplementedError("torchshim: jacfwd with randomness='different' and has_aux")
    xs, form = tree_flatten(tuple([args[k] for k in which]))
    sizes = [x.numel() for x in xs]
    whole = torch.eye(sum(sizes), dtype=xs[0].dtype, device=xs[0].device).split(sizes, 1)
    shape = []

    def of(*chosen):
        full = list(args)
        for k, a in zip(which, chosen):
            full[k] = a
        return func(*full, **kwargs)

    def column(*vs):
        outs, spec = tree_flatten(jvp(of, tree_unflatten(xs, form), tree_unflatten(list(vs), form))[1])
        shape[:] = [spec]
        return tuple(outs)
    made = vmap(column, randomness="different")(*[b.reshape((-1, *x.shape)).to(x.dtype) for b, x in zip(whole, xs)])
    rows = [[part.movedim(0, -1).reshape((*o.shape[1:], *x.shape)) for part, x in zip(o.split(sizes), xs)] for o in made]
    parts = [tree_unflatten(row, form) for row in rows]
    return tree_unflatten([p[0] if single else p for p in parts], shape[0])


def hessian(func, argnums=0):
    """A function that returns the matrix of second derivatives of `func`."""
    return jacfwd(jacrev(func, argnums), argnums)
