"""torch.fx.experimental.symbolic_shapes: questions about sizes. Sizes are numbers here, so all of them have answers."""


def guard_or_false(a):
    """Whether it is true."""
    return bool(a)


guard_or_true = statically_known_true = guard_size_oblivious = definitely_true = guard_or_false


def free_symbols(val):
    """The symbols in a size: none."""
    return set()


free_unbacked_symbols = free_symbols


def has_free_symbols(val):
    """Whether there are symbols: no."""
    return False


is_symbolic = has_free_symbols


class GuardOnDataDependentSymNode(RuntimeError):
    """A condition on a value that tracing does not know."""

    def __init__(self, cond, *args):
        super().__init__(*args)
        self.cond = cond
