"""torch.autograd.functional: Jacobians and products with them.

The function runs once, and its graph is walked once for all rows of a Jacobian (`batched`); where a part of the graph wants one
cotangent at a time, and in strict mode, row by row with `torch.autograd.grad`.
"""
from __future__ import annotations

from ..engine import context
from ..tensor.api.creation import ones_like, zeros, zeros_like
from ..tensor.api.ranges import eye
from ..tensor.api.joining import stack
from ..tensor.core.graph import AccumulateGrad
from ..tensor.core.handle import edge
from ..tensor.core.overriding import aside
from ..tensor.core.tensor import Tensor
from ..tensor.core.write import refuse_overlap
from . import grad as _grad
from .batched import row_gradients
from .forward_ad import NESTED, dual_level, make_dual, unpack_dual
from .grad_mode import grad_mode


def _tuple(x, name, fn):
    single = not isinstance(x, tuple)
    xs = (x,) if single else x
    if single and not isinstance(x, Tensor):
        raise TypeError(f"The {name} given to {fn} must be either a Tensor or a tuple of Tensors but the given {name} has type {type(x)}.")
    for i, t in enumerate(xs):
        if not isinstance(t, Tensor):
            raise TypeError(f"The {name} given to {fn} must be either a Tensor or a tuple of Tensors but the value at index {i} has type "
                            f"{type(t)}.")
    return xs, single


def _fresh(xs, create_graph):
    """Inputs of which the function's result can be differentiated."""
    out = []
    for x in xs:
        if create_graph and x.requires_grad:
            out.append(x.view_as(x))
        else:
            out.append(x.detach().requires_grad_())
    return tuple(out)


def _outputs(func, xs, name):
    out = func(*xs)
    return _tuple(out, "outputs of the user-provided function", name)


def _shape_fits(xs, vs, single):
    """torch's refusals of directions `vs` for the tensors `xs`, of which there is but one where `single`."""
    if len(xs) != len(vs):
        raise RuntimeError("The given v should contain a single Tensor." if single else
                           f"v is a tuple of invalid length: should be {len(xs)} but got {len(vs)}.")
    for k, (x, v) in enumerate(zip(xs, vs)):
        if x.shape != v.shape:
            raise RuntimeError(f"{'' if single else f'Entry {k} in '}v has invalid size: should be {x.shape} but got {v.shape}.")


def _pack(rows, single_out, single_in):
    """rows[i][j] -> torch's nesting."""
    out = tuple(r[0] if single_in else tuple(r) for r in rows)
    return out[0] if single_out else out


def _check_strategy(strategy, vectorize):
    if strategy not in ("reverse-mode", "forward-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs '
                             'than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".')
    if strategy == "forward-mode" and not vectorize:
        raise NotImplementedError("Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for "
                                  "`vectorize=True`.")


