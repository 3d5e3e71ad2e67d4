"""The hooks that a backward pass runs, on nodes and on tensors: what they are shown, and what they may give back."""
from __future__ import annotations

from ..ops import promotion as P
from ..tensor.core.handle import TensorBase, log_grad, meta
from ..tensor.core.memory_format import contiguous_format


def outputs_of(node):
    """The places of the outputs whose gradients a node knows of: not those that have no derivative, as indices."""
    inst = getattr(node, "_ts_inst", None)
    return range(node._ts_n_outputs) if inst is None else inst.op.outputs or sorted(inst.diff_outs)


def _shown(mode, box, run):
    """The gradients that `run` makes of those in `box`, by their keys, which it is given as tensors."""
    if mode.hooked is not None:
        return mode.hooked(box, run)
    return {k: mode.back(t) for k, t in run({k: mode.tensor(g) for k, g in box.items()}).items()}


def before(node, box, mode, extra):
    """Prehooks: they may give other gradients of the node's outputs."""
    outputs = outputs_of(node)

    def run(gs):
        gs = tuple([gs.get(k) for k in outputs])
        for hook in list(extra.pre.values()):
            gs = _checked(hook, hook(gs), gs)
        return {k: g for k, g in zip(outputs, gs) if g is not None}
    made = _shown(mode, {k: box[k] for k in outputs if k in box}, run)
    box.clear()
    box.update(made)


def tensor_hooks(box, mode, extra):
    """What belongs to the tensors: they get to see their gradient even where the node itself is not asked for."""
    if extra.tensor_hooks:
        for nr, hooks in extra.tensor_hooks.items():
            if nr in box:
                box[nr] = run_hooks(hooks, box[nr], mode)
            else:
                told_of_nothing(hooks)
    if extra.retain:
        for nr, ref in extra.retain.items():
            t = ref()
            if t is not None and nr in box:
                log_grad(t)
                if mode.hooked is not None:
                    t._ts_more().grad = mode.retained(box[nr])
                    continue
                g, old = mode.tensor(box[nr]), t._ts_more().grad
                t._ts_more().grad = _copied(g, mode) if old is None else old + g


def _copied(g, mode):
    """A gradient as it is retained: a contiguous copy. What a mode without a graph shows of its Values is one already."""
    if g.is_sparse:
        return g.clone()
    return g.clone(memory_format=contiguous_format) if mode.graph or not meta(g).contiguous or g._ts_edge is not None else g


def told_of_nothing(hooks):
    """Tensor hooks where no gradient has come: they see None."""
    for hook in list(hooks.values()):
        _check_one(hook, hook(None), None)


def after(node, grads, box, mode, extra):
    """Posthooks: they may give other gradients of the node's inputs. A number in a tensor's place counts as an input."""
    outputs, places = outputs_of(node), list(node._ts_places(range(len(grads))))

    def run(gs):
        ins, outs = tuple([gs.get((0, k)) for k in places]), tuple([gs.get((1, k)) for k in outputs])
        for hook in list(extra.post.values()):
            ins = _checked(hook, hook(ins, outs), ins)
        return {k: g for k, g in zip(places, ins) if g is not None}
    given = {(0, k): grads[k] for k in places if k is not None and grads[k] is not None}
    given.update({(1, k): box[k] for k in outputs if k in box})
    made = _shown(mode, given, run)
    return [made.get(k) if k in places else grads[k] for k in range(len(grads))]


def _checked(hook, given, before):
    """The gradients that a node's hook made of those `before`, with torch's refusals."""
    if given is None:
        return before
    if not isinstance(given, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(given).__name__}'")
    if len(given) != len(before):
        raise RuntimeError(f"hook '{_named(hook)}' has returned an incorrect number of values (got {len(given)}, but expected "
                           f"{len(before)})")
    for new, old in zip(given, before):
        _check_one(hook, new, old)
    return given


def _check_one(hook, new, old):
    if new is None:
        return
    if old is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if not isinstance(new, TensorBase):
        raise TypeError(f"expected Variable, but hook returned '{type(new).__name__}'")
    if new.is_sparse or old.is_sparse:
        if new.type() != old.type():
            raise RuntimeError(f"hook '{_named(hook)}' has changed the type of value (was {old.type()} got {new.type()})")
        if new.shape != old.shape:
            raise RuntimeError(f"hook '{_named(hook)}' has changed the size of value")
        return
    m, was = meta(new), meta(old)
    if m.dtype != was.dtype:
        raise RuntimeError(f"hook '{_named(hook)}' has changed the type of value (was {P.type_name(was.dtype)} "
                           f"got {P.type_name(m.dtype)})")
    if m.shape != was.shape:
        raise RuntimeError(f"hook '{_named(hook)}' has changed the size of value")


def _named(hook):
    return getattr(hook, "__name__", "<unknown>")


def run_hooks(hooks, g, mode):
    """The hooks on a tensor, one after the other."""
    def run(gs):
        t = gs[0]
        for hook in list(hooks.values()):
            r = hook(t)
            if r is not None:
                _check_one(hook, r, t)
                t = r
        return {0: t}
    return _shown(mode, {0: g}, run)[0]
