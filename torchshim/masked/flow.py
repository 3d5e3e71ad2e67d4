"""Which elements of a gradient are there, where results are MaskedTensors: a gradient has the mask of what it comes from, without the
elements that `where` did not take; of what was broadcast, an element is there if any of its copies is.
"""
from __future__ import annotations

import heapq
import itertools

from .. import Tensor
from ..tensor.api.bind import FUNCTIONS as F
from ..tensor.core.overriding import DisableTorchFunctionSubclass

_WHOLE = set("sum mean amin amax prod all var std select transpose t split narrow unsqueeze view reshape expand ravel unfold flatten "
             "expand_as view_as __getitem__ cat stack softmax to_dense to_sparse to_sparse_coo to_sparse_csr".split())
_numbers = itertools.count()


def through(x, mask):
    """A plain operand: gradients come to it only from elements that are there."""
    if isinstance(x, Tensor) and x.requires_grad:
        return F["where"](mask, x, x.detach())
    return x


def noted(name, args, result):
    """The result of a function, which remembers the operands that gradients go to from it, and through which mask."""
    from .tensor import MaskedTensor
    if isinstance(result, MaskedTensor) and result.requires_grad and args and result is not args[0]:
        if name == "where":
            sources = [(args[1], args[0]), (args[2], ~args[0])]
        else:
            sources = [(a, None) for a in args if isinstance(a, Tensor) and a.requires_grad]
        result._sources = next(_numbers), name in _WHOLE, sources
    return result


def _shrunk(mask, shape):
    """A mask of what was broadcast from `shape`."""
    while mask.ndim > len(shape):
        mask = mask.any(0)
    for d, n in enumerate(shape):
        if n == 1 and mask.shape[d] != 1:
            mask = mask.any(d, True)
    return mask


def _masks(outputs):
    """{id of a tensor: the mask of its gradient}. ValueError where gradients with different masks meet."""
    from .tensor import MaskedTensor
    found = {id(t): t._mask for t in outputs if isinstance(t, MaskedTensor)}
    waiting = [(-t._sources[0], t) for t in outputs if getattr(t, "_sources", None)]
    heapq.heapify(waiting)
    seen = {n for n, _ in waiting}
    while waiting:
        _, child = heapq.heappop(waiting)
        _, whole, sources = child._sources
        for t, taken in sources:
            if whole and isinstance(t, MaskedTensor):
                mask = t._mask
            else:
                mask = found[id(child)]
                mask = _shrunk(mask if taken is None else mask & taken, t.shape)
            if id(t) in found and not F["equal"](found[id(t)], mask):
                raise ValueError("Input masks must match. If you need support for this, please open an issue on Github.")
            found[id(t)] = mask
            further = getattr(t, "_sources", None)
            if further and -further[0] not in seen:
                seen.add(-further[0])
                heapq.heappush(waiting, (-further[0], t))
    return found


def grad(func, args, kwargs):
    """torch.autograd.grad of MaskedTensors, or with respect to them."""
    from .tensor import _made, _plain
    outputs, inputs = [kwargs.get(name, args[k] if len(args) > k else None) for k, name in enumerate(("outputs", "inputs"))]
    outputs, inputs = [list(x) if isinstance(x, (tuple, list)) else [x] for x in (outputs, inputs)]
    masks = _masks(outputs)
    with DisableTorchFunctionSubclass():
        grads = func(*args, **kwargs)
    return tuple([g if g is None or id(x) not in masks else _made(_plain(g), masks[id(x)]) for g, x in zip(grads, inputs)])
