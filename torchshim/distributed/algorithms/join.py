"""Training with uneven inputs: processes that have run out shadow the collectives of the others. One process runs out last and first."""
from __future__ import annotations

from abc import ABC, abstractmethod

from .._group import get_world_size
from .._names import more

__all__ = ["JoinHook", "Joinable", "Join"]


class JoinHook:
    """What a `Joinable` does after its process has run out of inputs."""

    def main_hook(self):
        """Called for each step of a process that goes on: never, where there is one process."""

    def post_hook(self, is_last_joiner):
        """Called when every process has run out."""


class Joinable(ABC):
    """Base class of what works with `Join`."""

    @abstractmethod
    def __init__(self):
        super().__init__()
        self._joinable = True

    @abstractmethod
    def join_hook(self, **kwargs):
        """The `JoinHook`; `kwargs` are those given to `Join`."""

    @property
    @abstractmethod
    def join_device(self):
        """The device that the collectives need."""

    @property
    @abstractmethod
    def join_process_group(self):
        """The group of the collectives."""


class Join:
    """A context for a loop over inputs of which processes may have different numbers.

    joinables: a list of `Joinable` of one process group. enable: False does nothing. throw_on_early_termination: raise in all processes
    when one runs out. kwargs go to each `join_hook`. ValueError for no joinables or several groups.
    """

    def __init__(self, joinables, enable=True, throw_on_early_termination=False, **kwargs):
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._hooks, self._enable = [j.join_hook(**kwargs) for j in joinables], enable
        group = joinables[0].join_process_group
        if any([j.join_process_group != group for j in joinables]):
            raise ValueError("Using join context manager with multiple process groups")
        if get_world_size(group) > 1 and enable:   # raises where no group was begun
            raise more("torch.distributed.algorithms.Join")

    def __enter__(self):
        return None

    def __exit__(self, kind, value, traceback):
        if self._enable and kind is None:
            for hook in self._hooks:
                hook.post_hook(True)

    @staticmethod
    def notify_join_context(joinable):
        """Tell the processes that have run out that this one has not: there are none."""
        if not hasattr(joinable, "_joinable"):
            raise AssertionError(f"Check that the {type(joinable)} constructor calls the ``Joinable`` constructor")
