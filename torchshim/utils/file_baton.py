"""FileBaton: a lock that is a file, for processes of one machine."""
from __future__ import annotations

import os
import time
import warnings


class FileBaton:
    """A lock held by whoever made the file. wait_seconds: how often others look; warn_after_seconds: when they begin to say so."""

    def __init__(self, lock_file_path, wait_seconds=0.1, warn_after_seconds=None):
        self.lock_file_path, self.wait_seconds, self.warn_after_seconds, self.fd = lock_file_path, wait_seconds, warn_after_seconds, None

    def try_acquire(self):
        """Whether it is ours now."""
        try:
            self.fd = os.open(self.lock_file_path, os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            return False
        return True

    def wait(self):
        """Wait until nobody holds it."""
        begun, warned = time.time(), False
        while os.path.exists(self.lock_file_path):
            time.sleep(self.wait_seconds)
            if self.warn_after_seconds is not None and not warned and time.time() - begun > self.warn_after_seconds:
                warned = True
                warnings.warn(f'Waited on lock file "{self.lock_file_path}" for {self.warn_after_seconds} seconds.', stacklevel=2)

    def release(self):
        """Give it back; nothing happens where the file is gone."""
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None
        try:
            os.remove(self.lock_file_path)
        except FileNotFoundError:
            pass
