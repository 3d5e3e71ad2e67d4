"""How DistributedDataParallel combines gradients, as functions `(state, bucket) -> Future of the bucket's gradients`. There is one process:
gradients are averaged with nobody, but they pass through the types that a hook sends them in."""
import torchshim as torch

from ....dropin import missing_attribute as _missing_attribute
from ....futures import Future

__all__ = ["allreduce_hook", "fp16_compress_hook", "bf16_compress_hook", "fp16_compress_wrapper", "bf16_compress_wrapper", "noop_hook"]


def _given(tensor):
    made = Future()
    made.set_result(tensor)
    return made


def allreduce_hook(process_group, bucket):
    """The gradients' mean over all processes."""
    return _given(bucket.buffer())


def noop_hook(_, bucket):
    """The gradients as they are."""
    return _given(bucket.buffer())


def _passed(bucket, dtype):
    whole = bucket.buffer()
    return _given(whole.copy_(whole.to(dtype)))


def fp16_compress_hook(process_group, bucket):
    """The mean of the gradients as float16, in their own dtype."""
    return _passed(bucket, torch.float16)


def bf16_compress_hook(process_group, bucket):
    """The mean of the gradients as bfloat16, in their own dtype."""
    return _passed(bucket, torch.bfloat16)


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
