"""torch.distributed.elastic.utils.logging."""
import inspect
import logging
import os


def get_logger(name=None):
    """A logger, of the caller's module by default; LOGLEVEL of the environment is its level."""
    made = logging.getLogger(name or inspect.stack()[1].frame.f_globals.get("__name__", "unknown"))
    made.setLevel(os.environ.get("LOGLEVEL", "WARNING"))
    return made
