"""torch.distributed.rpc.constants: what calls take when nothing is said. Timeouts are seconds."""
from datetime import timedelta

DEFAULT_RPC_TIMEOUT_SEC, UNSET_RPC_TIMEOUT, DEFAULT_SHUTDOWN_TIMEOUT = 60.0, -1.0, 0
DEFAULT_INIT_METHOD, DEFAULT_NUM_WORKER_THREADS = "env://", 16
DEFAULT_PROCESS_GROUP_TIMEOUT = timedelta(milliseconds=2 ** 31 - 1)
