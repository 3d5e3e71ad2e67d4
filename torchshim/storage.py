"""torch.storage: the classes of storages, and how plain pickles hold them."""
import copyreg as _copyreg
import io as _io

from .tensor.api.storages import TypedStorage, UntypedStorage
from .tensor.core.layout import layout as _layout

__all__ = ["UntypedStorage", "TypedStorage"]


def _load_from_bytes(b):
    """A storage from the bytes that a plain pickle of a tensor holds."""
    from .serialization import load
    return load(_io.BytesIO(b), weights_only=False)


def _reduce_storage(storage):
    """Plain pickles hold a storage as a file of the older format."""
    from .serialization import save
    out = _io.BytesIO()
    save(storage, out, _use_new_zipfile_serialization=False)
    return _load_from_bytes, (out.getvalue(),)


def _reduce_layout(x):
    from .serialization import _get_layout
    return _get_layout, (repr(x),)


_copyreg.pickle(_layout, _reduce_layout)
_copyreg.pickle(TypedStorage, _reduce_storage)
_copyreg.pickle(UntypedStorage, _reduce_storage)
