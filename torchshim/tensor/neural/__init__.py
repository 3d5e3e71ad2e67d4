"""Functions of neural networks on tensors: what torch.nn.functional offers, and the few that `torch` itself has."""
from . import toplevel
