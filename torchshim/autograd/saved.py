"""What nodes of the graph saved: as values that were not written since, and as tensors with their histories."""
from __future__ import annotations

import functools
import gc

import numpy as np

from ..engine import Batched, VjpOp, meta_of
from ..ops import promotion as P
from ..ops.registry import T
from ..ops.views import LazyOp
from ..tensor.core.dispatch import wrap
from ..tensor.core.graph import RELEASED, UNWRAPPED, AccumulateGrad, Node, Nowhere, accumulator, leads_nowhere, look
from ..tensor.core.handle import TensorBase, creation_error, edge, meta, offset_of, read, version as counted, without_history, without_number
from ..tensor.core.storage import known_by, moved_from, read_steps, was_rewritten
from ..tensor.core.tensor import tensor_from
from ..tensor.core.view import alias, tensor_on
from . import anomaly_mode
from .factors import looked_at, operands_of_product
from .second_order import by_comparison


def saved_tensors(node, saved, shown=False):
    """What a node saved as tensors with their histories. What is compared alone has none where gradients are made of it, and has it where
    it is shown."""
    plan, tensors, edges, constant = node._ts_plan, [], node._ts_next, not shown and by_comparison(node)
    if node._ts_extra is not None and node._ts_extra.tangents and node._ts_extra.tangents[2]:
        edges = [node._ts_extra.tangents[2].get(i, e) for i, e in enumerate(edges)]
    places, args = {g[0]: g for g in node._ts_guard}, plan.args
    for k, v in enumerate(saved):
        if constant:
            e = None
        elif k < len(args):
            e = edges[args[k]]
            leaf = e.variable if e.__class__ is AccumulateGrad else e
            if isinstance(leaf, TensorBase) and leaf._ts_view is None and leaf._ts_st.value is v:      # as most are; see `tensor_at`
                tensors.append(leaf)
                continue
        else:
            nr = plan.outs[k - len(plan.args)]
            e = (node if len(node._ts_inst.out_metas) == 1 else (node, nr)) if nr in node._ts_inst.diff_outs else None
        tensors.append(tensor_at(v, e, places.get(k)))
    return tensors


def saved_names(node, plan=None):
    """What torch calls the tensors that a node saved, in their order: the parameters' names, and `result`. `plan`: another than its own."""
    inst, plan, given = node._ts_inst, plan or node._ts_plan, []
    declared = getattr(inst.op, "op", inst.op)                       # of an operator in place it is the one it is made of
    for p, x in zip(getattr(declared, "params", ()), inst.layout):
        if p.kind == "tensor":
            given += [p.name] * (len(x) if x.__class__ is tuple else x is T)
    if len(given) != len(inst.in_metas):
        return []
    if getattr(declared, "saved_as", None):
        given = declared.saved_as(inst)
    fields = declared.fields or ()
    results = [fields[k] if k < len(fields) and fields[k] else "result" if len(inst.out_metas) == 1 else f"result{k}" for k in plan.outs]
    return [given[i] for i in plan.args] + results


def names_at_most(node):
    """What torch calls the tensors that a node's formula would save if all operands wanted gradients. Those it did not save are None."""
    inst, all_of = node._ts_inst, 0
    if not saved_names(node) and node._ts_plan.args:
        return ()
    for i in inst.diff_ins:
        all_of |= 1 << i
    return saved_names(node, inst.plan(all_of))


