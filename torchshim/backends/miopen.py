"""torch.backends.miopen: AMD's library of convolutions, which is not used."""
immediate = False


def flags(immediate=False):
    """A context that changes nothing."""
    import contextlib
    return contextlib.nullcontext()


def set_flags(_immediate=None):
    """(False,): nothing to switch."""
    return (False,)
