"""torch.return_types."""
from .tensor.api.return_types import ALL as _all

globals().update(_all)
all_return_types = [_all[_name] for _name in sorted(_all)]
__all__ = ["pytree_register_structseq", "all_return_types", *sorted(_all)]


def pytree_register_structseq(cls):
    """Have torch.utils._pytree take a class of named results apart: its fields are its leaves."""
    from .utils._pytree import register_pytree_node
    register_pytree_node(cls, lambda x: (list(x), None), lambda values, context: cls(values))
