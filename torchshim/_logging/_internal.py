"""The inner module of `torch._logging`, for programs that format its logs or write to one themselves."""
import contextlib
import functools
import logging
import warnings

from ..dropin import missing_attribute as _missing_attribute


def _default_formatter():
    """A formatter of log lines."""
    return logging.Formatter("%(levelname)s %(message)s")


DEFAULT_FORMATTER = _default_formatter()


def _init_logs(log_file_name=None):
    """Nothing: the parts that would log do not exist."""


def getArtifactLogger(module_qname, artifact_name):
    """A logger of its own, quiet until the program gives it a level and a handler."""
    log = logging.getLogger(f"{module_qname}.__{artifact_name}")
    log.artifact_name, log.propagate = artifact_name, False
    return log


def trace_structured(name, *args, **options):
    """Nothing: no structured trace is written."""


@functools.lru_cache(None)
def warning_once(logger_obj, *args, **kwargs):
    """logger_obj.warning(...), once for the same arguments."""
    logger_obj.warning(*args, **kwargs)


class LazyString:
    """Text that is made when it is asked for: func(*args, **kwargs)."""

    def __init__(self, func, *args, **kwargs):
        self.func, self.args, self.kwargs = func, args, kwargs

    def __str__(self):
        return self.func(*self.args, **self.kwargs)


@contextlib.contextmanager
def hide_warnings(warn_filter):
    """A context without those warnings for which warn_filter(message, category, filename, lineno, file, line) is true."""
    shown = warnings.showwarning
    warnings.showwarning = lambda *a, **k: None if warn_filter(*a, **k) else shown(*a, **k)
    try:
        yield
    finally:
        warnings.showwarning = shown


__getattr__ = _missing_attribute(__name__)
