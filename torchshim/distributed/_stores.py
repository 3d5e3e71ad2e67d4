"""Stores: dictionaries from names to bytes that several processes share, with which they find each other."""
from __future__ import annotations

import contextlib
import datetime
import os
import pickle
import socket
import struct
import threading
import time
import weakref

from ._names import DistNetworkError, DistStoreError, QueueEmptyError

_TIMEOUT = datetime.timedelta(seconds=300)


def _bytes(value, method):
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    raise TypeError(f"{method}(): incompatible function arguments. A store holds str and bytes, not {type(value).__name__}")


class Store:
    """What all stores have in common; subclasses give `_do(operation, *arguments)`, which waits for nothing."""
    __module__ = "torch.distributed.distributed_c10d"

    def __init__(self):
        self._timeout = _TIMEOUT

    def _do(self, operation, *args):
        raise RuntimeError("a Store of no kind holds nothing: make a HashStore, TCPStore or FileStore")

    def _late(self, keys, seconds):
        return DistStoreError("Wait timeout")

    @property
    def timeout(self):
        """How long `get` and `wait` wait."""
        return self._timeout

    def set_timeout(self, timeout):
        """Choose how long `get` and `wait` wait."""
        self._timeout = timeout

    def set(self, key, value):
        """Store bytes (a str is encoded)."""
        self._do("set", key, _bytes(value, "set"))

    def get(self, key):
        """The bytes of a key, which is waited for. DistStoreError when it does not come within `timeout`."""
        return self._until(lambda: self._do("find", key), [key], self._timeout)

    def wait(self, keys, timeout=None):
        """Wait until all keys are set. DistStoreError when they are not within the timeout."""
        self._until(lambda: self._do("check", list(keys)) or None, list(keys), timeout or self._timeout)

    def _until(self, ask, keys, timeout):
        seconds, pause = timeout.total_seconds(), 0.0005
        end = time.monotonic() + seconds
        while True:
            found = ask()
            if found is not None:
                return found
            if time.monotonic() > end:
                raise self._late(keys, seconds)
            time.sleep(pause)
            pause = min(2 * pause, 0.02)

    def add(self, key, amount):
        """Add to a number (0 where there is none); returns the sum."""
        return self._do("add", key, int(amount))

    def append(self, key, value):
        """Add bytes at the end of a key's."""
        self._do("append", key, _bytes(value, "append"))

    def compare_set(self, key, expected_value, desired_value):
        """Store `desired_value` where `expected_value` is (or "" and no key); returns what is there then."""
        return self._do("compare_set", key, _bytes(expected_value, "compare_set"), _bytes(desired_value, "compare_set"))

    def check(self, keys):
        """Whether all keys are set."""
        return self._do("check", list(keys))

    def delete_key(self, key):
        """Whether there was such a key; it is gone."""
        return self._do("delete", key)

    def num_keys(self):
        """How many keys there are."""
        return self._do("count")

    def list_keys(self):
        """The keys."""
        return self._do("keys")

    def multi_get(self, keys):
        """The bytes of several keys, which are waited for."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys, values):
        """Store several."""
        for key, value in zip(keys, values):
            self.set(key, value)

    def queue_push(self, key, value):
        """Put bytes at the end of a queue."""
        self._do("push", key, _bytes(value, "queue_push"))

    def queue_pop(self, key, block=True):
        """Take a queue's first bytes; block: wait for them, else QueueEmptyError."""
        if block:
            return self._until(lambda: self._do("pop", key), [key], self._timeout)
        found = self._do("pop", key)
        if found is None:
            raise QueueEmptyError("queue is empty")
        return found

    def queue_len(self, key):
        """How long a queue is."""
        return self._do("length", key)

    def barrier(self, key, world_size, timeout=None):
        """Wait until `world_size` processes are here."""
        n = self.add(f"{key}/count", 1)
        if n % world_size == 0:
            self.set(f"{key}/done/{n // world_size}", b"1")
        self.wait([f"{key}/done/{-(-n // world_size)}"], timeout)

    def has_extended_api(self):
        """Whether append, multi_get and multi_set are the store's own."""
        return True

    def clone(self):
        """Another store of the same data."""
        return self


