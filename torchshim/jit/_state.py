"""torch.jit._state: whether TorchScript is on, and its table of compiled classes, which stays empty as nothing is compiled."""
import os

from ..dropin import missing_attribute as _missing_attribute


class EnabledProxy:
    """Whether TorchScript is on: what the environment's PYTORCH_JIT said when the program began, or what was said since.
    ValueError for a PYTORCH_JIT that is no answer."""

    def __init__(self):
        self.enabled = self.parse_env("PYTORCH_JIT", True, "> Using PyTorch JIT", "> PyTorch JIT DISABLED")

    def parse_env(self, name, default, true_message, false_message):
        """The answer of an environment variable; "1v" and "0v" say it aloud."""
        value = os.environ.get(name)
        if value is None:
            return default
        if value in ("1v", "0v"):
            print(true_message if value == "1v" else false_message)
        elif value.lower() not in ("1", "true", "yes", "0", "false", "no"):
            raise ValueError(f"Unknown setting of {name}. Try using 0 or 1.")
        return value.lower() in ("1", "true", "yes", "1v")

    def __bool__(self):
        return self.enabled


_enabled = EnabledProxy()
_script_classes = {}


def disable():
    """Note that TorchScript is off."""
    _enabled.enabled = False


def enable():
    """Note that TorchScript is on."""
    _enabled.enabled = True


def _clear_class_state():
    """Empty the table of compiled classes."""
    _script_classes.clear()


__getattr__ = _missing_attribute(__name__)
