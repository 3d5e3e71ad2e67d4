"""torch.xpu.graphs: recorded work on Intel's GPUs; making it refuses."""
from . import XPUGraph, graph, graph_pool_handle, make_graphed_callables        # noqa: F401