def _saved_attribute(node, name):
    """`node._saved_self`: a tensor that it saved, by torch's name. AttributeError for what it did not save."""
    if name.startswith(("_saved_", "_raw_saved_")):
        look(node)
    if name.startswith("_saved_") and type(node).__name__.startswith("Foreach"):           # torch made no class for these
        raise AttributeError(f"'CppFunction' object has no attribute '{name}'", name=name, obj=node)
    if name.startswith("_saved_") and node._ts_inst is not None and node._ts_plan is not None:
        names = saved_names(node)
        if name[7:] in names:
            if node._ts_saved is None:
                raise RuntimeError(RELEASED)
            k = names.index(name[7:])
            if not _read_for_some(node, k):
                return None
            if node._ts_custom_backward is not None and not isinstance(node, Nowhere):    # hooks packed it
                return _unpacked(node, k)
            return saved_tensors(node, residuals(node, k) if node._ts_guard else list(node._ts_saved), True)[k]
        unwrapped = type(node).__name__ in UNWRAPPED
        number = (name == "_saved_other" or name == "_saved_self" and not unwrapped) and node._ts_nums and node._ts_inst.op.saves_number
        if number and name == "_saved_other":
            if unwrapped:                      # a number, which is not released
                return node._ts_nums[0]
            if node._ts_saved is None:
                raise RuntimeError(RELEASED)
            return tensor_from(np.asarray(node._ts_nums[0]))
        if number or name[7:] in names_at_most(node):
            return None
    if name.startswith("_raw_saved_"):
        from .raw_saved import raw_saved
        return raw_saved(node, name[11:])
    raise AttributeError(f"'{type(node).__name__}' object has no attribute '{name}'", name=name, obj=node)


def _unpacked(node, k):
    """What hooks packed at place `k`, with the history of what was packed; a tensor of its own, unless the hooks gave that one back."""
    plan, made = node._ts_plan, node._ts_saved[k].unpack()
    if k < len(plan.args):
        e = node._ts_next[plan.args[k]]
    else:
        nr = plan.outs[k - len(plan.args)]
        e = (node if len(node._ts_inst.out_metas) == 1 else (node, nr)) if nr in node._ts_inst.diff_outs else None
    leaf = end_of(e)[0] if e is not None else None
    if made is leaf or edge(made) is e:
        return made
    made = made.detach()
    made._ts_edge = True if isinstance(leaf, TensorBase) else e
    return made


Node.__getattr__ = _saved_attribute


def _listed(node):
    """What `dir` tells of a node: the tensors that its formula saves, by torch's names, too."""
    names = [n for n in object.__dir__(node) if not n.startswith("_ts_")]
    if node._ts_inst is not None and node._ts_plan is not None:
        saved = {*saved_names(node), *names_at_most(node)}
        number = type(node).__name__ not in UNWRAPPED and node._ts_nums and node._ts_inst.op.saves_number
        saved |= {"self", "other"} if number else set()
        names += [prefix + name for name in saved for prefix in ("_saved_", "_raw_saved_") if _has(node, prefix + name)]
    return names


def _has(node, name):
    try:
        return hasattr(node, name)
    except RuntimeError:                       # released, or written since
        return True


Node.__dir__ = _listed


def tensor_at(value, e, place=None):
    """A tensor with this value and history; a leaf is itself while it holds the value. `place`: the entry of a node's `_ts_guard`, where it
    was saved from: it goes on counting the writes there."""
    leaf = e.variable if e.__class__ is AccumulateGrad else e
    if isinstance(leaf, TensorBase):
        if read(leaf) is value:
            return leaf
        e = accumulator(leaf)
    if place is None or place[1].gen != place[3]:
        return wrap(value, e)
    t = tensor_on(place[1], *place[4:6], e, value)
    if place[6].__class__ is str and t._ts_view is not None:
        t._ts_view.creation = place[6]
    return t


_PRIMAL = object()         # View.creation, and what a guard tells, of a view that a forward formula reads


def as_primal(t):
    """An operand as torch's forward formulas read it: a view of it, which has the operand's own history here."""
    e = edge(t)
    if e is None:
        return t
    y = alias(t, offset_of(t))
    y._ts_edge = accumulator(t) if e is t else e
    y._ts_view.base, y._ts_view.skip, y._ts_view.creation = None, 0, _PRIMAL
    return y


def modified_error(meta, now, expected, producer=None, nr=0):
    """torch's error for a saved tensor that was written since; `producer` names the node that made it."""
    made = f", which is output {nr} of {without_number(producer)}," if producer else ""
    return RuntimeError("one of the variables needed for gradient computation has been modified by an inplace operation: "
                        f"[{P.type_name(meta.dtype)} {list(meta.shape)}]{made} is at version {now}; expected "
                        f"version {expected} instead. {_HINT_ON if anomaly_mode.on else _HINT}")


