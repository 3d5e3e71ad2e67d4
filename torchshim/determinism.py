"""torch.use_deterministic_algorithms and its company. Every operator here is deterministic; what the mode adds is one tier: the same
expression gives the same bits whether it is met for the first time or the thousandth."""
from .engine.compile import policy
from .tensor.core import settings

_MODES = {"default": 0, "warn": 1, "error": 2}
_mode, _warn_only = 0, False


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Keep to the tier that runs operator by operator (`mode` True), or compile what pays again (False).

    No operator here is nondeterministic. Those for which torch has no deterministic algorithm on the CPU raise all the same, or warn
    with `warn_only`: a program then does not pass here and fail there.
    """
    global _mode, _warn_only
    for name, value, place in (("mode", mode, " (position 1)"), ("warn_only", warn_only, "")):
        if not isinstance(value, bool):
            raise TypeError(f"_set_deterministic_algorithms(): argument '{name}'{place} must be bool, not {type(value).__name__}")
    _mode, _warn_only = (1 if warn_only else 2) if mode else 0, warn_only
    settings.deterministic = _mode
    policy.pin("operators" if mode else None)


def set_deterministic_debug_mode(debug_mode):
    """The same by torch's debug modes: 0 or "default", 1 or "warn", 2 or "error"."""
    if not isinstance(debug_mode, (str, int)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in _MODES:
            raise RuntimeError(f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}")
        debug_mode = _MODES[debug_mode]
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def are_deterministic_algorithms_enabled():
    """Whether the mode is on."""
    return _mode > 0


def is_deterministic_algorithms_warn_only_enabled():
    """Whether the mode was set with `warn_only`."""
    return _warn_only


def get_deterministic_debug_mode():
    """0, 1 or 2, as in `set_deterministic_debug_mode`."""
    return _mode
