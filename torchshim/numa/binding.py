"""torch.numa.binding: to which processors a started process is bound. No process is started here, so they are options only."""
import dataclasses
import enum

__all__ = ["AffinityMode", "NumaOptions"]


class AffinityMode(str, enum.Enum):
    """What a process is bound to."""
    NODE = "node"
    SOCKET = "socket"
    EXCLUSIVE = "exclusive"
    CORE_COMPLEX = "core-complex"


@dataclasses.dataclass(frozen=True)
class NumaOptions:
    """How processes are bound, and whether they start all the same where that fails."""
    affinity_mode: AffinityMode
    should_fall_back_if_binding_fails: bool = False