_HINT = ("Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
         "torch.autograd.set_detect_anomaly(True, check_nan=False).")
_HINT_ON = ("Hint: the backtrace further above shows the operation that failed to compute its gradient. The variable in question was "
            "changed in there or anywhere later. Good luck!")


def residuals(node, only=None, asked=None):
    """What a node saved, checked, or `only` that at one place. `asked`: by whom, for which cotangents (see `looked_at`), else all is looked at.
    A write through `.data` changes the saved tensor and is not noticed, as in torch."""
    saved, args, wrong = list(node._ts_saved), node._ts_plan.args, []
    for k, st, version, gen, steps, offset, about in node._ts_guard:
        if st.gen == gen or only is not None and k != only:
            continue
        if k >= len(args):
            if st.version == version:
                saved[k] = read_steps(st.value, steps)
                continue
            nr = node._ts_plan.outs[k - len(args)]
            name = None if nr not in node._ts_inst.diff_outs else "AsStrided" if about is not None and about() else node.name()
            wrong.append(("~", k, functools.partial(modified_error, node._ts_inst.out_metas[nr], st.version, version, name, nr)))
            continue
        seen = getattr(node._ts_inst.op, "seen", None)
        shape = seen(node._ts_inst).get(args[k], ()) if seen else ()
        if about is _PRIMAL and st.version != version:         # what is made of it comes after the tangent, which is read as it is
            last = not _is_product(node._ts_inst.op, _SELF_FIRST)
            wrong.append(("primal" * last, k, functools.partial(modified_error, node._ts_inst.in_metas[args[k]], st.version, version, "AsStrided")))
            continue
        e = node._ts_next[args[k]]
        if isinstance(e, TensorBase) and "_done" in e.__dict__ and not _read_itself(node._ts_inst.op):
            continue
        now = known_by(st, e, steps, offset)
        if now is not None and now._ts_edge in (None, True) and e is not None:
            raise RuntimeError(DETACHED)
        if st.version == version:
            saved[k] = not shape and _moved(node, k, st, steps, offset) or read_steps(st.value, steps)      # a view stays where it is
            continue
        name = (saved_names(node) or [""] * (k + 1))[k]
        if about.__class__ is str and (isinstance(e, Node) or e.__class__ is tuple):       # a view whose history is asked for, and lost
            wrong.append((name, k, functools.partial(_lost, st, steps, offset, e, about)))
            continue
        if about.__class__ is str and e is not None and leads_nowhere(e) and _followed(st, e._ts_view.base):
            wrong.append((name, k, lambda t=e: RuntimeError(creation_error(t, t._ts_view, True))))
            continue
        if shape:
            m = node._ts_inst.in_metas[args[k]]
            wrong.append((name, k, functools.partial(modified_error, meta_of(shape, m.dtype, m.device), st.version, version,
                                                     None if e is None and not _followed(st, now, node) else "AsStrided")))
            continue
        if e is None and about and now is None and _base_followed(st, about, steps):      # a view gets a history when its base has one
            if about.__class__ is str:
                wrong.append((name, k, functools.partial(_lost, st, steps, offset, None, about)))
                continue
            wrong.append((name, k, functools.partial(modified_error, node._ts_inst.in_metas[args[k]], st.version, version, "AsStrided")))
            continue
        if _is_result(node, args[k]) and e is not None:
            (producer, nr), m = end_of(e), node._ts_inst.in_metas[args[k]]
            whole = _with_dimensions(node._ts_inst.op.inst)
            wrong.append((name, k, functools.partial(modified_error, m, st.version, version, producer.name(), nr) if whole is None else
                          functools.partial(modified_error, meta_of(whole, m.dtype, m.device), st.version, version, "AsStrided")))
            continue
        wrong.append((name, k, functools.partial(written_error, now, st, version) if now is not None else
                      functools.partial(_written_through, node, k, st, version, steps, offset, about is not None)))
    wrong = [w for w in wrong if _read_for_some(node, w[1])]
    if wrong and asked is not None and node._ts_inst.op.__class__ is VjpOp:
        looked = looked_at(node, *asked)
        wrong = [w for w in wrong if w[1] in looked]
    if wrong:
        raise min(wrong, key=lambda w: w[0])[2]()      # torch looks at them by the alphabet, results last
    return saved


