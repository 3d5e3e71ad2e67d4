"""torch.cuda.tunable: a choice among matrix products by measuring them. XLA chooses by itself, and nothing is tuned or written here."""
from __future__ import annotations

__all__ = ["enable", "get_filename", "get_max_tuning_duration", "get_max_tuning_iterations", "get_results", "get_rotating_buffer_size",
           "get_validators", "is_enabled", "mgpu_tune_gemm_in_file", "read_file", "record_untuned_enable", "record_untuned_is_enabled",
           "set_filename", "set_max_tuning_duration", "set_max_tuning_iterations", "set_numerical_check_tolerances",
           "set_rotating_buffer_size", "tune_gemm_in_file", "tuning_enable", "tuning_is_enabled"]


def _none(name):
    raise NotImplementedError(f"torchshim: torch.cuda.tunable.{name}; XLA chooses among matrix products by itself")


def is_enabled():
    """False."""
    return False


tuning_is_enabled = record_untuned_is_enabled = is_enabled


def enable(val=True):
    """NotImplementedError unless it is switched off."""
    if val:
        _none("enable")


def tuning_enable(val=True):
    """NotImplementedError unless it is switched off."""
    if val:
        _none("tuning_enable")


def record_untuned_enable(val=True):
    """NotImplementedError unless it is switched off."""
    if val:
        _none("record_untuned_enable")


def get_results():
    """(): nothing was tuned."""
    return ()


get_validators = get_results


def get_max_tuning_duration():
    """0 milliseconds."""
    return 0


get_max_tuning_iterations = get_rotating_buffer_size = get_max_tuning_duration


def get_filename():
    """"": nothing is written."""
    return ""


def set_max_tuning_duration(duration):
    """Accepted: nothing is tuned."""


def set_max_tuning_iterations(iterations):
    """Accepted: nothing is tuned."""


def set_filename(filename, insert_device_ordinal=False):
    """Accepted: nothing is written."""


def set_rotating_buffer_size(buffer_size):
    """Accepted: nothing is tuned."""


def set_numerical_check_tolerances(enable, atol=1e-5, rtol=1e-5):
    """Accepted: nothing is tuned."""


def read_file(filename=None):
    """NotImplementedError."""
    _none("read_file")


def tune_gemm_in_file(filename):
    """NotImplementedError."""
    _none("tune_gemm_in_file")


def mgpu_tune_gemm_in_file(filename_pattern, num_gpus):
    """NotImplementedError."""
    _none("mgpu_tune_gemm_in_file")
