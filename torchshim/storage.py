"""torch.storage: the classes of storages."""
from .tensor.api.storages import TypedStorage, UntypedStorage

__all__ = ["UntypedStorage", "TypedStorage"]