class _Held:
    """A dictionary's data, and what is done with it in one go."""

    def __init__(self):
        self.data, self.queues, self.lock = {}, {}, threading.Lock()

    def do(self, operation, *args):
        with self.lock:
            return getattr(self, operation)(*args)

    def set(self, key, value):
        self.data[key] = value

    def find(self, key):
        return self.data.get(key)

    def check(self, keys):
        return all(k in self.data or self.queues.get(k) for k in keys)

    def add(self, key, amount):
        n = int(self.data.get(key, b"0")) + amount
        self.data[key] = str(n).encode()
        return n

    def append(self, key, value):
        self.data[key] = self.data.get(key, b"") + value

    def compare_set(self, key, expected, desired):
        if key not in self.data and expected:
            return expected
        if self.data.get(key, b"") == expected:
            self.data[key] = desired
        return self.data[key]

    def delete(self, key):
        return self.data.pop(key, None) is not None

    def count(self):
        return len(self.data)

    def keys(self):
        return list(self.data)

    def push(self, key, value):
        self.queues.setdefault(key, []).append(value)

    def pop(self, key):
        waiting = self.queues.get(key)
        return waiting.pop(0) if waiting else None

    def length(self, key):
        return len(self.queues.get(key, ()))


class HashStore(Store):
    """A store in memory, for the threads of one process."""

    def __init__(self):
        super().__init__()
        self._held = _Held()

    def _do(self, operation, *args):
        return self._held.do(operation, *args)


class FileStore(Store):
    """A store that processes reach by a file, which holds every change; world_size: how many there are, or -1."""

    def __init__(self, file_name, world_size=-1):
        super().__init__()
        self._path, self._read, self._known = str(file_name), 0, _Held()
        self._do("add", "efcount/", 1)         # as in PyTorch, the file's users are counted in it, and the last removes it
        weakref.finalize(self, _leave, self.path)

    path = property(lambda self: self._path, doc="The file's name.")

    @contextlib.contextmanager
    def _locked(self):
        import fcntl
        with open(self.path, "a+b") as f:
            fcntl.lockf(f, fcntl.LOCK_EX)
            size = os.fstat(f.fileno()).st_size
            if size < self._read:              # somebody began the file anew
                self._read, self._known = 0, _Held()
            f.seek(self._read)
            while self._read < size:
                self._known.do(*pickle.loads(f.read(struct.unpack("!Q", f.read(8))[0])))
                self._read = f.tell()
            self._file = f
            yield
            f.flush()
            self._read = os.fstat(f.fileno()).st_size

    def _append(self, change):
        data = pickle.dumps(change)
        self._file.write(struct.pack("!Q", len(data)) + data)

    def _do(self, operation, *args):
        if operation in ("push", "pop", "length"):
            raise NotImplementedError("queue support is not implemented.")
        with self._locked():
            if operation in ("set", "add", "append", "compare_set", "delete"):
                self._append((operation, *args))
            return self._known.do(operation, *args)

    def _late(self, keys, seconds):
        return RuntimeError(f"Timeout waiting for key: {keys[0]} after {round(1000 * seconds)} ms" if len(keys) == 1 else "Wait timeout")

    def has_extended_api(self):
        return False

    def clone(self):
        made = FileStore.__new__(FileStore)
        Store.__init__(made)
        made._path, made._read, made._known = self.path, 0, _Held()
        return made


def _leave(path):
    made = FileStore.__new__(FileStore)
    made._path, made._read, made._known = path, 0, _Held()
    if os.path.exists(path) and made._do("add", "efcount/", -1) <= 0:
        os.remove(path)


def _send(sock, message):
    data = pickle.dumps(message)
    sock.sendall(struct.pack("!Q", len(data)) + data)


def _exactly(sock, n):
    data = bytearray(n)
    view, got = memoryview(data), 0
    while got < n:
        k = sock.recv_into(view[got:])
        if not k:
            raise ConnectionError("Connection closed by peer")
        got += k
    return data


class _Plain(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"a store's messages hold no {module}.{name}")


def _received(sock):
    import io
    return _Plain(io.BytesIO(_exactly(sock, struct.unpack("!Q", _exactly(sock, 8))[0]))).load()


class _Server:
    """The data of a TCPStore and a thread for each client."""

    def __init__(self, port, listen_fd=None):
        self.held = _Held()
        try:
            self.socket = socket.create_server(("", port), backlog=512) if listen_fd is None else socket.socket(fileno=listen_fd)
        except OSError as e:
            import errno
            raise DistNetworkError(f"The server socket has failed to listen on any local network address. port: {port}, useIpv6: false, "
                                   f"code: -{e.errno}, name: {errno.errorcode.get(e.errno)}, message: "
                                   f"{os.strerror(e.errno).lower()}") from e
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self._accept, args=(self.socket, self.held), daemon=True).start()

    @staticmethod
    def _accept(listening, held):
        with contextlib.suppress(OSError):
            while True:
                client, _ = listening.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=_Server._serve, args=(client, held), daemon=True).start()

    @staticmethod
    def _serve(client, held):
        with contextlib.suppress(OSError, EOFError, pickle.UnpicklingError), client:
            while True:
                operation, *args = _received(client)
                if operation.startswith("_") or operation == "do":
                    return
                _send(client, held.do(operation, *args))


_servers: dict = {}                            # {port: the server that init_process_group's stores of this process share}


class TCPStore(Store):
    """A store in the memory of one process, reached by a socket.

    host_name, port: of the process with is_master=True (port 0: a free one, which `port` then says). world_size: how many processes are
    waited for. multi_tenant: stores of one process on one port share their data. DistNetworkError when the master cannot be reached
    within the timeout, or the port is taken.
    """

    def __init__(self, host_name, port, world_size=None, is_master=False, timeout=_TIMEOUT, wait_for_workers=True, multi_tenant=False,
                 master_listen_fd=None, use_libuv=True):
        super().__init__()
        self._timeout, self._host, self._lock, self._libuv = timeout, host_name, threading.Lock(), use_libuv
        self._server = None
        if is_master:
            self._server = _servers.get(port) if multi_tenant else None
            if self._server is None:
                self._server = _Server(port, master_listen_fd)
                if multi_tenant:
                    _servers[self._server.port] = self._server
            port = self._server.port
        self._port = port
        self._socket = self._connected(timeout.total_seconds())
        if world_size and world_size > 0 and wait_for_workers:
            self._gather(world_size, timeout)

    host = property(lambda self: self._host, doc="The name of the master's machine.")
    port = property(lambda self: self._port, doc="The master's port.")
    libuvBackend = property(lambda self: self._libuv, doc="What was asked for; nothing depends on it.")

    def _connected(self, seconds):
        end = time.monotonic() + seconds
        while True:
            try:
                made = socket.create_connection((self.host, self.port), timeout=max(end - time.monotonic(), 0.05))
                made.settimeout(None)
                made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return made
            except OSError as e:
                if time.monotonic() > end:
                    raise DistNetworkError(f"The client socket has timed out after {round(1000 * seconds)}ms while trying to connect to "
                                           f"({self.host}, {self.port}).") from e
                time.sleep(0.05)

    def _gather(self, world_size, timeout):
        here = self.add("init/", 1)
        if self._server is not None:
            end = time.monotonic() + timeout.total_seconds()
            while here < world_size:
                if time.monotonic() > end:
                    raise DistStoreError(f"Timed out after {round(timeout.total_seconds())} seconds waiting for clients. "
                                         f"{here}/{world_size} clients joined.")
                time.sleep(0.002)
                here = self.add("init/", 0)

    def _do(self, operation, *args):
        try:
            with self._lock:
                _send(self._socket, (operation, *args))
                return _received(self._socket)
        except OSError as e:
            raise DistNetworkError(f"the store at {self.host}:{self.port} does not answer: {e}") from e

    def _late(self, keys, seconds):
        return DistStoreError(f"wait timeout after {round(1000 * seconds)}ms, keys: {', '.join(['/' + k for k in keys])}")

    def clone(self):
        made = TCPStore.__new__(TCPStore)
        Store.__init__(made)
        made._host, made._port, made._timeout, made._server = self.host, self.port, self._timeout, None
        made._lock, made._libuv, made._socket = threading.Lock(), self._libuv, made._connected(self._timeout.total_seconds())
        return made

    def __repr__(self):
        return f"TCPStore(client={self.host}:{self.port}, server={'here' if self._server else '<nullptr>'})"


class PrefixStore(Store):
    """Another store's keys that begin with `prefix` and a slash."""
    __module__ = "torchshim.distributed.distributed_c10d"

    def __init__(self, prefix, store):
        super().__init__()
        self.prefix, self._below = prefix, store
        self._timeout = store.timeout

    underlying_store = property(lambda self: self._below, doc="The store whose keys they are.")

    def set_timeout(self, timeout):
        self._timeout = timeout
        self.underlying_store.set_timeout(timeout)

    def _do(self, operation, *args):
        if operation in ("count", "keys"):
            return self.underlying_store._do(operation)
        key, *rest = args
        key = [f"{self.prefix}/{k}" for k in key] if isinstance(key, list) else f"{self.prefix}/{key}"
        return self.underlying_store._do(operation, key, *rest)

    def _late(self, keys, seconds):
        return self.underlying_store._late([f"{self.prefix}/{k}" for k in keys], seconds)

    def has_extended_api(self):
        return self.underlying_store.has_extended_api()

    def clone(self):
        return PrefixStore(self.prefix, self.underlying_store.clone())

    @property
    def _underlying_non_prefix_store(self):
        below = self.underlying_store
        return below._underlying_non_prefix_store if isinstance(below, PrefixStore) else below
