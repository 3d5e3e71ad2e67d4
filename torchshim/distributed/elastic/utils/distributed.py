"""torch.distributed.elastic.utils.distributed: ports and stores."""
import datetime
import socket

from ..._stores import TCPStore


def get_socket_with_port():
    """A socket bound to a free port of this machine."""
    return socket.create_server(("localhost", 0))


def get_free_port():
    """The number of a port that was free."""
    with get_socket_with_port() as s:
        return s.getsockname()[1]


def create_c10d_store(is_server, server_addr, server_port=-1, world_size=1, timeout=60 * 10, wait_for_workers=True, retries=3,
                       use_libuv=None):
    """A TCPStore; server_port=-1: a free one."""
    if server_port == -1 and world_size > 1:
        raise ValueError(f"server_port must be specified when world_size > 1, got server_port={server_port}, world_size={world_size}")
    return TCPStore(server_addr, max(server_port, 0), world_size, is_server, datetime.timedelta(seconds=timeout), wait_for_workers)
