"""torch.distributed.nn: collectives through which gradients flow (`functional`)."""
from .functional import *  # noqa: F403
