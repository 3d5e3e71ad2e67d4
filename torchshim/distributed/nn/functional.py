"""Collectives through which gradients flow: the gradient of each is another collective, of the tensors' gradients."""
from __future__ import annotations

import torchshim as torch

from .. import _collectives as plain
from .._group import chosen, get_group_rank, get_rank, get_world_size
from .._names import ReduceOp


def _as_function(forward, backward):
    """forward(pg, *tensors) and backward(pg, *gradients) of one operator, both giving tuples, as a function of (pg, *tensors)."""
    class Collective(torch.autograd.Function):
        @staticmethod
        def forward(ctx, pg, *tensors):
            ctx.pg = pg
            made = forward(pg, *tensors)
            return made if len(made) != 1 else made[0]

        @staticmethod
        def backward(ctx, *gradients):
            return (None, *backward(ctx.pg, *[g.contiguous() for g in gradients]))
    return Collective.apply


def _whole(x):
    return x if isinstance(x, tuple) else (x,)


def _of(tensor):
    return tensor.detach().clone()


def _like(tensor, n):
    return [torch.empty_like(tensor) for _ in range(n)]


def _reduced(x, op, pg, root=None):
    made = _of(x)
    if root is None:
        plain.all_reduce(made, op, pg)
    else:
        plain.reduce(made, None, op, pg, group_dst=root)
    return made


def _sent(x, pg, root):
    made = _of(x)
    plain.broadcast(made, group=pg, group_src=root)
    return made


def _gathered(x, pg, root):
    made = _like(x, pg.size())
    plain.gather(_of(x), made if pg.rank() == root else None, group=pg, group_dst=root)
    return made if pg.rank() == root else [torch.zeros_like(x) for _ in made]


def _scattered(tensors, pg, root):
    made = torch.empty_like(tensors[0])
    plain.scatter(made, [_of(t) for t in tensors] if pg.rank() == root else None, group=pg, group_src=root)
    return made


def _exchanged(tensors, outs, pg):
    plain.all_to_all(outs, [_of(t) for t in tensors], pg)
    return outs


def broadcast(tensor, src, group=None):
    """The tensor of process `src`, at every process."""
    pg = chosen(group)
    root = get_group_rank(pg, src)

    def backward(pg, g):
        made = _reduced(g, ReduceOp.SUM, pg, root)
        return (made if pg.rank() == root else torch.zeros_like(made),)
    return _as_function(lambda pg, x: (_sent(x, pg, root),), backward)(pg, tensor)


def gather(tensor, dst=0, group=None):
    """The tensors of all processes at process `dst`: a tuple; zeros elsewhere."""
    pg = chosen(group)
    root = get_group_rank(pg, dst)
    return _whole(_as_function(lambda pg, x: tuple(_gathered(x, pg, root)), lambda pg, *g: (_scattered(g, pg, root),))(pg, tensor))


def scatter(tensors, src=0, group=None):
    """This process's tensor of the list at `src`."""
    pg = chosen(group)
    root = get_group_rank(pg, src)
    return _as_function(lambda pg, *x: (_scattered(x, pg, root),), lambda pg, g: tuple(_gathered(g, pg, root)))(pg, *tensors)


def reduce(tensor, dst, op=ReduceOp.SUM, group=None):
    """The combined tensor at process `dst`."""
    pg = chosen(group)
    root = get_group_rank(pg, dst)
    return _as_function(lambda pg, x: (_reduced(x, op, pg, root),), lambda pg, g: (_sent(g, pg, root),))(pg, tensor)


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None):
    """This process's part of the combined list; `output` says its shape."""
    pg = chosen(group)

    def forward(pg, *tensors):
        made = torch.empty_like(output)
        plain.reduce_scatter(made, [_of(t) for t in tensors], op, pg)
        return (made,)

    def backward(pg, g):
        made = _like(g, pg.size())
        plain.all_gather(made, g, pg)
        return tuple(made)
    return _as_function(forward, backward)(pg, *input_list)


def all_gather(tensor, group=None):
    """The tensors of all processes: a tuple."""
    pg = chosen(group)

    def forward(pg, x):
        made = _like(x, pg.size())
        plain.all_gather(made, _of(x), pg)
        return tuple(made)

    def backward(pg, *gradients):
        return (torch.stack(_exchanged(gradients, _like(gradients[0], pg.size()), pg)).sum(dim=0),)
    return _whole(_as_function(forward, backward)(pg, tensor))


def all_to_all(output_tensor_list, input_tensor_list, group=None):
    """What each process has for this one: a tuple, of the shapes of `output_tensor_list`."""
    pg = chosen(group)
    ours = [torch.empty_like(t) for t in input_tensor_list]
    return _whole(_as_function(lambda pg, *x: tuple(_exchanged(x, [torch.empty_like(t) for t in output_tensor_list], pg)),
                               lambda pg, *g: tuple(_exchanged(g, ours, pg)))(pg, *input_tensor_list))


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None):
    """The same for one tensor split along its first dimension."""
    def exchanged(like, x, outs, ins):
        made = torch.empty_like(like)
        plain.all_to_all_single(made, _of(x), outs, ins, pg)
        return (made,)
    pg = chosen(group)
    return _as_function(lambda pg, x: exchanged(output, x, output_split_sizes, input_split_sizes),
                        lambda pg, g: exchanged(input, g, input_split_sizes, output_split_sizes))(pg, input)


def all_reduce(tensor, op=ReduceOp.SUM, group=None):
    """The tensor combined over all processes."""
    return _as_function(lambda pg, x: (_reduced(x, op, pg),), lambda pg, g: (_reduced(g, op, pg),))(chosen(group), tensor)


__all__ = ["all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "get_rank", "get_world_size", "reduce",
           "reduce_scatter", "scatter"]
