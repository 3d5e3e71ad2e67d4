"""torch.backends.mha: the fast path of attention modules."""
_fastpath = True


def get_fastpath_enabled():
    """Whether the fast path is allowed. Modules give the same numbers either way, but for masks of numbers and queries that see nothing."""
    return _fastpath


def set_fastpath_enabled(value):
    """Allow or forbid it."""
    global _fastpath
    _fastpath = value
