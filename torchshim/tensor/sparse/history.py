"""The graph of sparse tensors: what an operator that takes or makes one leaves there, each gradient as torch writes it.

`traced(name, out, inputs, gradients)` gives `out` a node: gradients[k] makes inputs[k]'s gradient of that of `out`, with operators that
are differentiable themselves. Gradients are sparse or dense as these operators make them.
"""
from __future__ import annotations

from ...engine import context
from ..api.bind import FUNCTIONS as F
from ..core import graph
from ..core.dtype import FROM_NP
from ..core.graph import Node, forward_only, node_class, sequence
from ..core.handle import TensorBase, edge
from ..core.write import check_inplace, rebase
from .base import alias, is_sparse

_RELEASED = ("Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
             "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
             "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
             "after calling backward.")


class SparseNode(Node):
    """The node of an operator on sparse tensors; `_ts_saved` are (tensor, version) of those that its gradients read."""
    __slots__ = ("_ts_gradients", "_ts_ins", "_ts_outs")

    @property
    def _ts_n_outputs(self):
        return len(self._ts_outs)

    def _ts_out_meta(self, nr):
        return self._ts_outs[nr]

    def _ts_release(self):
        if self._ts_saved:
            self._ts_saved = self._ts_gradients = None

    def _ts_custom_backward(self, box, mode):
        if self._ts_saved is None:
            raise RuntimeError(_RELEASED)
        for t, version in self._ts_saved:
            if t._ts_st.version != version:
                raise RuntimeError("one of the variables needed for gradient computation has been modified by an inplace operation: "
                                   f"[{t.type()} {list(t.shape)}] is at version {t._ts_st.version}; expected version {version} instead. "
                                   "Hint: enable anomaly detection to find the operation that failed to compute its gradient, with "
                                   "torch.autograd.set_detect_anomaly(True).")
        if len(self._ts_outs) == 1:
            g = mode.tensor(box[0])
        else:
            g = [mode.tensor(box[k]) if k in box else None for k in range(len(self._ts_outs))]
        return [None if e is None or f is None else mode.back(self._ts_fitting(f(g), m))
                for e, f, m in zip(self._ts_next, self._ts_gradients, self._ts_ins)]

    @staticmethod
    def _ts_fitting(g, m):
        """A gradient in its input's shape and dtype."""
        if g._ts_meta.shape != m.shape:
            g = sum_to(g, m.shape)
        if g._ts_meta.dtype != m.dtype:
            if g.is_complex() and m.dtype.kind != "c":
                g = g.real
            if g._ts_meta.dtype != m.dtype:
                g = g.to(FROM_NP[m.dtype])
        return g


def traced(name, out, inputs, gradients, saves=()):
    """`out`, a tensor or a tuple of them, as what the operator `name` made of `inputs`. gradients: for each input None, or what makes its
    gradient of out's (of a list of them, None where there is none). saves: the tensors that these read."""
    if context.grad is not True:
        return out
    edges = tuple([edge(x) if isinstance(x, TensorBase) else None for x in inputs])
    edges = tuple([None if e is None or forward_only(e) else e for e in edges])
    if not any([e is not None for e in edges]):
        return out
    outs = out if isinstance(out, tuple) else (out,)
    if not (outs[0].is_floating_point() or outs[0].is_complex()):
        return out
    graph.sparse = True
    node = object.__new__(node_class(name, SparseNode))
    node._ts_inst = node._ts_plan = node._ts_extra = None
    node._ts_guard = node._ts_nums = ()
    node._ts_next, node._ts_gradients = edges, gradients
    node._ts_ins = [x._ts_meta if isinstance(x, TensorBase) else None for x in inputs]
    node._ts_outs = [o._ts_meta for o in outs]
    node._ts_saved = [(t, t._ts_st.version) for t in saves if isinstance(t, TensorBase)]
    node._ts_seq = next(sequence)
    for k, o in enumerate(outs):
        o._ts_edge = node if len(outs) == 1 else (node, k)
    return out


def named(t, name):
    """A tensor that other operators made, as torch's own one did: with its node's name, if it has one."""
    e = t._ts_edge
    if isinstance(e, SparseNode):
        e.__class__ = node_class(name, SparseNode)
    elif e is not None and e is not True and e.__class__ is not tuple:
        e.__class__ = node_class(name)
    return t


def plain(x):
    """A tensor without history, of which nothing is recorded."""
    return alias(x) if is_sparse(x) else x.detach() if isinstance(x, TensorBase) else x


def write_dense(t, out):
    """Let the dense tensor `t` hold what `out` holds, with its history."""
    e = out._ts_edge
    check_inplace(t, e is not None)
    before, context.grad = context.grad, False
    try:
        t.copy_(out.detach())
    finally:
        context.grad = before
    if e is not None:
        rebase(t, e)
    return t


def sum_to(g, shape):
    """A gradient summed to the shape that was broadcast."""
    lead = len(g._ts_meta.shape) - len(shape)
    dims = [d for d, n in enumerate(g._ts_meta.shape) if d < lead or shape[d - lead] != n]
    if not is_sparse(g):
        return g.sum(dims, keepdim=True).reshape(shape)
    kept = F["sum"](g, [d for d in dims if d >= lead], keepdim=True) if any([d >= lead for d in dims]) else g
    return F["sum"](kept, list(range(lead))) if lead else kept


def conj(x):
    """The conjugate of a complex tensor or number; anything else as it is."""
    if isinstance(x, TensorBase):
        return x.conj() if x.is_complex() else x
    return x.conjugate() if isinstance(x, complex) else x


def missing(name, x):
    """torch's error where an operator has no kernel for a tensor's layout."""
    from .base import NAMES
    kind = "CPU" if x.device.type == "cpu" else x.device.type.upper()
    backend = kind if not is_sparse(x) else f"Sparse{kind}" if x.is_sparse else f"SparseCsr{kind}"
    return NotImplementedError(f"Could not run 'aten::{name}' with arguments from the '{backend}' backend. This could be because the "
                               f"operator doesn't exist for this backend; torchshim has none for {NAMES.get(x.layout.name, 'Strided')} "
                               "tensors either.")


def lacking(name):
    """A gradient that torch cannot compute, as it lacks an operator."""
    def refuse(g):
        raise missing(name, g)
    return refuse


def of_dense(name, f):
    """A gradient that torch can compute of a dense one only: `name` is the operator that it lacks for others."""
    def gradient(g):
        if is_sparse(g):
            raise missing(name, g)
        return f(g)
    return gradient


def underivable(name):
    """The gradient of an operator that has none."""
    def refuse(g):
        raise RuntimeError(f"derivative for aten::{name} is not implemented")
    return refuse


