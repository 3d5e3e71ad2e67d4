"""The modules of torch.ao.nn.intrinsic."""
from .fused import *  # noqa: F401,F403
