"""torch.storage: the classes of storages."""
import io as _io

from .tensor.api.storages import TypedStorage, UntypedStorage

__all__ = ["UntypedStorage", "TypedStorage"]


def _load_from_bytes(b):
    """A storage from the bytes that a plain pickle of a tensor holds."""
    from .serialization import load
    return load(_io.BytesIO(b), weights_only=False)
