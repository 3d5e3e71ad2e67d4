"""torch.distributed.tensor.experimental: plain tensors beside DTensors, and functions of the parts."""
import contextlib
import functools

from ...dropin import missing_attribute as _missing_attribute
from .._absent import absent_names
from ...tensor.core.tensor import Tensor
from ...utils import _pytree
from .._absent import absent_names
from . import _api

globals().update(absent_names(__name__, functions="context_parallel register_sharding"))


@contextlib.contextmanager
def implicit_replication():
    """A context in which plain tensors beside DTensors count as replicated."""
    _api._implicit.append(True)
    try:
        yield
    finally:
        _api._implicit.pop()


def local_map(func=None, out_placements=None, in_placements=None, in_grad_placements=None, device_mesh=None, *, redistribute_inputs=False,
              track_variant_dims=False):
    """A function that gives `func` the parts of DTensors and makes DTensors, placed as `out_placements` say, of the tensors it returns.

    in_placements: one for each argument that is a tensor; ValueError where a DTensor lies otherwise, unless `redistribute_inputs`.
    """
    if func is None:
        return functools.partial(local_map, out_placements=out_placements, in_placements=in_placements,
                                 in_grad_placements=in_grad_placements, device_mesh=device_mesh, redistribute_inputs=redistribute_inputs)

    @functools.wraps(func)
    def mapped(*args, **kwargs):
        flat, tree = _pytree.tree_flatten(args)
        mesh, seen = device_mesh, False
        for k, x in enumerate(flat):
            if not isinstance(x, _api.DTensor):
                continue
            mesh, seen = mesh or x.device_mesh, True
            wanted = None if in_placements is None else in_placements[k]
            if wanted is not None and x.placements != tuple(wanted):
                if not redistribute_inputs:
                    raise ValueError(f"arg {x} in local_map has a mismatched placements: arg placements is {x.placements} but the input "
                                     f"placements is {wanted}! If redistribute_inputs is wanted, set redistribute_inputs=True to "
                                     "local_map.")
                x = x.redistribute(placements=wanted)
            flat[k] = x.to_local()
        out = func(*_pytree.tree_unflatten(flat, tree), **kwargs)
        if not seen:
            return out
        results, tree = _pytree.tree_flatten(out)
        each = out_placements if isinstance(out_placements, tuple) else (out_placements,) * len(results)
        if len(each) != len(results):
            raise AssertionError(f"local_map requires one PlacementType be provided for each output value, received {len(each)} "
                                 f"out_placements but {len(results)} is expected!")
        made = [_api.DTensor.from_local(x, mesh, p) if isinstance(x, Tensor) and p is not None else x for x, p in zip(results, each)]
        return _pytree.tree_unflatten(made, tree)
    return mapped


globals().update(absent_names(__name__, functions="context_parallel register_sharding"))
__getattr__ = _missing_attribute(__name__)
