"""torch.backends.opt_einsum: who orders the products of einsum."""
from .switches import setter as _setter

enabled, strategy = True, "auto"


def is_available():
    """Whether the package opt_einsum can be imported; JAX needs it, so it can."""
    return get_opt_einsum() is not None


def get_opt_einsum():
    """The module, or None."""
    try:
        import opt_einsum
    except ImportError:
        return None
    return opt_einsum


set_flags, flags = _setter(__name__, enabled="enabled", strategy="strategy")
