"""What torch.nn offers beyond its functions and parameters; imported when the first of it is asked for."""
from . import grad, init, modules, utils       # noqa: F401
from .modules import *                         # noqa: F401,F403
from .parallel import DataParallel             # noqa: F401
