"""torch.distributed.elastic.utils."""
import os
import string

from ....dropin import missing_attribute as _missing_attribute


def get_env_variable_or_raise(env_name):
    """A variable of the environment. ValueError where it is not set."""
    value = os.environ.get(env_name)
    if value is None:
        raise ValueError(f"Environment variable {env_name} expected, but not set")
    return value


def get_socket_with_port():
    """A socket bound to a free port of this machine."""
    from .distributed import get_socket_with_port as made
    return made()


class macros:
    """`macros.local_rank` in an argument stands for each process's own number."""
    local_rank = "${local_rank}"

    @staticmethod
    def substitute(args, local_rank):
        """The arguments with the number put in."""
        return [string.Template(a).safe_substitute(local_rank=local_rank) if isinstance(a, str) else a for a in args]


__getattr__ = _missing_attribute(__name__, lazy=("distributed", "logging"))
