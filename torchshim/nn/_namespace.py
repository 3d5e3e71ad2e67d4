"""What torch.nn offers beyond its functions and parameters; imported when the first of it is asked for."""
from . import grad, init, modules, utils       # noqa: F401
from .modules import *                         # noqa: F401,F403
from .parallel import DataParallel             # noqa: F401


def factory_kwargs(kwargs):
    """The device, dtype and memory format among the arguments of a module, those under "factory_kwargs" included. TypeError for others."""
    if kwargs is None:
        return {}
    known = ("device", "dtype", "memory_format")
    unknown = set(kwargs) - {*known, "factory_kwargs"}
    if unknown:
        raise TypeError(f"unexpected kwargs {unknown}")
    made = dict(kwargs.get("factory_kwargs", {}))
    for k in known:
        if k in kwargs:
            if k in made:
                raise TypeError(f"{k} specified twice, in **kwargs and in factory_kwargs")
            made[k] = kwargs[k]
    return made
