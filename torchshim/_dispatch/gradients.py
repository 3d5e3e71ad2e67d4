"""The histories of dispatched calls: nodes whose backward calls operators, which are dispatched in turn.

Formulas are stated as torch's are: a gradient for each tensor argument, computed in the order of the arguments' names. Cotangents of such a
walk are tensors, of the classes that the operators return. A call with a gradient of which no formula is known raises NotImplementedError.
"""
from __future__ import annotations

from .. import Tensor
from ..autograd.cotangents import GradTensors
from ..autograd.function import FunctionNode
from ..autograd.grad_mode import grad_mode
from ..autograd.saved import RELEASED, written_error
from ..autograd.second_order import of_part
from ..engine import context, record
from ..tensor.core.dispatch import wrap
from ..tensor.core.dtype import FROM_NP
from ..tensor.core.graph import Node, node_class, sequence
from ..tensor.core.handle import edge, read, version
from ..tensor.core.overriding import dispatches
from ..tensor.core.write import check_inplace, rebase
from .python import TRANSFORM, below, do, stand_in, state, tensors_in, unseen


#: Operators in place that change how a tensor is seen.
_TURNED = frozenset(("squeeze_", "unsqueeze_", "transpose_", "t_"))


def followed(op, args, kwargs):
    """The result of a call with a history where its formula gives one."""
    from .formulas import FORMULAS, WITHOUT
    name = op.name().removeprefix("aten::")
    base = name.partition(".")[0]
    known = op._schema
    written = args[0] if known.arguments[0].mutated else None
    formula = FORMULAS.get(name.replace(f"{base}.", f"{base[:-1]}.").removesuffix("_") if written is not None else name)
    if formula is None:
        if base not in WITHOUT and "backward" not in base and not state().stack and not any(
                [dispatches(type(t)) for t in tensors_in((*args, *kwargs.values()))]):
            from .kernels import compute           # nobody looks on: as the public function that it stands for
            with unseen():
                return compute(op, args, kwargs)
        if base not in WITHOUT:
            raise NotImplementedError(f"torchshim: the gradient of {op} under __torch_dispatch__")
        return below(op, args, kwargs)
    if written is not None:
        check_inplace(written, True)
        if written in [x for k, x in enumerate(args) if k and isinstance(x, Tensor) and x is written]:
            raise NotImplementedError(f"torchshim: the gradient of {op} on one tensor twice under __torch_dispatch__")
    call = Call(known, args, kwargs)
    asked = formula.asked(call)
    call.reads, call.wants = asked & formula.reads, asked
    if written is not None and "self" in call.reads:
        with grad_mode(False):
            call.self = do("clone", written)           # what was there before
    elif written is not None and base in _TURNED:
        with unseen():
            call.self = written.detach()               # as it is seen before
    with grad_mode(False):
        made = below(op, args, kwargs)
    return _attached(formula, call, made, written, args)


class Call:
    """The arguments of a call by their names, for its formula: each read is checked for writes since."""

    def __init__(self, known, args, kwargs):
        values, by_name = list(args), dict(kwargs)
        for k, a in enumerate(known.arguments):
            x = values[k] if k < len(values) and not a.kwarg_only else by_name.get(a.name, a.default)
            setattr(self, a.name if a.name != "from" else "low", x)
        self.names = [a.name for a in known.arguments]
        self.versions = [(n, t, version(t)) for n in self.names for t in tensors_in([getattr(self, n, None)])]


def _kept(call, t):
    """What a node keeps of a result: nobody sees that in a transform."""
    call.unseen = TRANSFORM in context.modes
    if not call.unseen:
        return do("detach", t)
    with unseen():
        made = t.detach()
    return stand_in(made, t)


def _attached(formula, call, made, written, args):
    outs = list(made) if isinstance(made, (tuple, list)) else [made]
    node = object.__new__(node_class(formula.node, DispatchNode))
    places = []                                # (name, number in a list or None) of each tensor argument
    for name in call.names:
        x = getattr(call, name if name != "from" else "low")
        if name == "self" and written is not None:
            x = written
        if isinstance(x, Tensor):
            places.append((name, None, x))
        elif isinstance(x, list):
            places += [(name, k, y) for k, y in enumerate(x) if isinstance(y, Tensor)]
    edges = [edge(t) for _, _, t in places]
    node._ts_formula, node._ts_call = formula, call
    node._ts_at = [(name, k) for name, k, _ in places]
    node._ts_metas = [(call.self if t is written else t)._ts_meta for _, _, t in places]         # as they were before
    node._ts_strided = {}
    node._ts_inst = node._ts_plan = node._ts_extra = None
    node._ts_guard = node._ts_nums = ()
    node._ts_saved = []
    node._ts_next = tuple(edges)
    node._ts_seq = next(sequence)
    node._ts_out_metas = [o._ts_meta if isinstance(o, Tensor) else None for o in outs]
    done = []
    for k, o in enumerate(outs):
        if not isinstance(o, Tensor) or not (o.is_floating_point() or o.is_complex()) or k not in formula.outputs(len(outs)):
            done.append(o)
            continue
        if written is not None:
            if o._ts_view is not None and o._ts_view.base is not None:
                rebase(o, node)
            else:
                o._ts_edge = node
            done.append(o)
            continue
        if any([o is a for a in args]) or o._ts_edge is not None:
            with grad_mode(False):
                o = o.detach()
        vw = o._ts_view
        if vw is not None and vw.base is not None:
            vw.creation, vw.seen = ("multi" if len(outs) > 1 else None), version(o)
        o._ts_edge = node if len(outs) == 1 else (node, k)
        done.append(o)
    if "y" in call.wants:
        with grad_mode(False):
            call.result = _kept(call, done[0])
    elif formula.saves:
        with grad_mode(False):
            kept = {k: _kept(call, done[k]) for k in formula.first}
            call.results = [kept.get(k, None if k == 0 else o) for k, o in enumerate(done)]
    return done[0] if not isinstance(made, (tuple, list)) else type(made)(done) if type(made) in (list, tuple) else tuple(done)


