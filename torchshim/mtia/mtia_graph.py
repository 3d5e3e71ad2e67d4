"""torch.mtia.mtia_graph: recorded work; making it refuses."""
from . import MTIAGraph, graph, graph_pool_handle        # noqa: F401
