"""In what order the ends of a graph have their turns, for walks in which somebody can tell: by hooks of leaves, or by what an error keeps
from happening. PyTorch's ready nodes wait in a heap of C++'s, leaves before all others; which of several leaves it yields first is left to
how the heap is rearranged, here as in libstdc++.
"""
from __future__ import annotations

from ..tensor.core.graph import accumulator_hooks


def tells(leaf):
    """Whether somebody sees when a leaf has its turn."""
    x = leaf._ts_extra
    return x is not None and bool(x.hooks or x.post_hooks or accumulator_hooks(x))


def put(heap, item):
    """Into a heap, by the first of an item; the smallest one is at its top."""
    heap.append(item)
    _rise(heap, len(heap) - 1, item)


def _rise(heap, hole, item):
    while hole and heap[above := (hole - 1) // 2][0] > item[0]:
        heap[hole], hole = heap[above], above
    heap[hole] = item


def take(heap):
    """The top of a heap. The last item goes down a whole path, and up again."""
    item, n = heap.pop(), len(heap)
    if not n:
        return item
    top, hole, child = heap[0], 0, 2
    while child <= n:
        if child == n or heap[child][0] > heap[child - 1][0]:
            child -= 1
        heap[hole], hole, child = heap[child], child, 2 * child + 2
    _rise(heap, hole, item)
    return top


def _last_first(inst):
    return range(len(inst.in_metas))[::-1]


def _linear(inst):
    x, weight, *bias = inst.in_metas
    return None if not bias else (2, 0, 1) if len(x.shape) == 2 or len(weight.shape) == 1 else (2, 1, 0)


def _matmul(inst):
    a, b = [m.shape for m in inst.in_metas]
    if len(a) == len(b) == 3 and b[0] == 1 != a[0]:
        return None
    return (1, 0) if len(a) > 2 or len(a) == 1 and len(b) == 2 else None


def _tensordot(inst):
    a, b = [m.shape for m in inst.in_metas]
    ours, theirs = inst.layout[2:]
    return None if any([a[i] == 1 != b[j] for i, j in zip(ours, theirs)]) else (1, 0)


def _inner(inst):
    a, b = [m.shape for m in inst.in_metas]
    return None if not a or not b or a[-1] == 1 != b[-1] else (1, 0)


def _diff(inst):
    return (1, 0, 2)[:len(inst.in_metas)] if inst.layout[3] is not None else None


def _multi_dot(inst):
    shapes = [m.shape for m in inst.in_metas]
    if len(shapes) != 3 or any([len(s) != 2 for s in shapes]):
        return range(len(shapes))
    (a, b), (c, d) = shapes[0], shapes[2]
    return (0, 1, 2) if a * b * c + a * c * d > b * c * d + a * b * d else (2, 0, 1)


def _attention(inst):
    """Where it is written with other operators."""
    return (2, 1, 0) if len(inst.in_metas) == 3 else (2, 3, 1, 0)


# by operator, what torch has several nodes for: in which order these come to its operands
_ORDERS = {"linear": _linear, "matmul": _matmul, "tensordot": _tensordot, "inner": _inner, "diff": _diff, "einsum": _last_first,
           "kron": _last_first, "bilinear": _last_first, "kl_div": _last_first, "poisson_nll_loss": _last_first,
           "cross_entropy_soft": _last_first, "rms_norm": _last_first,
           "linalg_multi_dot": _multi_dot}
# of cells by the number of operands, without biases and with them
_CELLS = {"gru_cell": {4: (1, 3, 0, 2), 6: (5, 1, 3, 4, 0, 2)},
          "rnn_tanh_cell": {4: (0, 2, 1, 3), 6: (4, 0, 2, 5, 1, 3)}, "rnn_relu_cell": {4: (0, 2, 1, 3), 6: (4, 0, 2, 5, 1, 3)},
          "lstm_cell_state": {5: (2, 0, 3, 1, 4), 7: (2, 5, 0, 3, 6, 1, 4)}}


def _layer(inst, one_node):
    """Of a recurrent layer: (order, whether it is one node in torch as well)."""
    states = 2 if inst.layout[-2] == "LSTM" else 1
    w, x, before = 1 + states, (0,), tuple(range(1, 1 + states))
    if one_node:
        return (*x, *range(w, len(inst.in_metas)), *before), True
    biased = len(inst.in_metas) == w + 4
    return ((w + 3, w + 1, w + 2, w, *x) if biased else (w + 1, *x, w)) + before[::-1], False


def order_of(node):
    """(In which order the edges of a node are served: places, whether that is by the heap) where this is not as they stand; (None, True)."""
    plan = node._ts_plan
    if plan is None or node._ts_custom_backward is not None:
        return None, True
    inst, kind = plan.inst, type(node).__name__
    name = getattr(inst.op, "name", None)
    if name == "rnn_layer":
        order, by_heap = _layer(inst, kind == "MkldnnRnnLayerBackward0")
        return (order if len(order) == len(node._ts_next) else None), by_heap
    if name == "scaled_dot_product_attention":
        order = _attention(inst) if kind == "UnsafeViewBackward0" else None
    elif name in _CELLS:
        order = _CELLS[name].get(len(node._ts_next))
    else:
        order = _ORDERS[name](inst) if name in _ORDERS else None
    return order, False