class DispatchNode(FunctionNode):
    """The node of a dispatched call."""
    __slots__ = ()
    _ts_home = Node._ts_home

    def _ts_custom_backward(self, box, mode):
        if self._ts_call is None:
            raise RuntimeError(RELEASED)
        call, formula = self._ts_call, self._ts_formula
        for name, t, v in call.versions:
            if name in call.reads and version(t) != v and getattr(call, name) is t:
                raise written_error(t, t._ts_st, v)
        given = [mode.tensor(box[k]) if k in box else None for k in range(len(self._ts_out_metas))]
        call.g, call.gs = given[0], given
        if "y" in call.wants:
            call.y = _output(self) if context.grad else call.result if call.unseen else do("detach", call.result)
        needs = {}
        for (name, _), e in zip(self._ts_at, self._ts_next):
            needs[name] = needs.get(name, False) or e is not None
        call.needs = needs
        found = formula.gradients(call)
        grads = []
        for (name, k), m, e in zip(self._ts_at, self._ts_metas, self._ts_next):
            g = found.get(name) if e is not None else None
            if k is not None and g is not None:
                g = g[k]
            if g is not None:
                g = _fitted(g, m)
            grads.append(None if g is None else mode.back(g))
        call.g = call.gs = call.y = None
        return grads

    def _ts_release(self):
        self._ts_call = None


def _output(node):
    """What a node saved of its result, with the history that this has."""
    with grad_mode(False):
        t = node._ts_call.result.detach()
    t._ts_edge = node if len(node._ts_out_metas) == 1 else (node, 0)
    return t


def _fitted(g, m):
    """A gradient in the shape and dtype of what it is the gradient of."""
    if g._ts_meta.shape != m.shape:
        lead = g.ndim - len(m.shape)
        dims = [*range(lead), *[d + lead for d, n in enumerate(m.shape) if n == 1 and g.shape[d + lead] != 1]]
        g = do("sum.dim_IntList", g, dims, True)
        if lead:
            g = do("view", g, list(m.shape))
    if g._ts_meta.dtype != m.dtype:
        g = do("_to_copy", g, dtype=FROM_NP[m.dtype])
    return g


# -- walks -----------------------------------------------------------------------------------------------------------------
class GradDispatch(GradTensors):
    """Arithmetic on cotangents as tensors of any class, by operators that are dispatched."""
    graph = narrow = False

    @staticmethod
    def add(a, b):
        return do("add.Tensor", a, b)

    @classmethod
    def vjp(cls, node, saved, cts, part=None):
        if state().stack or any([dispatches(type(g)) for g in cts]):
            raise NotImplementedError(f"torchshim: the backward of {node.name()} under __torch_dispatch__: its forward was not "
                                      "dispatched")
        if cls.graph:
            return GradTensors.vjp(node, saved, cts, part)
        plan, saved, nums = of_part(node, part, saved)
        r = record(context, plan.vjp, (), saved + [read(g) for g in cts], nums, plan.vjp_kinds)[0]
        return [wrap(v) for v in (r if r.__class__ is list else [r])]

    @staticmethod
    def slice(g, steps):
        if state().stack or dispatches(type(g)):
            raise NotImplementedError("torchshim: the backward of a write into a view under __torch_dispatch__")
        return GradTensors.slice(g, steps)

    @classmethod
    def accumulate(cls, leaf, g):
        """Into `leaf.grad`."""
        x = leaf._ts_more()
        old = x.grad
        if old is not None:
            x.grad = do("add.Tensor", old, g) if cls.graph else do("add_.Tensor", old, g)
        elif cls.graph:
            x.grad = do("clone", g)
        elif g.stride() == leaf.stride() or dispatches(type(g)):
            x.grad = do("detach", g)
        else:
            x.grad = do("copy_", do("new_empty_strided", g, list(leaf.shape), list(leaf.stride()), dtype=g.dtype, layout=g.layout,
                                    device=g.device), g)
        return True


class GradDispatchTwice(GradDispatch):
    """The same where the backward is itself differentiable."""
    graph = True


def mode_of(roots, cts, create_graph):
    """The arithmetic of a walk that dispatched calls are part of; None for others."""
    if state().stack or any([dispatches(type(c)) for c in cts]) or _leads_to_dispatched(roots):
        return GradDispatchTwice if create_graph else GradDispatch
    return None


def _leads_to_dispatched(roots):
    stack, seen = list(roots), set()
    while stack:
        e = stack.pop()
        e = e[0] if e.__class__ is tuple else e
        if e is None or id(e) in seen:
            continue
        seen.add(id(e))
        if isinstance(e, DispatchNode):
            return True
        if isinstance(e, Node):
            stack += [n for n in e._ts_next if n is not None]
    return False


def ones(t):
    """The cotangent of a root that is one number; None where nobody would see it made."""
    from ..tensor.core.memory_format import FORMATS
    if not state().stack and not dispatches(type(t)):
        return None
    with grad_mode(False):
        return do("ones_like", t, pin_memory=False, memory_format=FORMATS["preserve_format"])
