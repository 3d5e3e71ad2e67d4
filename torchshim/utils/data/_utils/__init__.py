"""The parts of the DataLoader."""
import atexit
import sys

from ...._utils import ExceptionWrapper

IS_WINDOWS = sys.platform == "win32"
HAS_NUMPY = True                               # JAX needs it
MP_STATUS_CHECK_INTERVAL = 5.0                 # seconds between two looks whether the other process lives
python_exit_status = False                     # whether Python is about to end


def _set_python_exit_flag():
    global python_exit_status
    python_exit_status = True


atexit.register(_set_python_exit_flag)

from . import collate, fetch, pin_memory, signal_handling, worker          # noqa: E402  (they ask for the names above)

__all__ = ["ExceptionWrapper", "collate", "fetch", "pin_memory", "signal_handling", "worker"]
