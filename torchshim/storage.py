"""torch.storage: the classes of storages."""
from .tensor.untyped import TypedStorage, UntypedStorage

__all__ = ["UntypedStorage", "TypedStorage"]
