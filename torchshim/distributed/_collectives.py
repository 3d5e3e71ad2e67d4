"""The collectives on tensors. In a group of one process nothing is computed: each gives what it gives there."""
from __future__ import annotations

import functools
import pickle
import warnings

from ..tensor.core.tensor import Tensor as _Tensor
from . import _gloo
from ._group import Work, chosen, fill, get_group_rank, outside, values, warned
from ._names import ReduceOp, supports_complex


def _need(tensor, name, many=False):
    found = [t for t in tensor] if many and isinstance(tensor, (list, tuple)) else [tensor]
    if not all([isinstance(t, _Tensor) for t in found]) or many and not isinstance(tensor, (list, tuple)):
        kind = "List[torch.Tensor]" if many else "torch.Tensor"
        if many and isinstance(tensor, (list, tuple)):
            got = f"{type(tensor)} with elements of type {[type(t) for t in tensor]}."
        else:
            got = f"{type(tensor)} instead."
        raise TypeError(f"Invalid function argument. Expected parameter `{name}` of type {kind}\n             but got {got}")


def _one_dtype(*tensors):
    for t in tensors:
        if t.dtype is not tensors[0].dtype:
            raise ValueError(f"Invalid usage of tensors with different dtypesFound {tensors[0].dtype} and  {t.dtype}")


def _combines(op, tensor, name):
    if not isinstance(op, ReduceOp):
        raise TypeError(f"{name}(): op must be a ReduceOp, not {type(op).__name__}")
    if tensor.is_complex():
        if not supports_complex(op):
            raise ValueError(f"{name} does not support RedOpType.{op.name} on complex tensors")
    elif op is not ReduceOp.AVG or tensor.is_floating_point():
        import numpy as np
        _gloo.combiner(op, np.dtype("float32") if tensor.is_floating_point() else np.dtype(str(tensor.dtype).split(".")[1]))
    else:
        names = {"torch.int32": "Int", "torch.int64": "Long", "torch.uint8": "Byte", "torch.bool": "Bool", "torch.int8": "Char"}
        if str(tensor.dtype) not in names:
            raise RuntimeError("Invalid scalar type")
        raise RuntimeError(f"result type Float can't be cast to the desired output type {names[str(tensor.dtype)]}")


def _member(group, global_rank, group_rank, default=None):
    """Which member is meant: by its number among all processes, or in the group."""
    if group_rank is not None:
        if global_rank is not None:
            raise ValueError("Can't specify both group_rank and global_rank")
        return group_rank
    if global_rank is None:
        if default is None:
            raise ValueError("Must specify global_rank or group_rank")
        return default
    return get_group_rank(group, global_rank)


def _root(pg, root, name):
    if not 0 <= root < pg.size():
        raise RuntimeError(f"ProcessGroupGloo::{name}: invalid root rank: {root}")
    return root


def _shapes(tensors, shape, n, name, what="output"):
    if len(tensors) != n:
        raise RuntimeError(f"ProcessGroupGloo::{name}: invalid {what} tensor list at index 0 (expected length {n}, got {len(tensors)})")
    for t in tensors:
        if t.shape != shape:
            def said(sizes):
                return "(" + ", ".join(map(str, sizes)) + ")"
            raise RuntimeError(f"ProcessGroupGloo::{name}: invalid tensor size at index 0 (expected {said(shape)}, got {said(t.shape)})")


def _ended(async_op, tensors, work=None, filled=None):
    """What a collective gives: None when it is done, a Work of it for async_op. work: what the worker does, filled(its result) after it."""
    if work is None:
        return Work(tensors) if async_op else None
    if async_op:
        return Work(tensors, work, filled)
    made = work()
    if filled is not None:
        filled(made)


def _run(pg, async_op, tensors, algorithm, *args, filled):
    call = pg._call()
    work = functools.partial(algorithm, call, *args)
    if async_op:
        return Work(tensors, pg._later(work), filled)
    filled(work())


def _fill_all(tensors):
    return lambda arrays: [fill(t, a) for t, a in zip(tensors, arrays)]


