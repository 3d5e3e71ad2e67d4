"""torch.cuda.gds: files read by the GPU itself; refused."""
from . import _refused

__all__ = ["GdsFile", "gds_deregister_buffer", "gds_register_buffer"]

GdsFile = _refused.kind("torch.cuda.gds", "GdsFile", ("register_handle", "deregister_handle", "load_storage", "save_storage"))
gds_register_buffer, gds_deregister_buffer = [
    _refused.function("torch.cuda.gds", n, plain=f"torch._C._{n} is not supported on this platform")
    for n in ("gds_register_buffer", "gds_deregister_buffer")]
