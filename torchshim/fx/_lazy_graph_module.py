"""torch.fx._lazy_graph_module: GraphModules whose code is written when it is asked for. Here it is written at once."""
from ..dropin import missing_attribute as _missing_attribute
from .graph_module import GraphModule


def _make_graph_module(*args, graph_module_cls=None, **kwargs):
    """A GraphModule, or one of another class."""
    return (GraphModule if graph_module_cls is None else graph_module_cls)(*args, **kwargs)


__getattr__ = _missing_attribute(__name__)