def _copy(into, tensor):
    from ..autograd import no_grad
    with no_grad():
        into.detach().copy_(tensor.detach())


def _deprecated(name, instead):
    warnings.warn(f"`torch.distributed.{name}` is deprecated. Please use `torch.distributed.{instead}` instead.", FutureWarning,
                  stacklevel=3)


def barrier(group=None, async_op=False, device_ids=None, timeout=None):
    """Wait for all processes of the group."""
    if warned(group, "barrier"):
        return None
    pg = chosen(group)
    if pg.size() == 1:
        return _ended(async_op, ())
    call = pg._call(timeout)
    if async_op:
        return Work((), pg._later(lambda: _gloo.all_bytes(call, b"")))
    _gloo.all_bytes(call, b"")


def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    """As `barrier`; RuntimeError when a process does not come within the timeout."""
    if warned(group, "monitored_barrier"):
        return
    barrier(group, timeout=timeout)


def all_reduce(tensor, op=ReduceOp.SUM, group=None, async_op=False):
    """Combine a tensor over all processes, in place."""
    _need(tensor, "tensor")
    if warned(group, "all_reduce"):
        return None
    _combines(op, tensor, "all_reduce")
    pg = chosen(group)
    if pg.size() == 1:
        return _ended(async_op, [tensor])
    return _run(pg, async_op, [tensor], _gloo.all_reduce, values(tensor), op, filled=_mean(tensor, op, pg.size()))


def _mean(tensor, op, n):
    """Writes a combination into a tensor; the sum of a mean is divided in the tensor's dtype."""
    def filled(array):
        fill(tensor, array)
        if op is ReduceOp.AVG:
            from ..autograd import no_grad
            with no_grad():
                tensor.detach().div_(n)
    return filled


def _leaving(name):
    warnings.warn(f"`torch.distributed.{name}` will be deprecated. If you must use it, please revisit our documentation later at "
                  "https://pytorch.org/docs/main/distributed.html#collective-functions", FutureWarning, stacklevel=3)


def all_reduce_coalesced(tensors, op=ReduceOp.SUM, group=None, async_op=False):
    """`all_reduce` of several tensors."""
    _leaving("all_reduce_coalesced")
    if isinstance(tensors, _Tensor):
        tensors = [tensors]
    _need(tensors, "tensor", many=True)
    _one_dtype(*tensors)
    if warned(group, "all_reduce_coalesced"):
        return None
    return _each([all_reduce(t, op, group, async_op=True) for t in tensors], tensors, async_op)


def _each(works, tensors, async_op):
    if not async_op:
        return [w.wait() for w in works][:0] or None

    class All(Work):
        def wait(self, timeout=None):
            return all([w.wait(timeout) for w in works])
    return All(tensors)


def reduce(tensor, dst=None, op=ReduceOp.SUM, group=None, async_op=False, group_dst=None):
    """The same with the result at process `dst` alone."""
    _need(tensor, "tensor")
    if warned(group, "reduce"):
        return None
    pg = chosen(group)
    _combines(op, tensor, "reduce")
    root = _root(pg, _member(pg, dst, group_dst), "reduce")
    if pg.size() == 1:
        return _ended(async_op, [tensor])
    written = _mean(tensor, op, pg.size())
    return _run(pg, async_op, [tensor], _gloo.reduce, values(tensor), op, root, filled=lambda a: None if a is None else written(a))


def broadcast(tensor, src=None, group=None, async_op=False, group_src=None):
    """Give all processes the tensor of `src`."""
    _need(tensor, "tensor")
    if warned(group, "broadcast"):
        return None
    pg = chosen(group)
    root = _root(pg, _member(pg, src, group_src), "broadcast")
    if pg.size() == 1:
        return _ended(async_op, [tensor])
    return _run(pg, async_op, [tensor], _gloo.broadcast, values(tensor), root,
                filled=lambda a: None if pg.rank() == root else fill(tensor, a))


