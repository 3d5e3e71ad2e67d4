"""torch.distributed.device_mesh: the processes of a program in a grid, with a group along each dimension.

A mesh of more processes than there are raises RuntimeError (jax.sharding.Mesh is one of devices).
"""
from __future__ import annotations

import math

from . import ProcessGroup, get_rank, get_world_size, group, init_process_group, is_initialized, new_group
from ._names import more

__all__ = ["init_device_mesh", "DeviceMesh"]


class DeviceMesh:
    """Processes in a grid: `mesh` is an int32 tensor of their ranks; `mesh_dim_names` names its dimensions or is None."""

    mesh_dim_names = property(lambda self: self._mesh_dim_names, doc="The names of its dimensions, or None.")

    def __init__(self, device_type, mesh=None, *, mesh_dim_names=None, backend_override=None, _init_backend=True, _rank=None, _groups=None):
        import torchshim as torch
        self.device_type = device_type
        self.mesh = torch.as_tensor(mesh, dtype=torch.int32, device="cpu")
        self._mesh_dim_names = tuple(mesh_dim_names) if mesh_dim_names else None
        if not is_initialized():
            init_process_group()
        ranks, world = self.mesh.reshape(-1).tolist(), get_world_size()
        if len(ranks) > world:
            raise RuntimeError(f"Mesh should not be bigger than default world size {world}, but found {len(ranks)} ranks!")
        if world == 1 and ranks != [0]:
            raise RuntimeError(f"rank {ranks} is not part of a group of one process")
        if len(set(ranks)) < len(ranks):
            raise ValueError(f"ranks list must not contain duplicate entries, got {ranks}")
        self._flat, self._groups = {}, []
        if _groups is not None or self.get_coordinate() is None:
            self._groups = _groups
        elif self.ndim == 1 and ranks == list(range(world)) and world > 1:
            self._groups = [group.WORLD]
        else:                                  # each process makes the groups it is in
            self._groups = [new_group(self._along(d), use_local_synchronization=world > 1) for d in range(self.ndim)]

    def _along(self, d):
        """The processes of this one's row along a dimension."""
        place = list(self.get_coordinate())
        place[d] = slice(None)
        return self.mesh[tuple(place)].tolist()

    @classmethod
    def from_group(cls, group, device_type, mesh=None, *, mesh_dim_names=None):
        """The mesh of a group, or of a list of groups one a dimension."""
        groups = [group] if isinstance(group, ProcessGroup) else list(group)
        ranks = groups[0]._ranks if mesh is None and len(groups) == 1 else mesh
        return cls(device_type, ranks, mesh_dim_names=mesh_dim_names, _groups=groups)

    @property
    def ndim(self):
        return self.mesh.ndim

    @property
    def shape(self):
        return tuple(self.mesh.shape)

    def size(self, mesh_dim=None):
        """The number of processes, in all or along a dimension."""
        return self.mesh.numel() if mesh_dim is None else self.mesh.size(mesh_dim)

    def get_rank(self):
        """This process's number among all."""
        return get_rank()

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
            raise KeyError(f"Invalid mesh_dim_names {tuple(names)} specified. Valid mesh_dim_names are "
                           f"{[*self.mesh_dim_names, *self._flat]}.")
        found = [self.mesh_dim_names.index(name) for name in names]
        if found != sorted(found):
            raise KeyError(f"Invalid mesh_dim_names {tuple(names)} specified. Mesh dim indices should be in ascending order.")
        return found

    def get_local_rank(self, mesh_dim=None):
        """This process's place along a dimension."""
        return self.get_coordinate()[self._dimension(mesh_dim)]

    def get_coordinate(self):
        """This process's place, a number for each dimension; None for one that is not in the mesh."""
        found = (self.mesh == get_rank()).nonzero().tolist()
        return tuple(found[0]) if found else None

    def get_group(self, mesh_dim=None):
        """The group along a dimension (a number or a name; needed where there are several)."""
        return self._groups[self._dimension(mesh_dim, "If you want to get the list of all the ProcessGroups in the DeviceMesh,"
                                            "please use `get_all_groups()` instead.")]

    def get_all_groups(self):
        """The groups of all dimensions."""
        return list(self._groups)

    def __getitem__(self, mesh_dim_names):
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        if len(names) == 1 and names[0] in self._flat:
            return self._flat[names[0]]
        return self._part(self._named(names), names)

    def _part(self, dims, names):
        """The mesh of some dimensions: this process's row of the others."""
        place = [slice(None) if d in dims else k for d, k in enumerate(self.get_coordinate())]
        return DeviceMesh(self.device_type, self.mesh[tuple(place)], mesh_dim_names=names, _groups=[self._groups[d] for d in dims])

    def _flatten(self, mesh_dim_name=None, backend_override=None):
        """One dimension of all."""
        names = self.mesh_dim_names
        name = mesh_dim_name or ("_".join(names) if names else None)
        if name not in self._flat or name is None:
            self._flat[name] = DeviceMesh(self.device_type, self.mesh.reshape(-1), mesh_dim_names=(name,) if name else None)
        return self._flat[name]

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
        steps = [(self.mesh.select(d, 1) - self.mesh.select(d, 0)).reshape(-1)[0].item() if n > 1 else () for d, n in enumerate(self.shape)]
        stride = ", ".join(map(str, steps))
        return f"DeviceMesh({shape}, '{self.device_type}', stride=({stride}{',' * (self.ndim == 1)}))"


def alone(mesh, name):
    """NotImplementedError for a mesh of more than one process."""
    if mesh.size() > 1:
        raise more(name)


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
