"""How DistributedDataParallel combines gradients, as functions `(state, bucket) -> Future of the bucket's gradients`."""
import torchshim as torch

from .... import distributed as dist
from ....dropin import missing_attribute as _missing_attribute
from ....futures import Future

__all__ = ["allreduce_hook", "fp16_compress_hook", "bf16_compress_hook", "fp16_compress_wrapper", "bf16_compress_wrapper", "noop_hook"]


def _given(tensor):
    made = Future()
    made.set_result(tensor)
    return made


def _mean(process_group, tensor):
    group = dist.group.WORLD if process_group is None else process_group
    tensor.div_(group.size())
    dist.all_reduce(tensor, group=group)
    return tensor


def allreduce_hook(process_group, bucket):
    """The gradients' mean over all processes."""
    return _given(_mean(process_group, bucket.buffer()))


def noop_hook(_, bucket):
    """The gradients as they are."""
    return _given(bucket.buffer())


def _compressed(process_group, bucket, dtype):
    whole = bucket.buffer()
    return _given(whole.copy_(_mean(process_group, whole.to(dtype))))


def fp16_compress_hook(process_group, bucket):
    """The mean of the gradients as float16, in their own dtype."""
    return _compressed(process_group, bucket, torch.float16)


def bf16_compress_hook(process_group, bucket):
    """The mean of the gradients as bfloat16, in their own dtype."""
    return _compressed(process_group, bucket, torch.bfloat16)


def _wrapped(hook, dtype):
    def compressed(hook_state, bucket):
        whole = bucket.buffer()
        bucket.set_buffer(whole.to(dtype))
        return hook(hook_state, bucket).then(lambda done: whole.copy_(done.value()))
    return compressed


def fp16_compress_wrapper(hook):
    """A hook that gets the gradients as float16."""
    return _wrapped(hook, torch.float16)


def bf16_compress_wrapper(hook):
    """A hook that gets the gradients as bfloat16."""
    return _wrapped(hook, torch.bfloat16)


__getattr__ = _missing_attribute(__name__)