def all_gather(tensor_list, tensor, group=None, async_op=False):
    """Put every process's tensor into a list of tensors."""
    _need(tensor_list, "tensor_list", many=True)
    _need(tensor, "tensor")
    _one_dtype(*tensor_list, tensor)
    if warned(group, "all_gather"):
        return None
    pg = chosen(group)
    _shapes(tensor_list, tensor.shape, pg.size(), "allgather")
    if pg.size() == 1:
        _copy(tensor_list[0], tensor)
        return _ended(async_op, tensor_list)
    return _run(pg, async_op, tensor_list, _gloo.all_gather, values(tensor), filled=_fill_all(tensor_list))


def all_gather_coalesced(output_tensor_lists, input_tensor_list, group=None, async_op=False):
    """`all_gather` of several tensors: output_tensor_lists[k] gets every process's input_tensor_list[k]."""
    _leaving("all_gather_coalesced")
    if warned(group, "all_gather_coalesced"):
        return None
    _need(input_tensor_list, "tensor_list", many=True)
    works = [all_gather(list(outs), t, group, async_op=True) for outs, t in zip(output_tensor_lists, input_tensor_list)]
    return _each(works, [t for outs in output_tensor_lists for t in outs], async_op)


def all_gather_single(output, input, group=None, async_op=False):
    """Every process's tensor one after the other in one tensor."""
    _need(output, "output_tensor")
    _need(input, "input_tensor")
    if warned(group, "all_gather_single"):
        return None
    pg = chosen(group)
    _one_dtype(output, input)
    if output.dim() and output.size(0) % pg.size() == 0:
        parts = list(output.detach().chunk(pg.size()))
    else:
        parts = [output.detach()[k::pg.size()] if output.dim() else output for k in range(pg.size())]
    _shapes(parts, input.shape, pg.size(), "allgather")
    if pg.size() == 1:
        _copy(output, input)
        return _ended(async_op, [output])
    return _run(pg, async_op, [output], _gloo.all_gather, values(input), filled=_fill_all(parts))


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    """`all_gather_single` under its older name; FutureWarning."""
    _deprecated("all_gather_into_tensor", "all_gather_single")
    return all_gather_single(output_tensor, input_tensor, group, async_op)


def _all_gather_base(output_tensor, input_tensor, group=None, async_op=False):
    return all_gather_single(output_tensor, input_tensor, group, async_op)


def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
    """Put every process's tensor into a list at `dst`."""
    _need(tensor, "tensor")
    if gather_list:
        _need(gather_list, "gather_list", many=True)
        _one_dtype(tensor, *gather_list)
    if warned(group, "gather"):
        return None
    pg = chosen(group)
    root = _member(pg, dst, group_dst, 0)
    if pg.rank() == root:
        if not gather_list:
            raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
        _shapes(gather_list, tensor.shape, pg.size(), "gather")
    elif gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    _root(pg, root, "gather")
    if pg.size() == 1:
        _copy(gather_list[0], tensor)
        return _ended(async_op, gather_list)
    written = _fill_all(gather_list or ())
    return _run(pg, async_op, gather_list or [], _gloo.gather, values(tensor), root, filled=lambda a: None if a is None else written(a))


def scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None):
    """Give each process its tensor of the list at `src`."""
    _need(tensor, "tensor")
    if scatter_list:
        _need(scatter_list, "scatter_list", many=True)
        _one_dtype(tensor, *scatter_list)
    if warned(group, "scatter"):
        return None
    pg = chosen(group)
    root = _member(pg, src, group_src, 0)
    if pg.rank() == root:
        if not scatter_list:
            raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
        _shapes(scatter_list, tensor.shape, pg.size(), "scatter", "input")
    elif scatter_list:
        raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
    _root(pg, root, "scatter")
    if pg.size() == 1:
        _copy(tensor, scatter_list[0])
        return _ended(async_op, [tensor])
    return _run(pg, async_op, [tensor], _gloo.scatter, values(tensor), [values(t) for t in scatter_list or ()], root,
                filled=lambda a: fill(tensor, a))


