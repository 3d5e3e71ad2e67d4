"""torch.xpu.streams: streams of Intel's GPUs; making one refuses."""
from . import Event, Stream        # noqa: F401
