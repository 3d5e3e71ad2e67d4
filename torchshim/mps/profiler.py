"""torch.mps.profiler: Apple's profiler of a device that is not there: everything refuses."""


def _refuse(*args, **kwargs):
    raise RuntimeError("Cannot execute profilerStartTrace() without MPS backend.")


start = stop = profile = metal_capture = _refuse


def is_metal_capture_enabled():
    """False."""
    return False


is_capturing_metal = is_metal_capture_enabled
