"""torch.backends.mps: Apple's GPUs are not used."""


def is_built():
    """False."""
    return False


def is_available():
    """False."""
    return False


def is_macos_or_newer(major, minor):
    """Whether this is macOS of at least that version."""
    import platform
    if platform.system() != "Darwin":
        return False
    return tuple(int(p) for p in platform.mac_ver()[0].split(".")[:2]) >= (major, minor)


def is_macos13_or_newer(minor=0):
    """The same for macOS 13."""
    return is_macos_or_newer(13, minor)


def get_name():
    raise RuntimeError("MPS is not available")


def get_core_count():
    raise RuntimeError("MPS is not available")
