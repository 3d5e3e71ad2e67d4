"""torch.distributed.device_mesh over the one process there is: a mesh whose every dimension has the size 1.

A mesh of more processes raises RuntimeError, as in torch when the world is smaller (jax.sharding.Mesh is one of devices).
"""
from __future__ import annotations

import math
import os

from . import ProcessGroup, get_default_backend_for_device, init_process_group, is_initialized, new_group

__all__ = ["init_device_mesh", "DeviceMesh"]


class DeviceMesh:
    """Processes in a grid: `mesh` is an int32 tensor of their ranks, all 0; `mesh_dim_names` names its dimensions or is None."""

    mesh_dim_names = property(lambda self: self._mesh_dim_names, doc="The names of its dimensions, or None.")

    def __init__(self, device_type, mesh=None, *, mesh_dim_names=None, backend_override=None, _init_backend=True, _rank=None):
        import torchshim as torch
        self.device_type = device_type
        self.mesh = torch.as_tensor(mesh, dtype=torch.int32, device="cpu")
        self._mesh_dim_names = tuple(mesh_dim_names) if mesh_dim_names else None
        if self.mesh.numel() != 1:
            raise RuntimeError(f"Mesh should not be bigger than default world size 1, but found {self.mesh.numel()} ranks!")
        if self.mesh.item() != 0:
            raise RuntimeError(f"rank {self.mesh.item()} is not part of a group of one process")
        if not is_initialized():
            if "RANK" in os.environ and "WORLD_SIZE" in os.environ:
                init_process_group(get_default_backend_for_device(device_type))
            else:
                init_process_group(get_default_backend_for_device(device_type), rank=0, world_size=1)
        self._groups = [new_group([0]) for _ in range(self.mesh.ndim)]

    @classmethod
    def from_group(cls, group, device_type, mesh=None, *, mesh_dim_names=None):
        """The mesh of a group, or of a list of groups one a dimension."""
        groups = [group] if isinstance(group, ProcessGroup) else list(group)
        made = cls(device_type, [0] if mesh is None and len(groups) == 1 else mesh, mesh_dim_names=mesh_dim_names)
        made._groups = groups
        return made

    @property
    def ndim(self):
        return self.mesh.ndim

    @property
    def shape(self):
        return tuple(self.mesh.shape)

    def size(self, mesh_dim=None):
        """1: the number of processes, in all or along a dimension."""
        return self.mesh.numel() if mesh_dim is None else self.mesh.size(mesh_dim)

    def get_rank(self):
        """0."""
        return 0

    def _dimension(self, mesh_dim, *more):
        if mesh_dim is None:
            if self.ndim > 1:
                raise RuntimeError(f"Found the DeviceMesh have {self.ndim} dimensions",
                                   "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.", *more)
            return 0
        return self._named((mesh_dim,))[0] if isinstance(mesh_dim, str) else mesh_dim

    def _named(self, names):
        if self.mesh_dim_names is None:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        if not set(names) <= set(self.mesh_dim_names):
            raise KeyError(f"Invalid mesh_dim_names {tuple(names)} specified. Valid mesh_dim_names are {list(self.mesh_dim_names)}.")
        return [self.mesh_dim_names.index(name) for name in names]

    def get_local_rank(self, mesh_dim=None):
        """0: this process's place along a dimension."""
        self._dimension(mesh_dim)
        return 0

    def get_coordinate(self):
        """This process's place: a zero for each dimension."""
        return (0,) * self.ndim

    def get_group(self, mesh_dim=None):
        """The group along a dimension (a number or a name; needed where there are several)."""
        return self._groups[self._dimension(mesh_dim, "If you want to get the list of all the ProcessGroups in the DeviceMesh,"
                                            "please use `get_all_groups()` instead.")]

    def get_all_groups(self):
        """The groups of all dimensions."""
        return list(self._groups)

    def __getitem__(self, mesh_dim_names):
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        return self._part(self._named(names), names)

    def _part(self, dims, names):
        made = DeviceMesh(self.device_type, self.mesh.reshape((1,) * len(dims)), mesh_dim_names=names)
        made._groups = [self._groups[d] for d in dims]
        return made

    def _flatten(self, mesh_dim_name=None, backend_override=None):
        """One dimension of all."""
        names = self.mesh_dim_names
        return self._part([0], (mesh_dim_name or "_".join(names),) if mesh_dim_name or names else None)

    def __eq__(self, other):
        return self is other or (isinstance(other, DeviceMesh) and (self.device_type, self.shape, self.mesh_dim_names)
                                 == (other.device_type, other.shape, other.mesh_dim_names))

    def __hash__(self):
        return hash((self.device_type, self.shape, self.mesh_dim_names))

    def __enter__(self):
        _entered.append(self)
        return self

    def __exit__(self, *exc):
        _entered.pop()

    def __repr__(self):
        sizes = [f"{name}={n}" for name, n in zip(self.mesh_dim_names, self.shape)] if self.mesh_dim_names else None
        shape = "(" + ", ".join(sizes) + ")" if sizes else str(self.shape)
        return f"DeviceMesh({shape}, '{self.device_type}', stride={((),) * self.ndim})"


_entered: list = []


def current_mesh():
    """The mesh whose context is the innermost. RuntimeError outside of all."""
    if not _entered:
        raise RuntimeError("No device mesh is currently active!")
    return _entered[-1]


def init_device_mesh(device_type, mesh_shape, *, mesh_dim_names=None, backend_override=None):
    """The mesh of shape `mesh_shape` over all processes; begins the default group where there is none.

    Raises RuntimeError for names that repeat or are not one a dimension, a device type with an index, a shape of more than one process.
    """
    import torchshim as torch
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise RuntimeError(f"Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names {mesh_dim_names}")
        if len(mesh_shape) != len(mesh_dim_names):
            raise RuntimeError("mesh_shape and mesh_dim_names should have same length! "
                               f"Found len(mesh_dim_names): {len(mesh_dim_names)} and len(mesh_shape):{len(mesh_shape)}.")
    if device_type and not device_type.isalpha():
        raise RuntimeError(f"Device type with index is not supported but got {device_type}. ",
                           "If you maintained a 'torch.device' object, it's recommended to pass in 'device.type'.")
    return DeviceMesh(device_type, torch.arange(math.prod(mesh_shape), dtype=torch.int32).view(tuple(mesh_shape)),
                      mesh_dim_names=mesh_dim_names)