def _read_itself(op):
    """Whether torch's gradient saves an operand without history as it is, not what it makes of it."""
    op = op.op if op.__class__ is Batched else op
    return op.__class__ is not VjpOp or _is_product(op)


_SELF_FIRST = frozenset(("dot", "vdot", "mv"))      # whose other operand has a name that comes after `self`


def _is_product(op, but=()):
    """Whether a gradient, or the gradient of one, is a product with the operands themselves; of other operators than `but`."""
    while op.__class__ in (Batched, VjpOp):
        op = op.op if op.__class__ is Batched else op.inst.op
    return op.name not in but and bool(operands_of_product(op))


def _followed(st, t=None, since=None):
    """Whether `t`, or else what owns the history of the memory `st`, has one now; one that began after the node `since`, where that is
    given."""
    st = getattr(st, "st", st)                 # of an OwnVersion
    owners = [t] if t is not None else [x for x in gc.get_referrers(st) if isinstance(x, TensorBase) and x._ts_view is None]
    if any([x._ts_edge is None for x in owners]):      # then leaves are what others made of the memory by `detach`
        owners = [x for x in owners if x._ts_edge is not True]
    if t is None and since is not None:
        owners = [x for x in owners if x._ts_edge is True or end_of(x._ts_edge)[0] is not None and end_of(x._ts_edge)[0]._ts_seq > since._ts_seq]
    return any([edge(x) is not None for x in owners])


def _base_followed(st, about, steps):
    """Whether the base of a saved view has a history; `about`: what is known of the view, see Node, which is seen by `steps`."""
    if about.__class__ is str:
        views = [x._ts_view for x in gc.get_referrers(getattr(st, "st", st)) if isinstance(x, TensorBase) and x._ts_view is not None]
        bases = [vw.base for vw in views if vw.base is not None and vw.creation == about and vw.steps == steps]
        return any([edge(base) is not None for base in bases]) if bases else _followed(st)
    base = about()
    if base is not None:
        return edge(base) is not None
    return any([ref() is None for ref in getattr(st, "rewritten", {}).values()])       # it is gone: whether one got a history that is


def _is_result(node, i):
    """Whether operand `i` of a gradient is what the differentiated operator returned: torch saves that apart from the tensor,
    and knows who made it."""
    op = node._ts_inst.op
    return op.__class__ is VjpOp and 0 <= i - len(op.plan_of.args) < len(op.plan_of.outs)


def _with_dimensions(inst):
    """The shape of the view that torch's gradient makes of a result, with the dimensions that it lost; None where it makes none."""
    names = [p.name for p in getattr(inst.op, "params", ())] if inst.op.name.partition(".")[0] in ("linalg_vector_norm", "prod") else []
    at = {name: k for k, name in enumerate(names)} if len(names) == len(inst.layout) else {}
    dims = inst.layout[at["dim"]] if "dim" in at else None
    if dims in (None, ()) or inst.layout[at["keepdim"]] or not inst.in_metas[0].shape:
        return None
    shape = inst.in_metas[0].shape
    lost = [d % len(shape) for d in (dims if dims.__class__ is tuple else (dims,))]
    return tuple([1 if d in lost else n for d, n in enumerate(shape)])


def _read_for_some(node, k):
    """Whether torch saves what stands at place `k`: not an operand that is read by one gradient of several, which goes to a view without
    history."""
    plan, inst = node._ts_plan, node._ts_inst
    if k >= len(plan.args) or len(inst.diff_ins) < 2:
        return True
    if all([_leads(node._ts_next[i]) for i in plan.needs]):
        return True
    readers = [i for i in inst.diff_ins if plan.args[k] in inst.plan(1 << i).args]
    return len(readers) != 1 or _leads(node._ts_next[readers[0]])


