"""torch.accelerator.graphs: recorded work; making it refuses."""
from . import Graph        # noqa: F401
