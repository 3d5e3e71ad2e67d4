"""torch.multiprocessing.pool."""
from multiprocessing.pool import *            # noqa: F403
from multiprocessing.pool import Pool         # noqa: F401
