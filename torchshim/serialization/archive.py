"""The zip archives of torch.save: stored records `NAME/data.pkl`, `NAME/data/0` …, each aligned to 64 bytes.

The bytes depend on what is saved alone: no clock, no random name.
"""
from __future__ import annotations

import hashlib
import os
import struct
import tempfile
import zipfile

ALIGNMENT = 64
_CORRUPT = ("PytorchStreamReader failed reading zip archive: failed finding central directory. This is an internal miniz error. If you are "
            "seeing this error, there is a high likelihood that your checkpoint file is corrupted. This can happen if the checkpoint was "
            "not saved properly, was transferred incorrectly, or the file was modified after saving.")


class Writer:
    """An archive written to a file object. `stem` is the folder that all records lie in, `version` the record that tells the format's."""

    def __init__(self, file, stem, version=("version", b"3\n")):
        file = file if hasattr(file, "seekable") else _Written(file)
        self.zip, self.stem, self.digest = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED), stem, hashlib.sha256()
        self.version = version

    def write(self, name, data):
        """Add the record `name`; `data` is anything with the buffer protocol."""
        info = zipfile.ZipInfo(f"{self.stem}/{name}", (1980, 1, 1, 0, 0, 0))
        at = self.zip.fp.tell() + 30 + len(info.filename.encode()) + 4
        info.extra = struct.pack("<2sH", b"FB", -at % ALIGNMENT) + bytes(-at % ALIGNMENT)
        self.digest.update(name.encode())
        self.digest.update(data)
        self.zip.writestr(info, data)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        """Write what torch closes an archive with; after an error, nothing more."""
        if kind is not None:
            self.zip.fp = None                 # else it would write its directory when it is collected
            return
        self.write(*self.version)
        number = str(int.from_bytes(self.digest.digest()[:16], "big")).zfill(40)
        self.write(".data/serialization_id", number.encode())
        self.zip.close()


class _Written:
    """A file object that may have no more than `write`: of one that is none of Python's nothing else is asked, as in torch."""

    def __init__(self, file):
        self.write, self.flush = file.write, getattr(file, "flush", lambda: None)


class _Seekable:
    """A file object that has no more than `read`, `seek` and `tell`, as zipfile wants it; with a `readinto`, torch asks that."""

    def __init__(self, file):
        self.read, self.seek, self.tell, self.into = file.read, file.seek, file.tell, getattr(file, "readinto", None)
        if self.into is not None:
            self.read = self.read_into

    def read_into(self, size=-1):
        """The next bytes, by `readinto`."""
        if size < 0:
            at = self.tell()
            size = self.seek(0, os.SEEK_END) - at
            self.seek(at)
        data = bytearray(size)
        return bytes(memoryview(data)[:self.into(data)])

    def seekable(self):
        return True


class Reader:
    """An archive read from a file object; `path` lets records be mapped. RuntimeError where it is none."""

    def __init__(self, file, path=None):
        try:
            self.zip = zipfile.ZipFile(file if hasattr(file, "seekable") else _Seekable(file))
            names = self.zip.namelist()
        except (zipfile.BadZipFile, struct.error, OSError, ValueError, NotImplementedError) as error:
            file.seek(0, os.SEEK_END)
            few = file.tell() < 22             # less than the directory's end takes
            raise RuntimeError(_CORRUPT.replace("failed finding central directory", "not a ZIP archive") if few else _CORRUPT) from error
        if not names:
            raise RuntimeError("PytorchStreamReader failed reading file data.pkl: file not found")
        if "/" not in names[0]:
            raise RuntimeError(f"file in archive is not in a subdirectory: {names[0]}")
        self.stem, self.path = names[0].partition("/")[0], path

    def has(self, name):
        """Whether there is such a record."""
        return f"{self.stem}/{name}" in self.zip.NameToInfo

    def read(self, name):
        """A record's bytes."""
        try:
            return self.zip.read(f"{self.stem}/{name}")
        except KeyError:
            raise RuntimeError(f"PytorchStreamReader failed locating file {name}: file not found") from None
        except (zipfile.BadZipFile, EOFError, OSError, struct.error, ValueError, NotImplementedError, RuntimeError) as error:
            raise RuntimeError(f"PytorchStreamReader failed reading file {name}: {error}. The file might be corrupted.") from error

    def offset(self, name):
        """Where a stored record's bytes begin in the file."""
        info = self.zip.NameToInfo[f"{self.stem}/{name}"]
        if info.compress_type != zipfile.ZIP_STORED:
            raise RuntimeError(f"the record {name} is compressed: it can't be mapped")
        fp = self.zip.fp
        fp.seek(info.header_offset)
        header = fp.read(30)
        if len(header) < 30:
            raise RuntimeError(_CORRUPT)
        n, m = struct.unpack("<HH", header[26:30])
        return info.header_offset + 30 + n + m


class replacing:
    """A file to write that takes the place of `path` when the block ends well; else `path` stays what it was."""

    def __init__(self, path):
        self.path = os.path.realpath(path)     # a link stays one
        folder = os.path.dirname(self.path)
        if not os.path.isdir(folder):
            raise RuntimeError(f"Parent directory {os.path.dirname(path) or folder} does not exist.")
        if os.path.isdir(self.path):
            raise RuntimeError(f"File {path} cannot be opened.")
        self.plain = os.path.exists(self.path) and not os.path.isfile(self.path)       # a device or a pipe

    def __enter__(self):
        if self.plain:
            self.file = open(self.path, "wb")
            return self.file
        handle, self.temporary = tempfile.mkstemp(prefix=".torch-save-", dir=os.path.dirname(self.path))
        self.file = os.fdopen(handle, "w+b")
        return self.file

    def __exit__(self, kind, error, traceback):
        if self.plain:
            self.file.close()
            return
        try:
            if kind is None:
                self.file.flush()
                os.fsync(self.file.fileno())
            self.file.close()
            if kind is None:
                try:
                    mode = os.stat(self.path).st_mode & 0o7777
                except OSError:
                    mode = 0o666 & ~_umask()
                os.chmod(self.temporary, mode)
                os.replace(self.temporary, self.path)
        finally:
            if os.path.exists(self.temporary):
                os.unlink(self.temporary)


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask
