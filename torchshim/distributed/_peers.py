"""Messages between the processes of a program, over one socket for each pair.

A message has a key, and who waits for that key of that process gets it, in the order they were sent. A thread for each peer reads all the
time, so that sending never waits for the other side to ask: no order of collectives can block two processes on each other.
"""
from __future__ import annotations

import collections
import json
import secrets
import socket
import struct
import threading
import time

from ._names import DistNetworkError
from ._stores import TCPStore, _exactly

_HEAD = struct.Struct("!IQ")


def _address(store):
    """The address at which processes that reach the store reach this one."""
    while hasattr(store, "underlying_store"):
        store = store.underlying_store
    if isinstance(store, TCPStore):
        return store._socket.getsockname()[0]
    return "127.0.0.1"


class Peers:
    """The sockets to all other processes, which find each other by `store`."""

    def __init__(self, store, rank, size, timeout):
        self.rank, self.size, self._changed = rank, size, threading.Condition()
        self._mail, self._gone, self._sockets, self._closed = collections.defaultdict(collections.deque), {}, {}, False
        self._locks = {r: threading.Lock() for r in range(size)}
        seconds = timeout.total_seconds()
        here = _address(store)
        with socket.create_server((here, 0), family=socket.AF_INET6 if ":" in here else socket.AF_INET, backlog=size) as listening:
            if rank == 0:
                store.set("token", secrets.token_hex(16))
            token = store.get("token")
            store.set(f"address/{rank}", json.dumps(listening.getsockname()[:2]))
            for other in range(rank):
                address = json.loads(store.get(f"address/{other}"))
                made = socket.create_connection(tuple(address), timeout=seconds)
                made.sendall(token + rank.to_bytes(4, "big"))
                self._add(other, made)
            listening.settimeout(seconds)
            while len(self._sockets) < size - 1:
                try:
                    made, _ = listening.accept()
                except TimeoutError as e:
                    raise DistNetworkError(f"only {len(self._sockets) + 1} of {size} processes came within {seconds} seconds") from e
                if bytes(_exactly(made, len(token))) == token:
                    self._add(int.from_bytes(_exactly(made, 4), "big"), made)
                else:
                    made.close()
        for other, made in self._sockets.items():
            threading.Thread(target=self._read, args=(other, made), daemon=True).start()

    def _add(self, other, made):
        made.settimeout(None)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sockets[other] = made

    def _read(self, other, sock):
        try:
            while True:
                head, body = _HEAD.unpack(_exactly(sock, _HEAD.size))
                key = _exactly(sock, head).decode()
                self._deliver(other, key, _exactly(sock, body))
        except OSError as e:
            with self._changed:
                self._gone[other] = e
                self._changed.notify_all()

    def _deliver(self, source, key, data):
        with self._changed:
            self._mail[source, key].append(data)
            self._changed.notify_all()

    def put(self, to, key, data):
        """Send bytes to process `to`. RuntimeError when it is gone."""
        if to == self.rank:
            return self._deliver(to, key, bytes(data))
        head = key.encode()
        try:
            with self._locks[to]:
                self._sockets[to].sendall(_HEAD.pack(len(head), len(data)) + head)
                self._sockets[to].sendall(data)
        except OSError as e:
            raise RuntimeError(f"Connection closed by peer: process {to} is gone") from e

    def take(self, sources, key, timeout):
        """(process, bytes): the first message of that key of one of the processes. RuntimeError when it cannot come, or not in time."""
        end = time.monotonic() + timeout.total_seconds()
        with self._changed:
            while True:
                for source in sources:
                    if self._mail[source, key]:
                        data = self._mail[source, key].popleft()
                        if not self._mail[source, key]:
                            del self._mail[source, key]
                        return source, data
                    del self._mail[source, key]
                gone = [s for s in sources if s in self._gone]
                if self._closed or len(gone) == len(sources):
                    raise RuntimeError("Connection closed by peer: process " + ", ".join(map(str, gone or sources)) + " is gone")
                if not self._changed.wait(max(end - time.monotonic(), 0)) and time.monotonic() >= end:
                    raise RuntimeError(f"Timed out waiting {round(1000 * timeout.total_seconds())}ms for recv operation to complete")

    def close(self):
        """Close all sockets."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        for sock in self._sockets.values():
            try:
                sock.shutdown(socket.SHUT_WR)
            except OSError:
                pass
