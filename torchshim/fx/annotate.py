"""torch.fx.annotate: types of steps."""
from .proxy import Proxy


def annotate(val, type):
    """Give a Proxy's step a type, and return the Proxy; other values as they are. RuntimeError for a step that has one."""
    if isinstance(val, Proxy):
        if val.node.type:
            raise RuntimeError(f"Tried to annotate a value that already had a type on it! Existing type is {val.node.type} and new type is "
                               f"{type}. This could happen if you tried to annotate a function parameter value (in which case you should "
                               "use the type slot on the function signature) or you called annotate on the same value twice")
        val.node.type = type
    return val
