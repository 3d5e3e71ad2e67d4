"""torch.fx: programs as graphs that Python can read, change and run again."""
from .._toplevel import _assert, _assert_async
from ..dropin import missing_attribute as _missing_attribute
from ._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from .graph import CodeGen, Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Proxy
from .subgraph_rewriter import replace_pattern

has_side_effect(_assert)
has_side_effect(_assert_async)

__all__ = ["CodeGen", "Graph", "GraphModule", "Interpreter", "Node", "PH", "Proxy", "ProxyableClassMeta", "Tracer", "Transformer",
           "has_side_effect", "map_arg", "replace_pattern", "symbolic_trace", "wrap"]
__getattr__ = _missing_attribute(__name__, lazy=("_compatibility", "_pytree", "annotate", "codegen", "experimental", "graph",
                                                 "graph_module", "immutable_collections", "interpreter", "node", "operator_schemas",
                                                 "passes", "proxy", "subgraph_rewriter", "tensor_type", "traceback"))
