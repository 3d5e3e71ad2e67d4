"""How a script tells torchrun of its error: with no torchrun above, errors pass as they are."""
import functools

__all__ = ["record"]


def record(fn, error_handler=None):
    """A decorator of the main function: it runs as it is and raises what it raises."""
    @functools.wraps(fn)
    def run(*args, **kwargs):
        return fn(*args, **kwargs)
    return run
