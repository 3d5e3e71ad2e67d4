"""What torch.distributed.checkpoint asks of an object that saves itself."""
from typing import Any, Protocol, runtime_checkable

__all__ = ["Stateful", "StatefulT"]


@runtime_checkable
class Stateful(Protocol):
    """An object with `state_dict()` and `load_state_dict(state_dict)`."""

    def state_dict(self) -> dict[str, Any]:
        """The object's state."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` gave."""
        ...


StatefulT = Stateful