def reduce_scatter(output, input_list, op=ReduceOp.SUM, group=None, async_op=False):
    """Combine the processes' lists and give each its part."""
    _need(output, "output")
    _need(input_list, "input_list", many=True)
    _one_dtype(output, *input_list)
    if warned(group, "reduce_scatter"):
        return None
    pg = chosen(group)
    _combines(op, output, "reduce_scatter")
    _shapes(input_list, output.shape, pg.size(), "reduce_scatter", "input")
    if pg.size() == 1:
        _copy(output, input_list[0])
        return _ended(async_op, [output])
    return _run(pg, async_op, [output], _gloo.reduce_scatter, [values(t) for t in input_list], op, filled=_mean(output, op, pg.size()))


def reduce_scatter_single(output, input, op=ReduceOp.SUM, group=None, async_op=False):
    """The same for one tensor that holds all parts."""
    _need(output, "output")
    _need(input, "input")
    if warned(group, "reduce_scatter_single"):
        return None
    pg = chosen(group)
    _one_dtype(output, input)
    _combines(op, output, "reduce_scatter_single")
    if input.numel() != output.numel() * pg.size():
        raise RuntimeError("input tensor must be the same size as output size times world size")
    if pg.size() == 1:
        _copy(output, input.detach().reshape(output.shape))
        return _ended(async_op, [output])
    a = values(input).reshape((pg.size(), *output.shape))
    return _run(pg, async_op, [output], _gloo.reduce_scatter, list(a), op, filled=_mean(output, op, pg.size()))


def reduce_scatter_tensor(output, input, op=ReduceOp.SUM, group=None, async_op=False):
    """`reduce_scatter_single` under its older name; FutureWarning."""
    _deprecated("reduce_scatter_tensor", "reduce_scatter_single")
    return reduce_scatter_single(output, input, op, group, async_op)


def _reduce_scatter_base(output, input, op=ReduceOp.SUM, group=None, async_op=False):
    return reduce_scatter_single(output, input, op, group, async_op)


def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False):
    """Give each process its tensor of every list."""
    _need(output_tensor_list, "output_tensor_list", many=True)
    _need(input_tensor_list, "input_tensor_list", many=True)
    _one_dtype(*output_tensor_list, *input_tensor_list)
    if warned(group, "all_to_all"):
        return None
    pg = chosen(group)
    for name, tensors in (("output", output_tensor_list), ("input", input_tensor_list)):
        if len(tensors) != pg.size():
            raise RuntimeError(f"ProcessGroupGloo::alltoall: {name} tensor list has {len(tensors)} tensors, not {pg.size()}")
    if pg.size() == 1:
        _copy(output_tensor_list[0], input_tensor_list[0])
        return _ended(async_op, output_tensor_list)
    return _run(pg, async_op, output_tensor_list, _gloo.all_to_all, [values(t) for t in input_tensor_list],
                [values(t) for t in output_tensor_list], filled=_fill_all(output_tensor_list))


