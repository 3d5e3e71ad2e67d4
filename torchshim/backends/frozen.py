"""Whether the switches of torch.backends may be set by assignment. torch's own tests forbid it, so that none forgets to set one back."""
import contextlib
import types

from ..dropin.names import to_torch

_allowed = True


def disable_global_flags():
    """Forbid assignments to switches, here and in what this program runs; contexts (`flags(...)`) still set them."""
    global _allowed
    _allowed = False


def flags_frozen():
    """Whether assignments to switches are forbidden."""
    return not _allowed


@contextlib.contextmanager
def allow_nonbracketed_mutation():
    """A context in which assignments are allowed."""
    global _allowed
    before, _allowed = _allowed, True
    try:
        yield
    finally:
        _allowed = before


class Switches(types.ModuleType):
    """A module whose switches, named in its `_SWITCHES`, refuse assignments where these are forbidden: RuntimeError, as in torch."""

    def __setattr__(self, name, value):
        if not _allowed and name in self._SWITCHES:
            raise RuntimeError(f"not allowed to set {to_torch(self.__name__)} flags after disable_global_flags; please use flags() context "
                               "manager instead")
        super().__setattr__(name, value)


# What programs read and set as a variable of torch.backends, which the body of a class would rename. Setting it changes nothing, as in
# torch.
Backends = type("Backends", (Switches,),
                {"__allow_nonbracketed_mutation_flag": property(lambda module: _allowed, lambda module, allowed: None)})
