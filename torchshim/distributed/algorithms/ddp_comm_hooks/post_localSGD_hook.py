"""Gradients averaged within subgroups, once training has begun well, as processes that average parameters later want it."""
from .... import distributed as dist
from .default_hooks import allreduce_hook


class PostLocalSGDState:
    """Which groups, and from which iteration (start_localSGD_iter) on gradients stay within `subgroup`."""
    __slots__ = ["iter", "post_local_gradient_allreduce", "process_group", "start_localSGD_iter", "subgroup"]

    def __init__(self, process_group, subgroup, start_localSGD_iter, post_local_gradient_allreduce=True):
        self.process_group, self.subgroup, self.iter = process_group, subgroup, 0
        self.start_localSGD_iter, self.post_local_gradient_allreduce = start_localSGD_iter, post_local_gradient_allreduce

    def maybe_increase_iter(self, bucket):
        """Count a backward at its last bucket."""
        if bucket.is_last():
            self.iter += 1


def post_localSGD_hook(state, bucket):
    """The gradients' mean over all processes at first, then over the subgroup, or none."""
    whole = state.process_group if state.process_group is not None else dist.group.WORLD
    if state.iter < state.start_localSGD_iter:
        state.maybe_increase_iter(bucket)
        return allreduce_hook(whole, bucket)
    if not state.post_local_gradient_allreduce:
        from .default_hooks import noop_hook
        return noop_hook(None, bucket)
    if state.subgroup is None:
        state.subgroup, _ = dist.new_subgroups()
    return allreduce_hook(state.subgroup, bucket)
