"""torch.distributed.rpc: importable; there is no remote process to call, so that calling one raises NotImplementedError."""
from ..dropin import missing_attribute as _missing_attribute
from ._absent import absent_class, absent_function


def is_available():
    """False."""
    return False


RRef = absent_class(__name__, "RRef")
init_rpc, remote, rpc_async, rpc_sync, shutdown = [
    absent_function(__name__, name) for name in ("init_rpc", "remote", "rpc_async", "rpc_sync", "shutdown")]
__getattr__ = _missing_attribute(__name__)