@aside
def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """J[i][j] of shape output_i.shape + input_j.shape; not nested where func has one output or one input.

    strict: raise where an output does not depend on an input. create_graph: the result can be differentiated.
    """
    _check_strategy(strategy, vectorize or create_graph)
    if strategy == "forward-mode" and create_graph:
        raise NotImplementedError("torch.autograd.functional.jacobian: `create_graph=True` and `strategy=\"forward-mode\"` are not "
                                  "supported together (yet). Please either set `create_graph=False` or `strategy=\"reverse-mode\"`.")
    if strict and vectorize:
        raise RuntimeError("torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. "
                           "Please either set `strict=False` or `vectorize=False`.")
    xs, single_in = _tuple(inputs, "inputs", "jacobian")
    if strategy == "forward-mode" and "forward AD" in context.modes:
        raise RuntimeError(NESTED)
    if strategy == "forward-mode" and context.modes.get("transform", ()) and context.modes["transform"][-1].kind == "vmap":
        raise RuntimeError("Batching rule not implemented for aten::_make_dual; the fallback path doesn't work on out= or view ops.")
    if strategy == "forward-mode":
        for x in xs:
            if not (x.is_floating_point() or x.is_complex()):
                raise ValueError(f"Expected primal to be floating point or complex, but got: {x.dtype}")
            refuse_overlap(x)                  # a tangent is laid as its primal, where torch writes it
        if any([x.is_complex() or x.requires_grad for x in xs]) and all([x.numel() for x in xs]):
            rows, single_out = _pushed(func, xs)
            return _pack(rows, single_out, single_in)
    with grad_mode(True):
        xs = _fresh(xs, create_graph)
        outs, single_out = _outputs(func, xs, "jacobian")
        if strategy == "reverse-mode":
            _refuse_empty(outs, vectorize)
        elif _reads_others(outs, xs) and all([x.numel() for x in xs]):
            rows, single_out = _pushed(func, [x.detach() for x in xs])
            return _pack(rows, single_out, single_in)
        rows = None if strict else _columns(outs, xs) if strategy == "forward-mode" else _at_once(outs, xs, create_graph, vectorize)
        rows = rows or _rows(outs, xs, create_graph, strict)
    return _pack([[g if create_graph else g.detach() for g in row] for row in rows], single_out, single_in)


def _refuse_empty(outs, vectorize):
    """torch has no rows to put together where an output has no elements."""
    if not vectorize and not all([o.numel() for o in outs]):
        raise RuntimeError("stack expects a non-empty TensorList")
    if vectorize and not any([o.numel() for o in outs]):
        raise IndexError("index 0 is out of bounds for dimension 0 with size 0")


def _basis(x):
    return eye(x.numel(), dtype=x.dtype, device=x.device).reshape((x.numel(), *x.shape))


def _construct_standard_basis_for(tensors, tensor_numels):
    """The unit vectors of all elements of the tensors together, cut into a block (all elements, those of the tensor) for each tensor."""
    whole = [eye(sum(tensor_numels), dtype=t.dtype, device=t.device) for t in tensors]
    starts = [sum(tensor_numels[:k]) for k in range(len(tensors))]
    return tuple([w[:, a:a + n] for w, a, n in zip(whole, starts, tensor_numels)])


def _as_tuple(inp, arg_name=None, fn_name=None):
    """(whether it was a tuple, the tuple)."""
    if arg_name is None and fn_name is None:
        return (True, inp) if isinstance(inp, tuple) else (False, (inp,))
    xs, single = _tuple(inp, arg_name, fn_name)
    return not single, xs


def _tuple_postprocess(res, to_unpack):
    """What was made of tuples without those that the caller did not give: a flag, or one each for the outer and the inner ones."""
    if isinstance(to_unpack, tuple):
        outer, inner = to_unpack
        rows = res if inner else tuple([row[0] for row in res])
        return rows if outer else rows[0]
    return res if to_unpack else res[0]


def _grad_postprocess(inputs, create_graph):
    """Results cut off from their graph unless it is wanted."""
    if isinstance(inputs[0], Tensor):
        return inputs if create_graph else tuple([x.detach() for x in inputs])
    return tuple([_grad_postprocess(x, create_graph) for x in inputs])


def _at_once(outs, xs, create_graph, vectorize):
    """The Jacobian by one backward pass per output, over all its elements; None where that does not do: torch refuses complex outputs
    element by element alone."""
    rows, blocks = [], _blocks(outs, xs, create_graph) if vectorize else None
    for o in outs:
        if o.is_complex() and not vectorize:
            return None
        got = [None] * len(xs)
        if o.requires_grad and o.numel():
            got = blocks.pop(0) if vectorize else row_gradients([o], [edge(x) for x in xs], [_basis(o.detach())], create_graph)
        if got is None:
            return None
        if not vectorize:                      # torch puts its rows together one by one
            got = [g if g is None else g.contiguous() for g in got]
        rows.append([(zeros((o.numel(), *x.shape), dtype=x.dtype, device=x.device) if g is None else g).reshape((*o.shape, *x.shape))
                     for g, x in zip(got, xs)])
    return rows


