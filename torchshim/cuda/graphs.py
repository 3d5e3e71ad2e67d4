"""torch.cuda.graphs: recorded work that is repeated. What repeats becomes one XLA program by itself here, and these refuse."""
from . import CUDAGraph, graph, graph_pool_handle, is_current_stream_capturing, make_graphed_callables

__all__ = ["CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing", "make_graphed_callables"]
