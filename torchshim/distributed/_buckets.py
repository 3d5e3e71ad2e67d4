"""The gradients of a module, combined over processes at the end of a backward."""
from __future__ import annotations

import torchshim as torch

from . import _collectives as plain

_FIRST, _CAP = 1 << 20, 25 << 20               # bytes of the first bucket and of the others, once the order of gradients is known
_UNFINISHED = ("Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that "
               "your module has parameters that were not used in producing loss. You can enable unused parameter detection by "
               "passing the keyword argument `find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by "
               "\nmaking sure all `forward` function outputs participate in calculating loss. \nIf you already have done the above, "
               "then the distributed data parallel module wasn't able to locate the output tensors in the return value of your "
               "module's `forward` function. Please include the loss function and the structure of the return value of `forward` of "
               "your module when reporting this issue (e.g. list, dict, iterable).\nParameter indices which did not receive grad "
               "for rank {}: {}\n In addition, you can set the environment variable TORCH_DISTRIBUTED_DEBUG to either INFO or "
               "DETAIL to print out information about which particular parameters did not receive gradient on this rank as part of "
               "this error")


class GradBucket:
    """Gradients that are complete, as a hook of DistributedDataParallel gets them: one after the other in one vector."""

    def __init__(self, index, last, parameters):
        self._index, self._last, self._parameters = index, last, parameters
        self._buffer = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).detach().reshape(-1) for p in parameters])

    def index(self):
        """Which of the buckets it is."""
        return self._index

    def is_last(self):
        """Whether it is the last of this backward."""
        return self._last

    def buffer(self):
        """The vector."""
        return self._buffer

    def set_buffer(self, buffer):
        """Put another vector in its place."""
        self._buffer = buffer

    def gradients(self):
        """The gradients in their own shapes."""
        parts = self._buffer.split([p.numel() for p in self._parameters])
        return [part.view(p.shape) for part, p in zip(parts, self._parameters)]

    def parameters(self):
        """Whose gradients they are."""
        return list(self._parameters)


def _cut(parameters, limits):
    """Lists of parameters of one dtype whose bytes reach a limit: the first the first limit, the others the last."""
    made, open_, closed = [], {}, {}
    for p in parameters:
        bucket = open_.setdefault(p.dtype, [])
        bucket.append(p)
        if sum([q.numel() * q.element_size() for q in bucket]) >= limits[min(closed.get(p.dtype, 0), len(limits) - 1)]:
            made.append(open_.pop(p.dtype))
            closed[p.dtype] = closed.get(p.dtype, 0) + 1
    return made + list(open_.values())


class Reducer:
    """Averages the gradients of `parameters` over a group when a backward that followed a call has made them.

    PyTorch cuts them into one bucket first and, when it has seen one backward, into some in the order in which they are made; sums around
    a ring depend on that. unused: parameters may get no gradient.
    """

    def __init__(self, parameters, group, cap, unused):
        self.parameters, self.group, self.unused, self.hook, self.state = parameters, group, unused, None, None
        self._limits = [_FIRST, _CAP] if cap is None else [int(cap * (1 << 20))]
        self._buckets = _cut(parameters, self._limits)[::-1] if unused else _cut(parameters, [float("inf")])
        self._made, self._armed, self._queued, self._rebuilt = {}, False, False, unused
        for p in parameters:
            p.register_post_accumulate_grad_hook(self._ready)

    def arm(self):
        """A call has happened, whose backward is to be averaged. RuntimeError when the last one's made only some of the gradients."""
        missing = [k for k, p in enumerate(self.parameters) if p not in self._made]
        if self._armed and self._made and missing:
            raise RuntimeError(_UNFINISHED.format(self.group.rank(), " ".join(map(str, missing))))
        self._made, self._armed = {}, True

    def disarm(self):
        """The next backward is not averaged."""
        self._made, self._armed = {}, False

    def _ready(self, p):
        if not self._armed:
            return
        self._made[p] = True
        if not self._queued:
            self._queued = True
            torch.autograd.Variable._execution_engine.queue_callback(self._finish)

    def _finish(self):
        self._queued = False
        used = None
        if self.unused and self.group.size() > 1:
            used = torch.tensor([int(p in self._made) for p in self.parameters], dtype=torch.int32)
            plain.all_reduce(used, group=self.group)
            used = dict(zip(self.parameters, used.tolist()))
        elif not self.unused and len(self._made) < len(self.parameters):
            return                             # arm() will say so
        for k, parameters in enumerate(self._buckets):
            bucket = GradBucket(k, k == len(self._buckets) - 1, parameters)
            if self.hook is None:
                whole = bucket.buffer().mul_(1 / self.group.size())
                plain.all_reduce(whole, group=self.group)
            else:
                whole = self.hook(self.state, bucket).wait()
            bucket.set_buffer(whole[0] if isinstance(whole, (list, tuple)) else whole)
            with torch.no_grad():
                for p, g in zip(parameters, bucket.gradients()):
                    if used is None or used[p]:
                        if p.grad is None:
                            p.grad = g.clone()
                        else:
                            p.grad.copy_(g)
        if not self._rebuilt:
            self._rebuilt, self._buckets = True, _cut(list(self._made), self._limits)
        self.disarm()
