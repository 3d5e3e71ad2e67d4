"""torch.cuda.streams: streams and events by their module."""
from . import Event, ExternalStream, Stream

__all__ = ["Event", "ExternalStream", "Stream"]