def _blocks(outs, xs, create_graph):
    """For each output that has a gradient those of `xs`, a row for each of its elements: all by one walk, in which hooks run once."""
    live = [o for o in outs if o.requires_grad and o.numel()]
    if not live:
        return []
    sizes = [o.numel() for o in live]
    cts = [b.reshape((-1, *o.shape)) for b, o in zip(_construct_standard_basis_for([o.detach() for o in live], sizes), live)]
    made = _grad(live, xs, cts, create_graph=create_graph, retain_graph=True, allow_unused=True, is_grads_batched=True)
    parts = [[None] * len(live) if g is None else g.split(sizes) if len(live) > 1 else [g] for g in made]
    return [list(block) for block in zip(*parts)]


def _reads_others(outs, xs):
    """Whether the history of what was made of `xs` leads to other leaves too."""
    left, seen = [edge(o) for o in outs], set()
    while left:
        e = left.pop()
        if isinstance(e, Tensor):
            if not any([e is x for x in xs]):
                return True
        elif e is not None:
            node = e[0] if e.__class__ is tuple else e
            if id(node) not in seen:
                seen.add(id(node))
                left += [node.variable] if isinstance(node, AccumulateGrad) else node._ts_next
    return False


def _pushed(func, xs):
    """(the Jacobian by one forward derivative for every element of an input, whether there is one output): where that has a history, as
    torch's has where an input or a parameter of the function has one, or where numbers are complex, of which products with cotangents say
    too little."""
    columns = []
    for j, x in enumerate(xs):
        columns.append([])
        for v in _basis(x.detach()).unbind():
            with dual_level():
                duals = [make_dual(t, v if k == j else zeros_like(t)) for k, t in enumerate(xs)]
                outs, single = _outputs(func, tuple(duals), "jacobian")
                pairs = [unpack_dual(o) for o in outs]
            columns[-1].append([zeros_like(p) if t is None else t for p, t in pairs])
    return [[stack([made[i] for made in each], -1).reshape((*o.shape, *x.shape)) for each, x in zip(columns, xs)]
            for i, o in enumerate(outs)], single


def _columns(outs, xs):
    """The Jacobian by one product with it for every element of an input: the pulled-back cotangents depend on those linearly, with its
    columns for gradients. None where that does not do."""
    us = [zeros_like(o, requires_grad=True) for o in outs if o.requires_grad and not o.is_complex()]
    live = [o for o in outs if o.requires_grad]
    if len(us) != len(live):
        return None
    pulled = _grad(live, xs, us, create_graph=True, allow_unused=True) if live else [None] * len(xs)
    columns = []
    for x, p in zip(xs, pulled):
        got = [None] * len(us)
        if p is not None and p.requires_grad and x.numel():
            got = row_gradients([p], us, [_basis(x.detach())], False)
        if got is None:
            return None
        it = iter(got)
        found = [next(it) if o.requires_grad else None for o in outs]
        columns.append([zeros((*o.shape, *x.shape), dtype=x.dtype, device=x.device) if g is None
                        else g.movedim(0, -1).reshape((*o.shape, *x.shape)) for g, o in zip(found, outs)])
    return [list(row) for row in zip(*columns)]


def _rows(outs, xs, create_graph, strict):
    """The Jacobian by one backward pass per output element."""
    if strict:
        _strict_outputs(outs)
    result = []
    for i, o in enumerate(outs):
        per_input = [[] for _ in xs]
        flat = o.reshape(-1)
        for k in range(flat.numel()):
            gs = (_grad(flat[k], xs, retain_graph=True, create_graph=create_graph, allow_unused=True) if flat.requires_grad
                  else [None] * len(xs))
            for j, (g, x) in enumerate(zip(gs, xs)):
                if g is None:
                    if strict:
                        raise RuntimeError(f"Output {i} of the user-provided function is independent of input {j}. This is not allowed "
                                           "in strict mode.")
                    g = zeros_like(x)
                elif strict and create_graph and not g.requires_grad:
                    raise RuntimeError(_CONSTANT.format(j))
                per_input[j].append(g)
        result.append([(stack(rows) if rows else zeros((0,) + tuple(x.shape), dtype=x.dtype)).reshape(tuple(o.shape) + tuple(x.shape))
                       for rows, x in zip(per_input, xs)])
    return result


