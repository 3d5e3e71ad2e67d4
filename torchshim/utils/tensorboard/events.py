"""TensorBoard's event files: records with checksums, each a protocol buffer, which is encoded here field by field."""
from __future__ import annotations

import os
import socket
import struct
import time
import zlib

_VARINT, _DOUBLE, _BYTES, _FLOAT = 0, 1, 2, 5


def _varint(n):
    n &= (1 << 64) - 1                         # negative numbers are sent as their 64 bits
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def _field(number, kind, payload):
    return _varint(number << 3 | kind) + payload


def integer(number, value):
    """An integer field; zero is what is not there."""
    return _field(number, _VARINT, _varint(int(value))) if value else b""


def double(number, value):
    """A field of 64 bits; zero is what is not there."""
    return _field(number, _DOUBLE, struct.pack("<d", value)) if value else b""


def real(number, value):
    """A field of 32 bits, one of several that exclude each other: zero is written too."""
    return _field(number, _FLOAT, struct.pack("<f", value))


def data(number, value):
    """Text, bytes or a message."""
    value = value.encode() if isinstance(value, str) else value
    return _field(number, _BYTES, _varint(len(value)) + value)


def doubles(number, values):
    """A list of 64-bit numbers."""
    return data(number, struct.pack(f"<{len(values)}d", *values))


def _checksums():
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return table


_TABLE = _checksums()


def masked_crc32c(payload):
    """The checksum of records: CRC-32C, turned and shifted so that a checksum of checksums is no fixed point."""
    c = 0xFFFFFFFF
    for b in payload:
        c = c >> 8 ^ _TABLE[(c ^ b) & 255]
    c ^= 0xFFFFFFFF
    return (c >> 15 | c << 17) + 0xA282EAD8 & 0xFFFFFFFF


def png(pixels):
    """A picture, (height, width, 1 to 4) of uint8, as a PNG file."""
    height, width, channels = pixels.shape
    kind = {1: 0, 2: 4, 3: 2, 4: 6}[channels]

    def chunk(name, payload):
        return struct.pack(">I", len(payload)) + name + payload + struct.pack(">I", zlib.crc32(name + payload))
    lines = b"".join([b"\0" + line.tobytes() for line in pixels])
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))


def moving_png(pictures, fps):
    """Pictures of one size, (n, height, width, 1 to 4) of uint8, as a PNG file that moves; browsers show it."""
    def chunks(file):
        at = 8
        while at < len(file):
            n = struct.unpack(">I", file[at:at + 4])[0]
            yield file[at + 4:at + 8], file[at + 8:at + 8 + n]
            at += 12 + n

    def chunk(name, payload):
        return struct.pack(">I", len(payload)) + name + payload + struct.pack(">I", zlib.crc32(name + payload))
    out, number = b"\x89PNG\r\n\x1a\n", 0
    height, width = pictures.shape[1:3]
    for k, pixels in enumerate(pictures):
        parts = dict(chunks(png(pixels)))
        if not k:
            out += chunk(b"IHDR", parts[b"IHDR"]) + chunk(b"acTL", struct.pack(">II", len(pictures), 0))
        out += chunk(b"fcTL", struct.pack(">IIIIIHHBB", number, width, height, 0, 0, 1, max(1, round(fps)), 0, 0))
        number += 1
        if k:
            out += chunk(b"fdAT", struct.pack(">I", number) + parts[b"IDAT"])
            number += 1
        else:
            out += chunk(b"IDAT", parts[b"IDAT"])
    return out + chunk(b"IEND", b"")


class EventFile:
    """One event file in `log_dir`, which is made. Records wait until there are `max_queue` of them or `flush_secs` have passed."""
    _made = 0

    def __init__(self, log_dir, max_queue, flush_secs, suffix):
        os.makedirs(log_dir, exist_ok=True)
        self.max_queue, self.flush_secs = max_queue, flush_secs
        name = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{EventFile._made}{suffix}"
        EventFile._made += 1
        self.path, self.waiting, self.last = os.path.join(log_dir, name), 0, time.time()
        self.file = open(self.path, "ab")
        self.add(double(1, time.time()) + data(3, "brain.Event:2"))
        self.flush()

    def add(self, event):
        """Write one encoded event."""
        if self.file.closed:
            self.file = open(self.path, "ab")
        length = struct.pack("<Q", len(event))
        self.file.write(length + struct.pack("<I", masked_crc32c(length)) + event + struct.pack("<I", masked_crc32c(event)))
        self.waiting += 1
        if self.waiting >= self.max_queue or time.time() - self.last >= self.flush_secs:
            self.flush()

    def flush(self):
        """Write what waits."""
        if not self.file.closed:
            self.file.flush()
        self.waiting, self.last = 0, time.time()

    def close(self):
        """Write what waits and end; a later `add` goes on."""
        self.file.close()
