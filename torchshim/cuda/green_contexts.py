"""torch.cuda.green_contexts: parts of a GPU; refused."""
from . import _refused

__all__ = ["GreenContext"]


class GreenContext:
    """A part of a GPU's processors; making one refuses."""
    create = staticmethod(_refused.function("torch.cuda.green_contexts", "GreenContext.create"))
    max_workqueue_concurrency = staticmethod(_refused.function("torch.cuda.green_contexts", "GreenContext.max_workqueue_concurrency"))
    Stream = set_context = pop_context = _refused.function("torch.cuda.green_contexts", "GreenContext")

    def __new__(cls, *args, **kwargs):
        return cls.create()
