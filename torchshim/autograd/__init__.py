"""torch.autograd: backward, grad, modes."""
from __future__ import annotations

import sys
from collections.abc import Mapping

from ..engine import context, warn
from ..tensor.api.creation import zeros_like
from ..tensor.core.dispatch import wrap
from ..tensor.core.graph import leads_nowhere
from ..tensor.core.handle import edge
from ..tensor.core.overriding import settle
from ..tensor.core.settings import warn_once
from ..tensor.core.tensor import Tensor
from . import anomaly_mode, backward as _backward_module
from .backward import end_of, make_cts, run
from .batched import row_gradients, walked_once
from .grad_ops import ones_value, zeros_value
from .grad_mode import (enable_grad, inference_mode, is_grad_enabled, is_inference_mode_enabled, is_multithreading_enabled, no_grad,
                    set_grad_enabled, set_multithreading_enabled, _unsafe_preserve_version_counter)
from ..tensor.core.graph import AccumulateGrad, Node, forward_only, look


def _as_tuple(x):
    xs = (x,) if isinstance(x, (Tensor, graph.GradientEdge)) else tuple(x)
    return tuple([_at_edge(y) if isinstance(y, graph.GradientEdge) else y for y in xs])


def _at_edge(at):
    """A tensor in a GradientEdge's place, of which nobody reads the values."""
    return wrap(zeros_value(at.node._ts_out_meta(at.output_nr)), _input_edge(at))


def _grads_of(outputs, grads):
    if grads is None:
        return (None,) * len(outputs)
    grads = (grads,) if isinstance(grads, Tensor) else tuple(grads)
    if len(grads) < len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grads)} gradients")
    return grads[:len(outputs)]


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Accumulate d(sum of grad_tensors * tensors) / d leaf into each leaf's `.grad`.

    tensors: roots; grad_tensors: cotangents (ones for scalars). `inputs`: accumulate into these only.
    Raises RuntimeError as torch does: non-scalar roots without a cotangent, roots without history, released graphs.
    """
    settle()
    if (grad_tensors is inputs is grad_variables is _backward_module.dispatching is None and not create_graph
            and isinstance(tensors, Tensor) and _plain_loss(tensors)):
        run([tensors._ts_edge], [ones_value(tensors._ts_st.value.meta)], bool(retain_graph), False, None, True)
        context.backward_done(retain_graph)
        return
    if any([level.randomness != "old" for level in context.modes.get("transform", ())]):
        raise RuntimeError("backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
                           "functorch.vjp instead or call backward() outside of functorch transforms.")
    if inputs is not None:
        inputs = (inputs,) if isinstance(inputs, (Tensor, graph.GradientEdge)) else tuple(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    tensors = _as_tuple(tensors)
    if grad_variables is not None:
        warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning)
        if grad_tensors is not None:
            raise RuntimeError("`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only use "
                               "`grad_tensors`.")
        grad_tensors = grad_variables
    cts = make_cts(tensors, _grads_of(tensors, grad_tensors))
    roots = _roots(tensors)
    if create_graph:
        warn_once("Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which can "
                  "cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to use this "
                  "function, make sure to reset the .grad fields of your parameters to None after use to break the cycle and avoid the "
                  "leak.")
    if retain_graph is None:
        retain_graph = create_graph
    for t in inputs or ():
        if not isinstance(t, graph.GradientEdge):
            if not isinstance(t, Tensor):
                raise RuntimeError(_NO_INPUT + type(t).__name__)
            t.retain_grad()                        # what is no leaf gets its `.grad` as a retained one, now and later
    targets = None if inputs is None else [_input_edge(t) for t in inputs]
    for e in targets or ():                        # the last of the nodes that PyTorch has in its place runs, no other
        node, _ = end_of(e)
        if isinstance(node, Node):
            look(node)
    _go(roots, cts, retain_graph, create_graph, targets, True)
    if not create_graph:
        context.backward_done(retain_graph)


def _plain_loss(t):
    """Whether a tensor is one number with a history of its own, and nothing is to be known but its gradients: as most losses are."""
    e = t._ts_edge
    if t._ts_view is not None or not isinstance(e, Node) or e.__class__ is AccumulateGrad or forward_only(e):
        return False
    m, modes = t._ts_st.value.meta, context.modes
    return m.numel == 1 and m.dtype.kind == "f" and (not modes or "transform" not in modes and "forward AD" not in modes)


_NO_INPUT = "all inputs have to be Tensors or GradientEdges, but got "


def _input_edge(t):
    if isinstance(t, graph.GradientEdge):
        node = t.node
        return node.variable if node.__class__ is AccumulateGrad else node if node._ts_n_outputs == 1 else (node, t.output_nr)
    if not isinstance(t, Tensor):
        raise RuntimeError(_NO_INPUT + type(t).__name__)
    e = edge(t)
    if e is None or forward_only(e):
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return e


def _roots(tensors):
    roots = []
    for i, t in enumerate(tensors):
        e = edge(t)
        if e is None or forward_only(e) or e is t and leads_nowhere(t):
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        roots.append(e)
    return roots


def _go(roots, cts, retain_graph, create_graph, inputs, accumulate):
    if _backward_module.dispatching is not None:
        mode = _backward_module.dispatching.mode_of(roots, cts, create_graph)
        if mode is not None:
            return run(roots, cts, retain_graph, create_graph, inputs, accumulate, mode)
    if not create_graph and "forward AD" not in context.modes:
        cts = [_backward_module.arithmetic().given(c) for c in cts]
    return run(roots, cts, retain_graph, create_graph, inputs, accumulate)


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=None,
         is_grads_batched=False, materialize_grads=False):
    """Gradients of `outputs` with respect to `inputs` as a tuple, or for a dict of inputs as a dict; `.grad` is not touched.

    allow_unused: an input that the outputs do not depend on gives None (else RuntimeError); materialize_grads: zeros.
    is_grads_batched: grad_outputs have a leading batch dimension, and so have the results.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False.")
    if allow_unused is None:
        allow_unused = materialize_grads
    outputs = _as_tuple(outputs)
    if inputs.__class__ is dict:
        made = grad(outputs, tuple(inputs.values()), grad_outputs, retain_graph, create_graph, only_inputs, allow_unused, is_grads_batched,
                    materialize_grads)
        return dict(zip(inputs, made, strict=True))
    single = isinstance(inputs, (Tensor, graph.GradientEdge))
    if not single and isinstance(inputs, Mapping):
        raise TypeError(f"`inputs` argument to `grad()` must be a dict, not {type(inputs).__name__}. Other Mapping types are not supported.")
    inputs = (inputs,) if single else tuple(inputs)
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    if not only_inputs:
        warn("only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other "
             "parts of the graph, please use torch.autograd.backward.", FutureWarning)
    if retain_graph is None:
        retain_graph = create_graph
    if is_grads_batched:
        return _batched(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused, materialize_grads)
    cts = make_cts(outputs, _grads_of(outputs, grad_outputs))
    roots = _roots(outputs)
    edges = [_input_edge(t) for t in inputs]
    captured = _go(roots, cts, retain_graph, create_graph, edges, False)
    out = []
    for k, t in enumerate(inputs):
        g = captured.get(k)
        if g is None:
            if materialize_grads:
                if not isinstance(t, Tensor):
                    raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
                g = zeros_like(t.detach()).requires_grad_(create_graph)
            elif not allow_unused:
                raise RuntimeError(f"The differentiated Tensor at index {k} appears to not have been used in the graph. Set "
                                   "allow_unused=True if this is the desired behavior.")
        elif not isinstance(g, Tensor):
            g = wrap(g)
        out.append(g)
    return tuple(out)


