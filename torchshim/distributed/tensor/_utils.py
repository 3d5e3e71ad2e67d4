"""Which part of a tensor a process has."""

__all__ = ["compute_local_shape_and_global_offset"]


def compute_local_shape_and_global_offset(global_shape, mesh, placements, skip_offset=False):
    """(shape, offsets) of this process's part: all of it."""
    return tuple(global_shape), () if skip_offset else (0,) * len(global_shape)
