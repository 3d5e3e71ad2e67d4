"""How processes find each other: by a URL that says who keeps the store."""
from __future__ import annotations

import datetime
import os
from urllib.parse import parse_qsl, urlparse

from ._stores import FileStore, HashStore, TCPStore

__all__ = ["register_rendezvous_handler", "rendezvous"]
_TIMEOUT = datetime.timedelta(seconds=300)
_handlers: dict = {}


def register_rendezvous_handler(scheme, handler):
    """Let handler(url, **options) serve URLs that begin with `scheme`: it yields (store, rank, world size)."""
    if scheme in _handlers:
        raise RuntimeError(f"Rendezvous handler for {scheme}:// already registered")
    _handlers[scheme] = handler


def rendezvous(url, rank=-1, world_size=-1, **kwargs):
    """A generator of (store, rank, world size) for a URL; rank and world size may be in its query.

    RuntimeError for a scheme that nobody serves or something given that is no number; ValueError for what is not said.
    """
    if not isinstance(url, (str, bytes)):
        raise RuntimeError(f"`url` must be a string. {type(url)}: {url}")
    if not isinstance(rank, int):
        raise RuntimeError(f"`rank` must be an integer. {rank}")
    if not isinstance(world_size, int):
        raise RuntimeError(f"`world_size` must be an integer. {world_size}")
    parsed = urlparse(url)
    if parsed.scheme not in _handlers:
        raise RuntimeError(f"No rendezvous handler for {parsed.scheme}://")
    said = dict(parse_qsl(parsed.query))
    for name, x in (("rank", rank), ("world_size", world_size)):
        if x != -1:
            said[name] = x
    return _handlers[parsed.scheme](parsed, said, **kwargs)


def _missing(scheme, what):
    return ValueError(f"Error initializing torch.distributed using {scheme}:// rendezvous: {what}")


def _both(scheme, said):
    for name, text in (("rank", "rank"), ("world_size", "world size")):
        if name not in said:
            raise _missing(scheme, f"{text} parameter missing")
    return int(said["rank"]), int(said["world_size"])


def _store(host, port, rank, world_size, timeout):
    """The store at rank 0; one process needs no socket."""
    if world_size == 1:
        return HashStore()
    return TCPStore(host, port, world_size, rank == 0, timeout, multi_tenant=True)


def _tcp(url, said, timeout=_TIMEOUT, **kwargs):
    if url.port is None:
        raise _missing("tcp", "port number missing")
    rank, world_size = _both("tcp", said)
    yield _store(url.hostname, url.port, rank, world_size, timeout), rank, world_size


def _file(url, said, timeout=_TIMEOUT, **kwargs):
    if not url.path:
        raise _missing("file", "path missing")
    rank, world_size = _both("file", said)
    yield FileStore(url.path, world_size), rank, world_size


def _env(url, said, timeout=_TIMEOUT, **kwargs):
    def environment(name):
        if os.environ.get(name) is None:
            raise _missing("env", f"environment variable {name} expected, but not set")
        return os.environ[name]
    rank = int(said["rank"] if "rank" in said else environment("RANK"))
    world_size = int(said["world_size"] if "world_size" in said else environment("WORLD_SIZE"))
    host, port = environment("MASTER_ADDR"), int(environment("MASTER_PORT"))
    agent = os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    yield (_store(host, port, -1 if agent else rank, world_size, timeout)), rank, world_size


for _scheme, _handler in (("tcp", _tcp), ("file", _file), ("env", _env)):
    register_rendezvous_handler(_scheme, _handler)