def _leads(e):
    return e is not None and (isinstance(e, Node) or e.__class__ is tuple or not leads_nowhere(e))


DETACHED = ("Trying to use a saved tensor that has been detached in-place, i.e. with .detach_().This is not supported, please use "
            "out-of-place `.detach()` instead")


def written_error(t, st, version):
    """The error for a tensor that was saved at a version and written since, as it is now: a view whose history was lost by that says so."""
    vw = t._ts_view
    if vw is not None and vw.base is not None and vw.creation is not None and vw.seen != counted(t) and not without_history(t):
        return RuntimeError(creation_error(t, vw, True))
    target, nr = end_of(edge(t))
    return modified_error(meta(t), st.version, version, target.name() if isinstance(target, Node) else None, nr)


class Entrance(Node):
    """The history of what a function that is differentiated gets for its argument: for those who are told, it is the argument itself."""
    __slots__ = ()


def _lost(st, steps, offset, e, creation):
    """The error for a view made where nothing is differentiated, whose base was written since."""
    while e is not None and isinstance(end_of(e)[0], Entrance):
        e, steps = end_of(e)[0]._ts_next[0], steps[:-1]
    t = tensor_on(st, steps, offset, e)
    t._ts_view.creation = creation
    return RuntimeError(creation_error(t, t._ts_view, True))


def _written_through(node, k, st, version, steps, offset, seen):
    """The same for a tensor that is gone, or was not written itself: a view (`seen`) whose base was, or what has no history."""
    i, producer = node._ts_plan.args[k], None
    target, nr = end_of(node._ts_next[i])
    if isinstance(target, TensorBase) and target._ts_st is st and isinstance(edge(target), (Node, tuple)):
        return written_error(target, st, version)      # a leaf then
    left = moved_from(st, None if target is None else (target, nr), steps, offset)
    if left is not None:
        return written_error(left, st, version)
    while isinstance(target, Entrance):
        (target, nr), steps = end_of(target._ts_next[0]), steps[:-1]
        now = known_by(st, (target, nr), steps, offset)
        if now is not None:
            return written_error(now, st, version)
    if isinstance(target, Node) and target.__class__ is not AccumulateGrad:
        writer = getattr(st, "writer", None)   # who wrote it if it is gone; others may have written the memory
        producer = writer if writer and was_rewritten(st, node._ts_next[i], steps, offset) else target.name()
        producer = "torch::autograd::" + producer if producer == "CopyBackwards" else producer
        if (seen or steps) and not producer.startswith("Unsafe") and (writer == "torch::autograd::CopySlices" or target._ts_inst is not None
                                                            and isinstance(target._ts_inst.op, LazyOp)):
            producer, nr = "AsStrided", 0      # its history is made anew
    return modified_error(meta(target) if isinstance(target, TensorBase) else node._ts_inst.in_metas[i], st.version, version, producer, nr)


def _moved(node, k, st, steps, offset):
    """What a saved input holds that got other memory by `.data =` since: torch saved the tensor, not its memory. None where it was
    another tensor that left this memory: the edge of the input tells."""
    saved = end_of(node._ts_next[node._ts_plan.args[k]])
    while isinstance(saved[0], Entrance):      # what a function was given is the argument itself
        saved, steps = end_of(saved[0]._ts_next[0]), steps[:-1]
    t = moved_from(st, None if saved[0] is None else saved, steps, offset)
    return None if t is None or end_of(edge(t)) != saved else read(t)


def end_of(e):
    """(node or leaf, output number) of an edge. One to an AccumulateGrad leads to its leaf, as all others to that leaf do."""
    target, nr = e if e.__class__ is tuple else (e, 0)
    return (target.variable, 0) if target.__class__ is AccumulateGrad else (target, nr)