def all_to_all_single(output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False):
    """The same for one tensor in parts along its first dimension: equal ones, or of the sizes given."""
    _need(output, "output")
    _need(input, "input")
    _one_dtype(output, input)
    if warned(group, "all_to_all_single"):
        return None
    pg = chosen(group)
    n, parts = pg.size(), []
    for t, sizes in ((output, output_split_sizes), (input, input_split_sizes)):
        rows = t.size(0) if t.dim() else 1
        if sizes:
            if len(sizes) != n:
                raise RuntimeError("Number of tensor splits not equal to group size")
            if sum(sizes) != rows:
                raise RuntimeError("Split sizes doesn't match total dim 0 size")
        elif rows % n:
            raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
        parts.append(list(t.detach().split(list(sizes) if sizes else rows // n or 1)) if rows else [t.detach()] * n)
    if n == 1:
        _copy(output, input)
        return _ended(async_op, [output])
    return _run(pg, async_op, [output], _gloo.all_to_all, [values(t) for t in parts[1]], [values(t) for t in parts[0]],
                filled=_fill_all(parts[0]))


def _objects(pg, obj):
    if pg.size() == 1:
        return [pickle.loads(pickle.dumps(obj))]
    return [pickle.loads(data) for data in _gloo.all_bytes(pg._call(), pickle.dumps(obj))]


def all_gather_object(object_list, obj, group=None):
    """Put every process's object into a list; objects are pickled."""
    if not warned(group, "all_gather_object"):
        for k, made in enumerate(_objects(chosen(group), obj)):
            object_list[k] = made


def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
    """The same at `dst`."""
    if warned(group, "gather_object"):
        return
    pg = chosen(group)
    root = _member(pg, dst, group_dst, 0)
    if pg.rank() == root and not object_gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if pg.rank() != root and object_gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    if pg.size() == 1:
        object_gather_list[0] = pickle.loads(pickle.dumps(obj))
        return
    call = pg._call()
    if pg.rank() != root:
        call.put(root, pickle.dumps(obj))
    else:
        for k in range(pg.size()):
            object_gather_list[k] = pickle.loads(pickle.dumps(obj) if k == root else call.take(k))


def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None):
    """Give all processes the objects of `src`, in their lists."""
    if warned(group, "broadcast_object_list"):
        return
    pg = chosen(group)
    root = _root(pg, _member(pg, src, group_src, 0), "broadcast")
    if pg.size() == 1:
        return
    call = pg._call()
    if pg.rank() == root:
        call.everyone(pickle.dumps(list(object_list)))
    else:
        for k, made in enumerate(pickle.loads(call.take(root))):
            object_list[k] = made


def scatter_object_list(scatter_object_output_list, scatter_object_input_list=None, src=None, group=None, group_src=None):
    """Put into each process's list its object of the list at `src`."""
    if warned(group, "scatter_object_list"):
        return
    if not isinstance(scatter_object_output_list, list) or len(scatter_object_output_list) < 1:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    pg = chosen(group)
    root = _member(pg, src, group_src, 0)
    if pg.size() == 1:
        scatter_object_output_list[0] = pickle.loads(pickle.dumps(scatter_object_input_list[0]))
        return
    call = pg._call()
    if pg.rank() == root:
        if scatter_object_input_list is None:
            raise ValueError("source rank must provide non-None scatter_object_input_list")
        for k, obj in enumerate(scatter_object_input_list):
            if k != root:
                call.put(k, pickle.dumps(obj))
        scatter_object_output_list[0] = scatter_object_input_list[root]
    else:
        scatter_object_output_list[0] = pickle.loads(call.take(root))


def _key(pg, tag):
    return f"{pg.group_name}!{tag}"


def _to(pg, dst, group_dst):
    to = _member(pg, dst, group_dst)
    if to == pg.rank():
        raise ValueError("Invalid destination rank: destination rank should not be the same as the rank of the current process.")
    if not 0 <= to < pg.size():
        raise RuntimeError(f"ProcessGroupGloo::send: invalid destination rank: {to}")
    return to


def isend(tensor, dst=None, group=None, tag=0, group_dst=None):
    """Send a tensor to process `dst`, which receives it with the same tag; gives a Work."""
    _need(tensor, "tensor")
    if warned(group, "isend"):
        return None
    pg = chosen(group)
    to = _to(pg, dst, group_dst)
    pg._peers.put(pg._ranks[to], _key(pg, tag), _gloo._raw(values(tensor)))
    return Work([tensor])


def send(tensor, dst=None, group=None, tag=0, group_dst=None):
    """`isend`, done when it returns."""
    isend(tensor, dst, group, tag, group_dst)


def irecv(tensor, src=None, group=None, tag=0, group_src=None):
    """Receive a tensor of the same number of bytes from process `src` (or any); gives a Work, whose `wait` fills it."""
    _need(tensor, "tensor")
    if warned(group, "irecv"):
        return None
    pg = chosen(group)
    if src is None and group_src is None:
        sources = [r for r in pg._ranks if r != pg._ranks[pg.rank()]]
    else:
        source = _member(pg, src, group_src)
        if source == pg.rank():
            raise ValueError("Invalid source rank: source rank should not be the same as the rank of the current process.")
        if not 0 <= source < pg.size():
            raise RuntimeError(f"ProcessGroupGloo::recv: invalid source rank: {source}")
        sources = [pg._ranks[source]]
    if not sources:
        raise RuntimeError("ProcessGroupGloo::recv: there is no other process")
    return _Receipt(tensor, pg, sources, tag)


class _Receipt(Work):
    """What was asked for, in the order it was asked for: an earlier one of the same key is filled first."""

    def __init__(self, tensor, pg, sources, tag):
        super().__init__([tensor], source=[None])
        self._ask, self._done = (pg, sources, _key(pg, tag)), False
        self._place = (self._ask[2], *sources)
        self._before = pg._receipts.get(self._place)
        pg._receipts[self._place] = self

    def wait(self, timeout=None):
        if self._done:
            return True
        if self._before is not None:
            before, self._before = self._before, None
            before.wait()
        pg, sources, key = self._ask
        tensor, = self._tensors
        source, data = pg._peers.take(sources, key, timeout or pg._timeout)
        self._done, self._source[0] = True, source
        if pg._receipts.get(self._place) is self:
            del pg._receipts[self._place]
        shaped = values(tensor)
        if len(data) != shaped.nbytes:
            raise RuntimeError(f"received {len(data)} bytes for a tensor of {shaped.nbytes}")
        fill(tensor, _gloo._like(data, shaped))
        return True

    def is_completed(self):
        return self._done


def recv(tensor, src=None, group=None, tag=0, group_src=None):
    """`irecv`, done when it returns; gives the sender's number."""
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    return work.source_rank()


def send_object_list(object_list, dst=None, group=None, device=None, group_dst=None, use_batch=False):
    """Send pickled objects to process `dst`."""
    if object_list is None or not len(object_list):
        raise ValueError("Object list must not be None or empty")
    if warned(group, "send_object_list"):
        return
    pg = chosen(group)
    to = _to(pg, dst, group_dst)
    pg._peers.put(pg._ranks[to], _key(pg, "objects"), pickle.dumps(list(object_list)))


def recv_object_list(object_list, src=None, group=None, device=None, group_src=None, use_batch=False):
    """Receive them into a list of the same length; gives the sender's number."""
    if object_list is None or not len(object_list):
        raise ValueError("Object list must not be None or empty")
    if warned(group, "recv_object_list"):
        return -1
    pg = chosen(group)
    any_of = src is None and group_src is None
    sources = [r for r in pg._ranks if r != pg._ranks[pg.rank()]] if any_of else [pg._ranks[_member(pg, src, group_src)]]
    source, data = pg._peers.take(sources, _key(pg, "objects"), pg._timeout)
    for k, made in enumerate(pickle.loads(data)):
        object_list[k] = made
    return source


class P2POp:
    """One `isend` or `irecv` of `batch_isend_irecv`. RuntimeError for another function."""
    __module__ = "torch.distributed.distributed_c10d"

    def __init__(self, op, tensor, peer=None, group=None, tag=0, group_peer=None):
        if op not in (isend, irecv):
            raise RuntimeError("Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or ``torch.distributed.irecv``.")
        _need(tensor, "tensor")
        self.op, self.tensor, self.tag, self.group = op, tensor, tag, chosen(group)
        self.group_peer = _member(self.group, peer, group_peer)
        self.peer = self.group._ranks[self.group_peer] if 0 <= self.group_peer < self.group.size() else self.group_peer

    def __repr__(self):
        mine = self.group.rank()
        src, dst = (mine, self.group_peer) if self.op is isend else (self.group_peer, mine)
        return (f"P2POp({self.op.__name__} pg={self.group.group_name}, group_src={src}, group_dst={dst},  {self.tensor.shape}, "
                f"{self.tensor.dtype})")


def batch_isend_irecv(p2p_op_list):
    """Begin several sends and receipts; gives their Works. ValueError for an empty list or several groups."""
    if not p2p_op_list or not all([isinstance(p, P2POp) for p in p2p_op_list]):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")
    if any([p.group is not p2p_op_list[0].group for p in p2p_op_list]):
        raise ValueError("All ops need to use the same group.")
    if outside(p2p_op_list[0].group):
        return []
    return [p.op(p.tensor, group=p.group, tag=p.tag, **{"group_dst" if p.op is isend else "group_src": p.group_peer}) for p in p2p_op_list]
