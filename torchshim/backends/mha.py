"""torch.backends.mha: the fast path of attention modules."""
_fastpath = True


def get_fastpath_enabled():
    """Whether the fast path is allowed. Modules give the same numbers either way."""
    return _fastpath


def set_fastpath_enabled(value):
    """Kept."""
    global _fastpath
    _fastpath = value