def _batched(outputs, inputs, grad_outputs, retain_graph, create_graph, allow_unused, materialize_grads):
    """The rows of a batch of cotangents in one walk; one by one where somebody watches the walk (hooks, custom Functions)."""
    from ..tensor.api.joining import stack
    gs = _grads_of(outputs, grad_outputs)
    for k, (o, g) in enumerate(zip(outputs, gs)):
        if g is None:
            made, = make_cts([o], [None])
            if made is None or not made.ndim:
                raise ValueError("vmap(vjp, in_dims=0, ...)(<inputs>): Got in_dim=0 for some input, but that input is a Tensor of "
                                 "dimensionality 0 so expected in_dim to satisfy 0 <= in_dim < 0.")
        elif g.shape[1:] != o.shape:
            raise RuntimeError("If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. "
                               "The sizes of the remaining dimensions are expected to match the shape of corresponding output, but a "
                               f"mismatch was detected: grad_output[{k}] has a shape of {g.shape[2:]} and output[{k}] has a shape of "
                               f"{o.shape}. If you only want some tensors in `grad_output` to be considered batched, consider using vmap.")
    sizes = [g.shape[0] for g in gs if g is not None]
    if len(set(sizes)) > 1:
        raise ValueError("vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                         f"{sizes} for the mapped dimension")
    n, rows = sizes[0], None
    if None not in gs:
        _roots(outputs)
        gs = [g.to(o.dtype) for g, o in zip(gs, outputs)]
        rows = row_gradients(outputs, [_input_edge(t) for t in inputs], gs, create_graph, retain_graph, True)
        if rows is None and not anomaly_mode.on and "forward AD" not in context.modes:
            rows = walked_once(lambda cts: grad(outputs, inputs, cts, retain_graph, create_graph, True, True), gs)
    if rows is None:
        each = [grad(outputs, inputs, [None if g is None else g[i] for g in gs], retain_graph or i < n - 1, create_graph, True, True)
                for i in range(n)]
        rows = [None if r[0] is None else stack(r) for r in zip(*each)]
    for k, (g, t) in enumerate(zip(rows, inputs)):
        if g is None and materialize_grads:
            rows[k] = zeros_like(t.detach()).requires_grad_(create_graph)
        elif g is None and not allow_unused:
            raise RuntimeError(f"The differentiated Tensor at index {k} appears to not have been used in the graph. Set allow_unused=True "
                               "if this is the desired behavior.")
    return tuple(rows)


from . import decomposed, forward_ad, graph  # noqa: E402
from .anomaly_mode import detect_anomaly, set_detect_anomaly  # noqa: E402
from .function import Function  # noqa: E402
from .raw_saved import SavedTensor  # noqa: E402
from . import function, grad_mode  # noqa: E402
from .variable import Variable  # noqa: E402
from .gradcheck import GradcheckError, gradcheck, gradgradcheck  # noqa: E402
from ..dropin import missing_attribute as _missing_attribute  # noqa: E402


def variable(*args, **kwargs):
    """Refused, as by torch."""
    raise RuntimeError("torch.autograd.variable(...) is deprecated, use torch.tensor(...) instead")


variable.Variable = Variable               # the function hides the module of its name


def _is_checkpoint_valid():
    """False in a backward pass to chosen inputs, and in one inside of it: there a checkpoint with re-entry would miss leaves."""
    task = context.modes.get("graph task")
    return task is None or not task[1]


torch = sys.modules[__name__.partition(".")[0]]        # torch.autograd.torch, which old programs spell
__getattr__ = _missing_attribute(__name__, lazy=("functional", "profiler", "profiler_legacy", "profiler_util"),
                                 elsewhere=dict.fromkeys(("kineto_available", "_profiler_enabled", "_disable_profiler"), "profiler"))
