"""torch.utils._python_dispatch: names that libraries import. No call asks for such modes: entering one raises NotImplementedError."""


class TorchDispatchMode:
    """A mode that sees every operator, in torch."""

    def __enter__(self):
        raise NotImplementedError("torchshim: TorchDispatchMode; see jax.make_jaxpr and torchshim.explain for what runs")

    def __exit__(self, *exc):
        return False


def is_traceable_wrapper_subclass(t):
    """Whether a tensor wraps others through `__torch_dispatch__`: none does."""
    return False


def _get_current_dispatch_mode():
    """None: there are no modes."""
