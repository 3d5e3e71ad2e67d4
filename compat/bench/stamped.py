"""Run a training script and tell on stderr when each of its steps ended: `stamped.py SCRIPT ARGUMENTS`.

A step has ended when its line is printed, "step ..." or "episode ...". The last line on stderr is JSON: for each of them the clock, the CPU
time of all threads (both in seconds) and the compiles so far.
"""
import io
import json
import os
import runpy
import sys
import time

STEPS = ("step ", "episode ")


class Stamped(io.TextIOBase):
    """A stream that notes when lines that begin as `STEPS` are written to it."""

    def __init__(self, stream):
        self.stream, self.stamps = stream, []

    def write(self, text):
        """Write and note."""
        if text.startswith(STEPS):
            shim = sys.modules.get("torchshim")
            self.stamps.append((time.perf_counter(), time.process_time(), shim.stats()["compiles"] if shim else 0))
        return self.stream.write(text)

    def flush(self):
        """Flush the stream."""
        self.stream.flush()


def main():
    """Run the script named by the arguments as the main program."""
    del sys.argv[0]
    sys.path[0] = os.path.dirname(os.path.realpath(sys.argv[0]))
    sys.stdout = stamped = Stamped(sys.stdout)
    runpy.run_path(sys.argv[0], run_name="__main__")
    stamped.flush()
    print(json.dumps(stamped.stamps), file=sys.stderr)


main()