_CONSTANT = ("The jacobian of the user-provided function is independent of input {}. This is not allowed in strict mode when "
             "create_graph=True.")


def _twice(gs):
    """In strict mode a gradient that is differentiated again must depend on the inputs."""
    for j, g in enumerate(gs):
        if g is None or not g.requires_grad:
            raise RuntimeError(f"While computing the hessian, found that the jacobian of the user-provided function with respect to input "
                               f"{j} is independent of the input. This is not allowed in strict mode. You should ensure that your function "
                               "is twice differentiable and that the jacobian depends on the inputs (this would be violated by a linear "
                               "function for example).")


def _strict_outputs(outs):
    for i, o in enumerate(outs):
        if not o.requires_grad:
            raise RuntimeError(f"Output {i} of the user-provided function does not require gradients. The outputs must be computed in a "
                               "differentiable manner from the input when running in strict mode.")


def _scalar_output(outs, single, name):
    if not single:
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if outs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")


@aside
def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """H[i][j] of shape input_i.shape + input_j.shape of a scalar function."""
    _check_strategy(outer_jacobian_strategy, vectorize or outer_jacobian_strategy == "reverse-mode")
    xs, single_in = _tuple(inputs, "inputs", "hessian")

    def first(*ts):
        ts = tuple(t if t.requires_grad else t.detach().requires_grad_() for t in ts)
        outs, single = _outputs(func, ts, "hessian")
        if strict:
            _strict_outputs(outs)
        _scalar_output(outs, single, "hessian")
        gs = [None] * len(ts)
        if outs[0].requires_grad:
            gs = _grad(outs[0].reshape(()), ts, create_graph=True, allow_unused=True)
        if strict:
            _twice(gs)
        return tuple(g if g is not None else t * 0 for g, t in zip(gs, ts))
    rows = jacobian(first, xs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return rows[0][0] if single_in else rows


@aside
def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """(outputs, v^T J): the gradient of `outputs` with cotangent v."""
    with grad_mode(True):
        xs, single_in = _tuple(inputs, "inputs", "vjp")
        xs = _fresh(xs, create_graph)
        outs, single_out = _outputs(func, xs, "vjp")
        if strict:
            _strict_outputs(outs)
        if v is not None:
            vs, _ = _tuple(v, "v", "vjp")
            _shape_fits(outs, vs, single_out)
        else:
            if len(outs) != 1 or outs[0].numel() != 1:
                raise RuntimeError("The vector v can only be None if the user-provided function returns a single Tensor with a single "
                                   "element.")
            vs = (outs[0].detach() * 0 + 1,)
        live = [(o, w) for o, w in zip(outs, vs) if o.requires_grad]
        gs = (_grad([o for o, _ in live], xs, [w for _, w in live], create_graph=create_graph, allow_unused=True) if live
              else [None] * len(xs))
        gs = _filled(gs, xs, strict)
        if strict and create_graph:
            _graph_goes_on(gs)
    finish = (lambda t: t) if create_graph else (lambda t: t.detach())
    outs = tuple(finish(o) for o in outs)
    gs = tuple(finish(g) for g in gs)
    return outs[0] if single_out else outs, gs[0] if single_in else gs


def _graph_goes_on(gs):
    for j, g in enumerate(gs):
        if not g.requires_grad:
            raise RuntimeError(_CONSTANT.format(j))


def _filled(gs, xs, strict):
    out = []
    for j, (g, x) in enumerate(zip(gs, xs)):
        if g is None:
            if strict:
                raise RuntimeError(f"The output of the user-provided function is independent of input {j}. This is not allowed in strict "
                                   "mode.")
            g = zeros_like(x)
        out.append(g)
    return tuple(out)


@aside
def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """(outputs, J v): the directional derivative, by the double-backward trick as in torch."""
    with grad_mode(True):
        xs, single_in = _tuple(inputs, "inputs", "jvp")
        xs = _fresh(xs, create_graph)
        if v is not None:
            vs, _ = _tuple(v, "v", "jvp")
            _shape_fits(xs, vs, single_in)
        else:
            if len(xs) != 1 or xs[0].numel() != 1:
                raise RuntimeError("The vector v can only be None if the input to the user-provided function is a single Tensor with a "
                                   "single element.")
            vs = (ones_like(xs[0]),)
        outs, single_out = _outputs(func, xs, "jvp")
        if strict:
            _strict_outputs(outs)
        us = tuple(zeros_like(o, requires_grad=True) for o in outs)
        live = [(o, u) for o, u in zip(outs, us) if o.requires_grad]
        pulled = _grad([o for o, _ in live], xs, [u for _, u in live], create_graph=True, allow_unused=True) if live else [None] * len(xs)
        if strict:
            _filled(pulled, xs, True)
        pairs = [(g, w) for g, w in zip(pulled, vs) if g is not None and g.requires_grad]
        pushed = (_grad([g for g, _ in pairs], us, [w for _, w in pairs], create_graph=create_graph, allow_unused=True) if pairs
                  else [None] * len(us))
        pushed = tuple(zeros_like(o) if g is None else g for g, o in zip(pushed, outs))
        if strict and create_graph:
            _graph_goes_on(pushed)
    finish = (lambda t: t) if create_graph else (lambda t: t.detach())
    outs, pushed = tuple(map(finish, outs)), tuple(map(finish, pushed))
    return outs[0] if single_out else outs, pushed[0] if single_out else pushed


def _gradient(func, xs, name, strict):
    outs, single = _outputs(func, xs, name)
    if strict:
        _strict_outputs(outs)
    _scalar_output(outs, single, name)
    gs = [None] * len(xs)
    if outs[0].requires_grad:
        gs = _grad(outs[0].reshape(()), xs, create_graph=True, allow_unused=True)
    gs = _filled(gs, xs, strict)
    if strict:
        _twice(gs)
    return outs[0], gs


@aside
def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """(output, v^T H) of a scalar function."""
    return _product("vhp", func, inputs, v, create_graph, strict)


def _product(name, func, inputs, v, create_graph, strict):
    with grad_mode(True):
        xs, single_in = _tuple(inputs, "inputs", name)
        xs = _fresh(xs, create_graph)
        vs = _direction(v, xs, single_in, name)
        out, gs = _gradient(func, xs, name, strict)
        pairs = [(g, w) for g, w in zip(gs, vs) if g.requires_grad]
        hs = (_grad([g for g, _ in pairs], xs, [w for _, w in pairs], create_graph=create_graph, allow_unused=True) if pairs
              else [None] * len(xs))
        hs = _filled(hs, xs, strict)
    finish = (lambda t: t) if create_graph else (lambda t: t.detach())
    hs = tuple(map(finish, hs))
    return finish(out), hs[0] if single_in else hs


def _direction(v, xs, single, name):
    if v is not None:
        vs, _ = _tuple(v, "v", name)
        _shape_fits(xs, vs, single)
        return vs
    if len(xs) != 1 or xs[0].numel() != 1:
        raise RuntimeError("The vector v can only be None if the input to the user-provided function is a single Tensor with a single "
                           "element.")
    return (ones_like(xs[0]),)


@aside
def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """(output, H v) of a scalar function; H is symmetric, so this is vhp's product."""
    return _product("hvp", func, inputs, v, create_graph, strict)
