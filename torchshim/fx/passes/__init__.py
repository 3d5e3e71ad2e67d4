"""torch.fx.passes: what is done with whole graphs."""
from ...dropin import missing_attribute as _missing_attribute

__getattr__ = _missing_attribute(__name__, lazy=("dialect", "fake_tensor_prop", "graph_drawer", "graph_manipulation", "infra", "operator_support",
                                                       "shape_prop", "split_module", "tools_common", "utils"))
